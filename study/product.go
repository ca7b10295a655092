package study

import (
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// Product returns H·W for H of one row a node and a row-major weight W of
// h.Cols rows. The error says which sizes do not fit. Cost: 2·nodes·rows·columns
// of W operations, and 4·nodes·columns bytes for the result; features in half
// precision are widened first, all at once.
func Product(h *graph.Features, weight []float32) (*graph.Features, error) {
	if h.Cols == 0 || len(weight) == 0 || len(weight)%h.Cols != 0 {
		return nil, fmt.Errorf("study: a weight of %d numbers does not fit %d features", len(weight), h.Cols)
	}
	width := len(weight) / h.Cols
	b, err := blas.Default()
	if err != nil {
		return nil, err
	}
	c := &graph.Features{Rows: h.Rows, Cols: width, Data: make([]float32, h.Rows*width)}
	b.Sgemm(false, false, h.Rows, width, h.Cols, 1, h.Float32s(), h.Cols, weight, width, 0, c.Data, width)
	return c, nil
}

// RowNorms returns the Euclidean norm of each row of c. Cost: one pass.
func RowNorms(c *graph.Features) []float64 {
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
