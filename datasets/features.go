package datasets

import (
	"context"
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/graph"
)

// The values of the key features that make features from the graph.
const (
	degreeKey   = "degree"
	positionKey = "position"
)

// makeFeatures gives d features made from its graph. The key features decides. If the source has
// neither the key nor features, the schema decides; without a schema they are position.
//
//	features=degree   1, and the logarithm of 1 + the degree
//	features=position 64 numbers, similar for nodes near each other; then the two of degree
func (d *Data) makeFeatures(ctx context.Context, spec *Spec, hint string, s *Schema) (err error) {
	how, note := spec.Values["features"], ""
	if !madeOfGraph(how) {
		if d.Features != nil || d.table != nil {
			return nil
		}
		if how, note = positionKey, fmt.Sprintf("no features in the source%s: ", hint); s != nil {
			how = s.Made
		}
	}
	switch how {
	case degreeKey:
		note += "each node has 1 and the logarithm of 1 + its degree"
		d.Features = degreeFeatures(d.Graph)
	case positionKey:
		note += fmt.Sprintf("%d features of a node's position, 1 and the logarithm of 1 + its degree; for other graphs and new nodes take features=%s",
			positionWidth, degreeKey)
		d.Features, err = positionFeatures(ctx, d.Graph, d.Directed)
	default:
		err = fmt.Errorf("no features in the source%s, and the model's were not made of the graph", hint)
	}
	if err != nil {
		return spec.fail("%w", err)
	}
	d.encoding.Made, d.Notes = how, append(d.Notes, note)
	return nil
}

// madeOfGraph reports whether a value of the key features asks for features from the graph.
func madeOfGraph(how string) bool {
	return how == degreeKey || how == positionKey
}

// degreeFeatures returns 1 and the logarithm of 1 + the degree of each node.
func degreeFeatures(a *graph.CSR) *graph.Features {
	return withDegrees(a, nil, 0, make([]float32, 2*a.Rows))
}

// withDegrees returns, in the memory of data, the rows of h and then the features of degreeFeatures.
func withDegrees(a *graph.CSR, h []float32, width int, data []float32) *graph.Features {
	x := &graph.Features{Rows: a.Rows, Cols: width + 2, Data: data}
	for i := range a.Rows {
		copy(x.Row(i), h[i*width:(i+1)*width])
		degreeRow(x.Row(i)[width:], a.Degree(i))
	}
	return x
}

// degreeRow writes the features of a node of the given degree.
func degreeRow(row []float32, degree int) {
	row[0], row[1] = 1, float32(math.Log1p(float64(degree)))
}
