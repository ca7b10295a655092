package graph

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Block is one layer of one mini-batch: the matrix P̃ that propagates rows of the
// input nodes Src to rows of the output nodes Dst, and its transpose for the
// gradient. Column k of Matrix belongs to node Src[k], row i to node Dst[i].
//
// A sampler fills a block for its caller, and the caller owns it. Any number of goroutines
// may read the block, and a sampler may fill its memory again afterwards.
type Block struct {
	Dst, Src   []int32   // node ids in the graph, distinct within each
	Matrix     CSR       // P̃, len(Dst)×len(Src)
	Transposed CSR       // P̃ᵀ, len(Src)×len(Dst)
	RowSums    []float32 // P̃·1, one per output node; with Control, P·1

	// ColScale is the normalisation of P's columns, one factor for each of Src. Entry
	// (i, k) of Matrix is the sampler's weight of the edge, times the edge's weight in
	// A+I, times ColScale[k], times a factor of row i. Attention divides by it. Empty
	// means that the sampler does not state it.
	ColScale []float32

	// NoiseScale, if not empty, is a factor for each of Src: layers multiply the noise of
	// dropout in the input rows by it, so that a row h that becomes m⊙h becomes
	// h + NoiseScale[k]·(m⊙h − h).
	NoiseScale []float32

	// Control, if not nil, is the remainder P − P̃ of the rows Dst over all their
	// neighbours, for layers that keep a history H̄ of activations and compute
	// P̃·H + (P−P̃)·H̄ (Chen, Zhu & Song 2018). Row i belongs to Dst[i], and column j to row j
	// of the history. A sampler's control has a column for each node of the graph. Only a
	// model that refreshes its history numbers the rows otherwise.
	Control *CSR
}

// SetColScale sets ColScale to the scales of p's columns, in the memory that b has. Src
// must be nodes of p. Cost: O(len(Src)).
func (b *Block) SetColScale(p *Laplacian) {
	b.ColScale = resize(b.ColScale, len(b.Src))
	for k, v := range b.Src {
		b.ColScale[k] = p.ColScale[v]
	}
}

// CheckNoiseScale returns an error unless NoiseScale is empty, or has a number of at least 0
// for each of Src.
func (b *Block) CheckNoiseScale() error { return b.checkScales("noise", b.NoiseScale) }

// checkScales checks the factors of Src of the given kind.
func (b *Block) checkScales(kind string, scales []float32) error {
	if len(scales) != 0 && len(scales) != len(b.Src) {
		return fmt.Errorf("graph: block of %d input nodes has %d %s scales: %w", len(b.Src), len(scales), kind, ErrInvalid)
	}
	for k, c := range scales {
		if !(c >= 0) || !finite(c) {
			return fmt.Errorf("graph: block's input node %d has %s scale %v, want a finite number of at least 0: %w", k, kind, c, ErrInvalid)
		}
	}
	return nil
}

// Finish computes Transposed and RowSums from Matrix and Control, in the memory that
// b has. It panics if a column of Matrix is out of range. Cost: O(len(Dst) +
// len(Src) + NNZ).
func (b *Block) Finish() {
	b.Matrix.TransposeInto(&b.Transposed)
	b.RowSums = resize(b.RowSums, b.Matrix.Rows)
	for i := range b.RowSums {
		sum, _ := b.sumRow(i)
		b.RowSums[i] = float32(sum)
	}
}

// sumRow returns the sum of row i of Matrix and Control, and the sum of its absolute
// values. Control counts because the history of a constant is that constant.
func (b *Block) sumRow(i int) (sum, size float64) {
	sum, size = b.Matrix.sumRow(i, 0, 0)
	if b.Control != nil {
		sum, size = b.Control.sumRow(i, sum, size)
	}
	return sum, size
}

// sumRow adds the values of row i to sum, and their magnitudes to size.
func (m *CSR) sumRow(i int, sum, size float64) (float64, float64) {
	if m.Val == nil {
		n := float64(m.Degree(i))
		return sum + n, size + n
	}
	for _, v := range m.RowValues(i) {
		sum += float64(v)
		size += math.Abs(float64(v))
	}
	return sum, size
}

// validatePart is Validate of a matrix of a block, which has values.
func (m *CSR) validatePart(part string) error {
	if err := m.Validate(); err != nil {
		return fmt.Errorf("graph: block's %s: %w", part, err)
	}
	if m.Val == nil && m.NNZ() > 0 {
		return fmt.Errorf("graph: block's %s has no values: %w", part, ErrInvalid)
	}
	return nil
}

// Validate returns an error about the first fault of b, for a graph of the given
// number of nodes: sizes that disagree, node ids out of range or repeated, values
// missing or not finite, a transpose or row sums that do not match the matrix.
// Cost: O(nodes + NNZ); meant for tests.
func (b *Block) Validate(nodes int) error {
	if b.Matrix.Rows != len(b.Dst) || b.Matrix.Cols != len(b.Src) {
		return fmt.Errorf("graph: block of %d output and %d input nodes has a %d×%d matrix: %w", len(b.Dst), len(b.Src), b.Matrix.Rows, b.Matrix.Cols, ErrInvalid)
	}
	if err := b.Matrix.validatePart("matrix"); err != nil {
		return err
	}
	for side, ids := range [][]int32{b.Dst, b.Src} {
		seen := make([]bool, nodes)
		for k, id := range ids {
			if id < 0 || int(id) >= nodes || seen[id] {
				return fmt.Errorf("graph: block's %s node %d is %d: outside [0, %d) or repeated: %w", [...]string{"output", "input"}[side], k, id, nodes, ErrInvalid)
			}
			seen[id] = true
		}
	}
	want, t := b.Matrix.Transpose(), &b.Transposed
	if t.Rows != want.Rows || t.Cols != want.Cols || !slices.Equal(t.Ptr, want.Ptr) || !slices.Equal(t.Idx, want.Idx) || !slices.Equal(t.Val, want.Val) {
		return fmt.Errorf("graph: block's transpose differs from the matrix: %w", ErrInvalid)
	}
	if err := cmp.Or(b.checkScales("column", b.ColScale), b.CheckNoiseScale()); err != nil {
		return err
	}
	if k := slices.Index(b.ColScale, 0); k >= 0 {
		return fmt.Errorf("graph: block's input node %d has column scale 0: %w", k, ErrInvalid)
	}
	if c := b.Control; c != nil {
		if c.Rows != len(b.Dst) || c.Cols != nodes {
			return fmt.Errorf("graph: block's control is %d×%d, want %d×%d: %w", c.Rows, c.Cols, len(b.Dst), nodes, ErrInvalid)
		}
		if err := c.validatePart("control"); err != nil {
			return err
		}
	}
	if len(b.RowSums) != len(b.Dst) {
		return fmt.Errorf("graph: block of %d output nodes has %d row sums: %w", len(b.Dst), len(b.RowSums), ErrInvalid)
	}
	for i, got := range b.RowSums {
		sum, size := b.sumRow(i)
		if !(math.Abs(float64(got)-sum) <= 1e-6*size) { // nor NaN
			return fmt.Errorf("graph: block's row %d sums to %v, recorded as %v: %w", i, sum, got, ErrInvalid)
		}
	}
	return nil
}
