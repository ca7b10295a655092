package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/splitmix"
)

// Mode is what the dropout ops of one model share: whether this run trains,
// and the seed of its masks. Set it before each run.
//
// The mask of a dropout op is a function of Seed, of the op's ordinal among
// the dropout ops made with this Mode, and of the element's place; it does not
// depend on the number of cores. Give every training step a seed of its own.
type Mode struct {
	Training bool // false: dropout is the identity
	Seed     uint64

	made uint64 // dropout ops made with this mode
}

// ordinal numbers the dropout ops of the mode in the order of their making.
func (m *Mode) ordinal() uint64 {
	m.made++
	return m.made
}

// seed returns the seed of the masks of the op with the given ordinal.
func (m *Mode) seed(ordinal uint64) uint64 { return splitmix.Output(m.Seed, ordinal) }

// checkRate reports a dropout rate outside [0, 1), or one without a mode.
func checkRate(what string, rate float64, mode *Mode) error {
	if !(rate >= 0 && rate < 1) {
		return fmt.Errorf("ops: %s: dropout rate %v outside [0, 1)", what, rate)
	}
	if rate > 0 && mode == nil {
		return fmt.Errorf("ops: %s: dropout rate %v needs a Mode", what, rate)
	}
	return nil
}
