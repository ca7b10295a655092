package plan

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// Kernels are the steps of full-neighbour inference on one processor. Each works on
// some rows of a layer. On a GPU they queue work, and Read waits for it. They are for
// one goroutine and check no sizes.
type Kernels interface {
	// ChunkRows returns the number of rows of the given width to compute at a
	// time.
	ChunkRows(width int) int
	// Grain returns the number of rows, of the given width, that must stay together: 1 if a
	// row has the same bits beside any other rows, else ChunkRows(width).
	Grain(width int) int
	// Fork returns kernels for the same needed rows, each for one goroutine, with
	// scratch memory of its own. They take smaller chunks, which stay in a core's cache, or larger ones where P is
	// multiplied by segments.
	// It returns nil if all work belongs to the caller's goroutine.
	Fork() []Kernels

	// Load returns the parameters on the processor; nil becomes the zero Span. They
	// must not change before the last Read.
	Load(parameters [][]float32) ([]Span, error)
	// Features returns x on the processor, one row a node. If x has a Share, only Part
	// and Own read it, on the CPU, after a Fetch of the rows.
	Features(x *graph.Features) (Rows, error)
	// Released tells that the next layers read few features or none.
	Released(x *graph.Features)
	// Needed sets the layer's output rows: the nodes that Propagate, RowSums and
	// Own work on. all reports that rows lists every node in order.
	Needed(rows []int32, all bool) error
	// Index returns the map from a node to its position in rows.
	Index(rows []int32) (Index, error)

	// Scratch returns the scratch memory of that name, with n elements. They are
	// not initialised.
	Scratch(name Scratch, n int) (Span, error)
	// Logits returns memory on the processor for len(dst) logits.
	Logits(dst []float32) (Span, error)
	// Read waits and copies x, which Logits returned for dst, to dst.
	Read(dst []float32, x Span) error

	// Copy waits and copies the first len(dst) values of x to dst.
	Copy(dst []float32, x Span) error

	// Part returns rows lo to lo+n of h, in single precision. They are valid until
	// the next call of Part or Own. On the CPU rows of sparse features are sparse;
	// Affine, Add, Sum and Copy read them.
	Part(h Rows, lo, n int) (Span, error)
	// Propagate sets dst, n×h.Width, to P·H at the needed rows lo to lo+n.
	Propagate(dst Span, h Rows, lo, n int) error
	// Propagated returns P·H at the needed rows lo to lo+n, in the scratch memory Mixed. On
	// the CPU, of sparse features it returns sparse rows, as Part does, unless they would be
	// crowded. They are valid until the next call.
	Propagated(h Rows, lo, n int) (Span, error)
	// RowSums sets dst, n, to the row sums of P at the needed rows lo to lo+n.
	RowSums(dst Span, lo, n int) error
	// Own returns the rows of x that belong to the needed rows lo to lo+n, as Part does.
	// They are valid until the next call of Part or Own.
	Own(x Rows, lo, n int) (Span, error)

	// Scores sets dst to the scores of n rows of z, as kernel.AttentionScores.
	Scores(dst, z, vector Span, n, heads, width int) error
	// Attend sets dst to the output of a at the needed rows lo to lo+n, over each
	// row's own node and all its neighbours. a has no edges and no dropout. s and t
	// are the scores of all rows of z; without bias it is 0. With plain all weights
	// are 1, otherwise they are the entries of A+I.
	Attend(dst Span, a kernel.Attention, plain bool, z Rows, s, t, bias Span, lo, n int) error

	// Affine sets dst, n×out, to X·W + scale⊗b, for X of n×in. Without b it is
	// X·W; without scale each row's scale is 1.
	Affine(dst, x, w, b, scale Span, n, in, out int) error
	// Add adds X·W to dst.
	Add(dst, x, w Span, n, in, out int) error
	// Sum adds n values of x to dst.
	Sum(dst, x Span, n int) error
	// Max sets n values of dst to the larger ones of dst and x.
	Max(dst, x Span, n int) error
	// LayerNorm sets dst to the normalised rows of x, n×width. dst may be x.
	LayerNorm(dst, x, gain, shift Span, n, width int) error
	// ScaleColumns sets dst to x·scale + shift, column by column, for x of n×width. dst may
	// be x. A GPU copies x to the host and back, and waits.
	ScaleColumns(dst, x, scale, shift Span, n, width int) error
	// Activate sets dst to act(x), n×width. dst may be x.
	Activate(dst, x Span, act kernel.Activation, n, width int) error
}

// Span is float32 memory on one processor, or rows of sparse features on the CPU. The zero
// value means no argument.
type Span struct {
	host   []float32
	at     device.Pointer
	sparse *graph.CSR
}

// None reports whether s is the zero value.
func (s Span) None() bool { return s.host == nil && s.at == 0 && s.sparse == nil }

// HostSpan returns values as memory of the CPU.
func HostSpan(values []float32) Span { return Span{host: values} }

// Host returns the memory of a span on the CPU; nil for sparse rows and on a GPU.
func (s Span) Host() []float32 { return s.host }

// From returns s from element k on.
func (s Span) From(k int) Span {
	if s.host != nil {
		return Span{host: s.host[k:]}
	}
	return Span{at: device.Floats(s.at, k)}
}

// Index is a map from nodes to rows on one processor.
type Index struct {
	host   []int32
	at     device.Pointer
	copied []int32 // on a GPU, the same on the host

	written *kernel.LaplacianRows // of some needed rows; nil: Propagate writes them out each time
}

// Keep makes Propagate use rows of P that are written out already, where they are those
// needed. It is for the CPU.
func (i *Index) Keep(written *kernel.LaplacianRows) { i.written = written }

// Rows is a Count×Width matrix on one processor: a row for each node of the graph, or
// rows of some nodes with an index.
type Rows struct {
	Span
	Width, Count int
	Index        Index // zero: row i belongs to node i

	half     []uint16 // features in half precision, in place of Span
	prefetch func(rows []int32)
	features *graph.Features // nil: no features
}

// Sparse reports whether r are sparse features on the CPU.
func (r Rows) Sparse() bool { return r.features != nil && r.features.Sparse != nil }

// Scratch names a scratch memory of inference.
type Scratch uint8

const (
	Hidden0      Scratch = iota // output of layers 0, 2, …
	Hidden1                     // output of layers 1, 3, …
	Transformed                 // H·W of a layer's whole input
	Mixed                       // P·H of one chunk
	First                       // the first half of a feed-forward block, of one chunk
	Jumped                      // the logits' part from the layers below the last, for jumping knowledge
	Last                        // the last layer's output of one chunk
	Sums                        // row sums of P of one chunk
	SourceScores                // of a layer's whole input, for attention
	TargetScores                // the same for the attending nodes
	Coefficients                // of attention, for some rows
	scratches
)

// NewKernels returns the kernels of d over the matrix P; a nil d is the CPU. The CPU
// uses the memory of m. A GPU ignores m and keeps its memory in d.
func NewKernels(d *device.Device, p *graph.Laplacian, m *InferenceMemory) (Kernels, error) {
	if d == nil {
		return newCPUKernels(p, m)
	}
	return newCUDAKernels(d, p)
}
