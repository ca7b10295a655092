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

// dropout is the dropout of an op. The zero value drops nothing.
type dropout struct {
	rate    float32
	mode    *Mode
	ordinal uint64 // the number of the op among the dropouts of mode, from 1
}

// newDropout returns the next dropout of mode. It is an error if rate is outside [0, 1), or above 0
// without a mode.
func newDropout(what string, rate float64, mode *Mode) (d dropout, err error) {
	switch {
	case !(rate >= 0 && rate < 1):
		return d, fmt.Errorf("ops: %s: dropout rate %v outside [0, 1)", what, rate)
	case rate == 0:
		return d, nil
	case mode == nil:
		return d, fmt.Errorf("ops: %s: dropout rate %v needs a Mode", what, rate)
	}
	mode.made++
	return dropout{float32(rate), mode, mode.made}, nil
}

// in returns the dropout of r, without noise.
func (d dropout) in(r *plan.Run) kernel.Dropout {
	m := plan.In(r, d.mode)
	if m == nil || !m.Training {
		return kernel.Dropout{}
	}
	return kernel.Dropout{Rate: d.rate, Seed: splitmix.Output(m.Seed, d.ordinal)}
}
