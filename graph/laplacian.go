package graph

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"unsafe"

	"github.com/gcn-layerwise/gcn/internal/memory"
)

// Laplacian is the propagation matrix P over a graph, its values implicit:
//
//	P[i][j] = RowScale[i] · ã[i][j] · ColScale[j],   Ã = A + I.
//
// It shares A with the graph and adds two floats per node, or one if the scales are
// the same slice. The self-loops ã[i][i] = 1 are not stored.
//
// A Laplacian is read-only in use and safe for concurrent reading.
type Laplacian struct {
	Adjacency *CSR      // A: symmetric unless Directed, no self-loops
	RowScale  []float32 // one per node
	ColScale  []float32 // one per node

	// Directed says that A need not be symmetric: row i of A has the nodes that node i
	// reads.
	Directed bool

	// Share is not nil if several processes hold the rows of A together; A is then not
	// directed. RowSum, At and a sampler's layer read only rows that this process holds or
	// has fetched. ColumnNorms2 and RowSums gather: all processes call them together.
	Share *Share
}

// NewLaplacian returns the renormalized Laplacian P = D̃^-½ (A+I) D̃^-½ (Kipf &
// Welling 2017). The adjacency matrix must satisfy ValidateAdjacency and must
// not change afterwards; of a nil one the result is a Laplacian that Validate
// refuses. Cost: O(nodes), or O(edges) for a weighted graph.
func NewLaplacian(adjacency *CSR) *Laplacian {
	p := newLaplacian(adjacency, math.Sqrt)
	p.ColScale = p.RowScale
	return p
}

// NewRowLaplacian returns the row-stochastic form P = D̃^-1 (A+I), the mean over
// a node and its neighbours. Requirements and cost are as for NewLaplacian.
func NewRowLaplacian(adjacency *CSR) *Laplacian {
	p := newLaplacian(adjacency, func(degree float64) float64 { return degree })
	p.ColScale = slices.Repeat([]float32{1}, p.Nodes())
	return p
}

// NewDirectedLaplacian returns P = D̃^-1 (A+I) of a directed graph: the mean over a node and
// the nodes of its row of A. The adjacency matrix must satisfy ValidateAdjacency of a directed
// graph; the rest is as for NewRowLaplacian.
func NewDirectedLaplacian(adjacency *CSR) *Laplacian {
	p := NewRowLaplacian(adjacency)
	p.Directed = true
	return p
}

// newLaplacian returns a Laplacian whose row scales are 1/f(d̃_i) for the row sums d̃ of A+I, without
// column scales.
func newLaplacian(adjacency *CSR, f func(degree float64) float64) *Laplacian {
	p := &Laplacian{Adjacency: adjacency}
	p.RowScale = memory.Large[float32](p.Nodes()) // read at random by samplers
	for i := range p.RowScale {
		degree, _ := adjacency.sumRow(i, 1, 0)
		p.RowScale[i] = float32(1 / f(degree))
	}
	return p
}

// Nodes returns the number of rows and columns of P, 0 without an adjacency
// matrix.
func (p *Laplacian) Nodes() int {
	if p.Adjacency == nil {
		return 0
	}
	return p.Adjacency.Rows
}

// Row returns the columns of row i of P and their entries: node i itself first, then its
// neighbours in the order of A. It reads only row i of A. Cost: O(degree of i).
func (p *Laplacian) Row(i int) iter.Seq2[int32, float64] {
	return func(yield func(column int32, entry float64) bool) {
		scale := float64(p.RowScale[i])
		if !yield(int32(i), scale*float64(p.ColScale[i])) {
			return
		}
		values := p.Adjacency.RowValues(i)
		for k, j := range p.Adjacency.Row(i) {
			if !yield(j, scale*float64(p.ColScale[j])*Weight(values, k)) {
				return
			}
		}
	}
}

// RowNNZ returns the number of entries of row i of P, the self-loop included.
func (p *Laplacian) RowNNZ(i int) int { return p.Adjacency.Degree(i) + 1 }

// RowSum returns the sum of row i of P. Cost: O(degree of i).
func (p *Laplacian) RowSum(i int) float64 {
	sum := float64(p.ColScale[i])
	values := p.Adjacency.RowValues(i)
	for k, j := range p.Adjacency.Row(i) {
		sum += float64(p.ColScale[j]) * Weight(values, k)
	}
	return float64(p.RowScale[i]) * sum
}

// At returns P[i][j]. Cost: O(degree of i); meant for tests and small graphs.
func (p *Laplacian) At(i, j int) float32 {
	for c, entry := range p.Row(i) {
		if int(c) == j {
			return float32(entry)
		}
	}
	return 0
}

// RowSums returns the sum of each row of P. Cost: O(edges), on all cores. Once ctx is done,
// the error is the context's.
func (p *Laplacian) RowSums(ctx context.Context) ([]float32, error) {
	sums := make([]float32, p.Nodes())
	return sums, p.eachOwn(ctx, sums, func(i int) { sums[i] = float32(p.RowSum(i)) })
}

// eachOwn calls f, on all cores, for the rows that this process holds, and gathers values from all
// processes; each node has the same number of them.
func (p *Laplacian) eachOwn(ctx context.Context, values []float32, f func(i int)) error {
	lo, hi := 0, p.Nodes()
	if p.Share != nil {
		lo, hi = p.Share.Own()
	}
	err := eachRow(ctx, hi-lo, func(k int) error {
		f(lo + k)
		return nil
	})
	if p.Share == nil {
		return err
	}
	bounds := p.Share.Bounds
	parts, width := make([][]float32, len(bounds)-1), len(values)/max(p.Nodes(), 1)
	for r := range parts {
		parts[r] = values[bounds[r]*width : bounds[r+1]*width]
	}
	// Gather after an error too: the other processes wait for the values of this one.
	return cmp.Or(err, p.Share.Gather(ctx, parts))
}

// ColumnNorms2 returns ‖P^[j]‖², the squared Euclidean norm of each column. If several
// processes hold P and the exchange fails, the result is empty. Cost: O(edges).
func (p *Laplacian) ColumnNorms2() []float64 {
	norms := make([]float64, p.Nodes())
	if p.Directed {
		for i := range norms {
			for j, entry := range p.Row(i) {
				norms[j] += square(entry)
			}
		}
		return norms
	}
	values := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(norms))), 2*len(norms))
	err := p.eachOwn(context.Background(), values, func(j int) {
		sum := square(p.RowScale[j])
		weights := p.Adjacency.RowValues(j) // A is symmetric: row j is column j
		for k, i := range p.Adjacency.Row(j) {
			sum += float64(square(p.RowScale[i]) * square(Weight(weights, k)))
		}
		norms[j] = sum * square(p.ColScale[j])
	})
	if err != nil {
		return []float64{}
	}
	return norms
}

// Dense returns P as a row-major nodes×nodes matrix, for tests and studies on
// small graphs.
func (p *Laplacian) Dense() []float64 {
	n := p.Nodes()
	dense := make([]float64, n*n)
	for i := range n {
		for j, entry := range p.Row(i) {
			dense[i*n+int(j)] = entry
		}
	}
	return dense
}

// Validate returns an error about the first fault of p: no adjacency matrix, a number
// of scales other than the number of nodes, a scale that is not positive and finite.
// It does not check the adjacency matrix: see CSR.ValidateAdjacency.
func (p *Laplacian) Validate() error {
	if p.Adjacency == nil {
		return fmt.Errorf("graph: Laplacian without an adjacency matrix: %w", ErrInvalid)
	}
	n := p.Nodes()
	if len(p.RowScale) != n || len(p.ColScale) != n {
		return fmt.Errorf("graph: Laplacian of %d nodes has %d row and %d column scales: %w", n, len(p.RowScale), len(p.ColScale), ErrInvalid)
	}
	for i := range n {
		if r, c := p.RowScale[i], p.ColScale[i]; !(min(r, c) > 0) || !finite(max(r, c)) {
			return fmt.Errorf("graph: Laplacian node %d has scales %v and %v, want positive and finite: %w", i, r, c, ErrInvalid)
		}
	}
	return nil
}

func square[F float32 | float64](x F) float64 { return float64(x) * float64(x) }
