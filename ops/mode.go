package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/internal/splitmix"
)

// Mode is the state that the dropout ops of one model share. Set its fields before each
// run, with another seed for each training step.
//
// The mask of a dropout op depends on Seed, on the op's number among the dropout ops of
// this Mode, and on the element's row and column. It does not depend on the number of
// cores.
type Mode struct {
	Training bool   // false: dropout is the identity
	Seed     uint64 // of the masks

	made uint64 // dropout ops so far
}

// ordinal returns the number of the next dropout op, from 1.
func (m *Mode) ordinal() uint64 {
	m.made++
	return m.made
}

// dropout returns the dropout of r, without noise, of the op with the given ordinal. A nil m
// drops nothing.
func (m *Mode) dropout(r *plan.Run, rate float32, ordinal uint64) kernel.Dropout {
	if m = plan.In(r, m); m == nil || !m.Training {
		return kernel.Dropout{}
	}
	return kernel.Dropout{Rate: rate, Seed: splitmix.Output(m.Seed, ordinal)}
}

// checkRate returns an error if rate is outside [0, 1), or above 0 without a mode.
func checkRate(what string, rate float64, mode *Mode) error {
	if !(rate >= 0 && rate < 1) {
		return fmt.Errorf("ops: %s: dropout rate %v outside [0, 1)", what, rate)
	}
	if rate > 0 && mode == nil {
		return fmt.Errorf("ops: %s: dropout rate %v needs a Mode", what, rate)
	}
	return nil
}
