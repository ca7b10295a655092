package study

import (
	"math"

	"github.com/gcn-layerwise/gcn/graph"
)

// ColumnNorms returns ‖P^[i]‖ of every node; nil for nil. Cost: O(edges).
func ColumnNorms(p *graph.Laplacian) []float64 {
	if p == nil {
		return nil
	}
	norms := p.ColumnNorms2()
	for i, v := range norms {
		norms[i] = math.Sqrt(v)
	}
	return norms
}

// columnWalk computes ‖QP^[i]‖ for one batch after another.
type columnWalk struct {
	nodes []int32   // columns that are not zero, in order of first occurrence
	norms []float64 // ‖QP^[i]‖ of each

	squares []float64 // of every node of the graph; 0 between walks
}

func newColumnWalk(p *graph.Laplacian) *columnWalk {
	return &columnWalk{squares: make([]float64, p.Nodes())}
}

// walk sets nodes and norms for the rows Q. Cost: O(nonzeros of the rows).
func (w *columnWalk) walk(p *graph.Laplacian, rows []int32) {
	w.nodes, w.norms = w.nodes[:0], w.norms[:0]
	add := func(i int32, v float64) {
		if w.squares[i] == 0 {
			w.nodes = append(w.nodes, i)
		}
		w.squares[i] += v * v
	}
	for _, r := range rows {
		scale := float64(p.RowScale[r])
		add(r, scale*float64(p.ColScale[r]))
		values := p.Adjacency.RowValues(int(r))
		for k, j := range p.Adjacency.Row(int(r)) {
			v := scale * float64(p.ColScale[j])
			if values != nil {
				v *= float64(values[k])
			}
			add(j, v)
		}
	}
	for _, i := range w.nodes {
		w.norms = append(w.norms, math.Sqrt(w.squares[i]))
		w.squares[i] = 0
	}
}
