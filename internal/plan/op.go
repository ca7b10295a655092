package plan

import (
	"errors"

	G "gorgonia.org/gorgonia"
)

// ErrShape is wrapped by errors about values whose sizes do not match.
var ErrShape = errors.New("sizes do not fit")

// Op is an op of the CPU and of a GPU. Gorgonia's own machines call Do, which computes it on the
// CPU, in a run that all ops of the graph share.
type Op interface {
	G.Op

	// Memory describes the op's memory use. A plan calls it once.
	Memory() Memory

	// Place is called once for each run on a device. An op may read more than its inputs there,
	// such as parts of the batch. Place makes the run send these.
	Place(r *Run) error

	// Compute takes the inputs of c, checks their sizes, makes the result, and ends in c.On,
	// which runs kernels of c's processor. If c.Over is true, it may overwrite the input that
	// its Memory names; with OverResult the result then lies in that input's memory. It changes
	// nothing but its state of c.Run.
	Compute(c *Call) error
}

// Memory says what an op does with the memory of its inputs. A plan relies on it: a wrong
// description gives wrong numbers. Model.Check finds such mistakes in tests. The result lies in
// the memory that Call gives. Other values may use this memory after the result's last reader.
type Memory struct {
	Access Access
	Input  int // that the op may overwrite
}

// Access is an op's access to the memory of its inputs.
type Access uint8

const (
	Reads      Access = iota // the op only reads them, in Compute
	Keeps                    // the op reads them later too, or a plain op's result may lie there: the plan never reuses this memory
	OverResult               // the result may overwrite one input, to save memory
	OverState                // data that the op keeps for its gradient may overwrite one input
)
