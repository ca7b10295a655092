package plan

import (
	"errors"

	G "gorgonia.org/gorgonia"
)

// ErrShape is wrapped by the errors about values whose sizes do not fit together.
var ErrShape = errors.New("sizes do not fit")

// Op is an op with a form for each processor. Its Do, which Gorgonia's own
// machines call, is Compute into memory of the op's own.
type Op interface {
	G.Op

	// Memory says how the op uses memory. It is asked once a plan.
	Memory() Memory

	// Compute computes the op's result in out, on the CPU. With over it may
	// overwrite the value that Memory().Over names; if the result is the
	// overwritten value, out is not used.
	Compute(out *Buffer, over bool, in ...G.Value) (G.Value, error)

	// Place returns the op's form on a GPU, for the node n that it makes.
	Place(p *Placement, n *G.Node) (Kernel, error)
}

// Memory is how an op uses memory. A plan trusts it: a wrong statement gives
// wrong numbers, so that the tests of an op fill dead memory with NaN.
type Memory struct {
	Result Location // required

	// KeepsInputs says that the result, or something that outlives the call,
	// may lie in the memory of an input. That memory is then not used again.
	KeepsInputs bool

	// Over is the input that the op can overwrite, to need less memory.
	Over Over
}

// Location says where an op's result lies.
type Location uint8

const (
	unknown Location = iota // of an op that is none of this project's

	// InBuffer: in the buffer that Compute and Place are given, which belongs
	// to other values once the result's last reader has run.
	InBuffer
	// InBufferKept: the same, but the result is read after the run, so the
	// buffer belongs to this value alone.
	InBufferKept
	// Elsewhere: in memory that no input and no buffer shares, as a new scalar.
	Elsewhere
)

// Over names an input that an op can overwrite.
type Over struct {
	Input int
	By    OverBy
}

// OverBy says with what an input is overwritten.
type OverBy uint8

const (
	Nothing  OverBy = iota // the op overwrites no input
	ByResult               // its result
	ByState                // something that it keeps for its gradient
)

// memoryOf returns what n's op states, and the op if it is an Op.
func memoryOf(n *G.Node) (Memory, Op) {
	if op, ok := n.Op().(Op); ok {
		return op.Memory(), op
	}
	return Memory{KeepsInputs: true}, nil
}
