package study

import (
	"errors"
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// Product returns H·W, for H of one row a node and a row-major weight W of h.Cols
// rows. The error names sizes that do not fit. Cost: 2·nodes·rows·columns of W
// operations, and 4·nodes·columns bytes for the result. Features in half precision
// are first widened, all at once.
func Product(h *graph.Features, weight []float32) (*graph.Features, error) {
	if h == nil {
		return nil, errors.New("study: the features are nil")
	}
	if h.Rows < 0 || h.Cols < 0 || h.Sparse == nil && int64(h.Len()) != memory.Product(int64(h.Rows), int64(h.Cols)) || h.Sparse != nil && !h.Sized() {
		return nil, fmt.Errorf("study: features of %d×%d hold %d values", h.Rows, h.Cols, h.Len())
	}
	if h.Cols == 0 || len(weight) == 0 || len(weight)%h.Cols != 0 {
		return nil, fmt.Errorf("study: a weight of %d numbers does not fit %d features", len(weight), h.Cols)
	}
	width := len(weight) / h.Cols
	if err := memory.Check(fmt.Sprintf("study: a product of %d×%d", h.Rows, width), memory.Product(4, int64(h.Rows), int64(width))); err != nil {
		return nil, err
	}
	b, err := blas.Default()
	if err != nil {
		return nil, err
	}
	c := &graph.Features{Rows: h.Rows, Cols: width, Data: make([]float32, h.Rows*width)}
	if h.Sparse != nil {
		kernel.SpMM(c.Data, h.Sparse, weight, width)
		return c, nil
	}
	b.Sgemm(false, false, h.Rows, width, h.Cols, 1, h.Float32s(), h.Cols, weight, width, 0, c.Data, width)
	return c, nil
}

// RowNorms returns the Euclidean norm of each row of c, or nil if c is nil. Cost:
// one pass.
func RowNorms(c *graph.Features) []float64 {
	if c == nil {
		return nil
	}
	norms := make([]float64, c.Rows)
	parallel.For(c.Rows, 1024, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			var sum float64
			for _, v := range c.Row(i) {
				sum += float64(v) * float64(v)
			}
			norms[i] = math.Sqrt(sum)
		}
	})
	return norms
}
