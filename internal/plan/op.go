package plan

import (
	"errors"

	G "gorgonia.org/gorgonia"
)

// ErrShape is wrapped by errors about values whose sizes do not match.
var ErrShape = errors.New("sizes do not fit")

// Op is an op with a CPU form and a GPU form. Gorgonia's own machines call Do, which calls
// Compute with a run that all ops of the graph share.
type Op interface {
	G.Op

	// Memory describes the op's memory use in p. A plan calls it once.
	Memory(p *Plan) Memory

	// Compute computes the op's result on the CPU, in out. If out.Over is true, it
	// may overwrite the input that its Memory names; with ByResult it returns that
	// input and leaves out alone. in and the result belong to the executor. The op
	// changes nothing but its state of r.
	Compute(r *Run, out *Buffer, in ...G.Value) (G.Value, error)

	// Place returns the op's GPU form. It may allocate on p's device. Its kernels
	// change nothing but the op's state of p.Run.
	Place(p *Placement) (Kernel, error)
}

// Memory describes how an op uses memory. A plan relies on it: a wrong
// description gives wrong numbers. Model.Check finds such mistakes in tests.
type Memory struct {
	Result Location // required

	// KeepsInputs reports that the result may lie in an input's memory, or that
	// the op reads an input's memory after the call. The plan then never reuses
	// that memory.
	KeepsInputs bool

	// Over is the input that the op can overwrite to save memory.
	Over Over
}

// Location is the place of an op's result.
type Location uint8

const (
	unknown Location = iota // not a plan.Op

	// InBuffer: in the buffer that Compute or the kernel is given. Other values
	// may use that buffer after the result's last reader.
	InBuffer
	// InBufferKept: in that buffer, and still valid after the run. No other value
	// uses the buffer.
	InBufferKept
	// Elsewhere: in memory that is neither an input's nor a buffer's, such as a
	// new scalar.
	Elsewhere
)

// Over names an input that an op can overwrite, and the new content.
type Over struct {
	Input int
	By    OverBy
}

// OverBy is the content that replaces an input.
type OverBy uint8

const (
	Nothing  OverBy = iota // the op overwrites no input
	ByResult               // the op's result
	ByState                // data that the op keeps for its gradient
)
