package layers

import (
	"math"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/reference"
	G "gorgonia.org/gorgonia"
)

// matrix is the reference's arithmetic in float64.
type matrix = reference.Matrix

func matrixOf[F float32 | float64](rows, cols int, data []F) matrix {
	return reference.NewMatrix(rows, cols, func(i, j int) float64 { return float64(data[i*cols+j]) })
}

// parameterOf returns a parameter's value; a vector is one row.
func parameterOf(n *G.Node) matrix {
	data := n.Value().Data().([]float32)
	if n.Dims() == 1 {
		return matrixOf(1, len(data), data)
	}
	return matrixOf(n.Shape()[0], n.Shape()[1], data)
}

func matrixOfCSR(a *graph.CSR) matrix {
	m := reference.NewMatrix(a.Rows, a.Cols, func(int, int) float64 { return 0 })
	for i := range m {
		for k, j := range a.Row(i) {
			m[i][j] = float64(a.RowValues(i)[k])
		}
	}
	return m
}

// normalisedRows is the layer norm of m.
func normalisedRows(m, gain, shift matrix) matrix {
	n := float64(len(m[0]))
	return m.Each(func(i, j int) float64 {
		var mean, variance float64
		for _, v := range m[i] {
			mean += v / n
		}
		for _, v := range m[i] {
			variance += math.Pow(v-mean, 2) / n
		}
		return gain[0][j]*(m[i][j]-mean)/math.Sqrt(variance+1e-5) + shift[0][j]
	})
}
