package plan

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// Kernels compute full-neighbour inference on one processor, some rows at a time.
// On a GPU they only queue work; Read waits. They are for one goroutine.
type Kernels interface {
	// ChunkRows is the number of rows of the given width to work on at a time.
	// It depends on the sizes alone.
	ChunkRows(width int) int

	// Load returns the parameters on the processor; nil stays the zero Span.
	Load(parameters [][]float32) ([]Span, error)
	// Features returns x as H, one row a node.
	Features(x *graph.Features) (Rows, error)
	// Released says that the features are not read again soon.
	Released(x *graph.Features)
	// Needed makes rows, ids of nodes, those of the layer to come; all says that
	// they are all nodes in their order.
	Needed(rows []int32, all bool) error
	// Index returns the map from a node to its place in rows.
	Index(rows []int32) (Index, error)

	// Scratch returns n numbers under a name, in memory that is kept. Their
	// values are unspecified.
	Scratch(name Scratch, n int) (Span, error)
	// Logits returns memory for numbers that Read will bring to dst.
	Logits(dst []float32) (Span, error)
	// Read waits, and copies x to dst, where it is not there already.
	Read(dst []float32, x Span) error

	// Part returns n rows of h from row lo on, in single precision.
	Part(h Rows, lo, n int) (Span, error)
	// Propagate sets dst to rows lo to lo+n, of those needed, of P·H.
	Propagate(dst Span, h Rows, lo, n int) error
	// RowSums sets dst to the sums of these rows of P.
	RowSums(dst Span, lo, n int) error
	// Own returns these rows of the features x of all nodes.
	Own(x Rows, lo, n int) (Span, error)

	// Affine sets dst, n×out, to X·W + scale⊗b for X of n×in. Without b it is
	// X·W, and without a scale all of it is 1. Add adds X·W to dst.
	Affine(dst, x, w, b, scale Span, n, in, out int) error
	Add(dst, x, w Span, n, in, out int) error
	LayerNorm(x, gain, shift Span, n, width int) error
	Activate(x Span, act kernel.Activation, n, width int) error
}

// Span is float32 memory on one processor. The zero value stands for an argument
// that is left out.
type Span struct {
	host []float32
	at   device.Pointer
}

// None reports whether s is the zero value.
func (s Span) None() bool { return s.host == nil && s.at == 0 }

// From returns s from element k on.
func (s Span) From(k int) Span {
	if s.host != nil {
		return Span{host: s.host[k:]}
	}
	return Span{at: device.Floats(s.at, k)}
}

// Index is a map from nodes to rows on one processor.
type Index struct {
	host []int32
	at   device.Pointer
}

// Rows is a matrix H on one processor: one row a node, or the rows of some nodes
// with their index.
type Rows struct {
	Span
	Width, Count int
	Index        Index // zero: one row a node

	half     []uint16 // instead of Span: features in half precision
	prefetch func(rows []int32)
}

// Scratch names memory that inference keeps.
type Scratch uint8

// What inference keeps in memory.
const (
	Hidden0     Scratch = iota // outputs of layers, alternating
	Hidden1                    //
	Transformed                // H·W of a layer's whole input
	Mixed                      // P·H of one chunk
	Last                       // the last layer's output of one chunk
	Sums                       // row sums of P of one chunk
	scratches
)

// NewKernels returns the kernels of d, or of the CPU where d is nil, over the
// matrix P. m keeps the CPU's memory from call to call; a GPU keeps its own.
func NewKernels(d *device.Device, p *graph.Laplacian, m *InferenceMemory) (Kernels, error) {
	if d == nil {
		return newCPUKernels(p, m)
	}
	return newCUDAKernels(d, p)
}
