package datasets

import (
	"context"
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// The values of the key features that make features from the graph.
const (
	degreeKey   = "degree"
	oneHotKey   = "onehot"
	positionKey = "position"
)

// mostOneHot is the greatest number of nodes with one-hot features: 1 GiB.
const mostOneHot = 1 << 14

// makeFeatures gives d features made from its graph: by the key features, or, if the
// source has none and byDegree is true, by degree.
//
//	features=degree   1, and the logarithm of 1 + the degree
//	features=onehot   a feature for each node, 1 for the node itself
//	features=position 64 numbers that are alike for nodes near each other
func (d *Data) makeFeatures(ctx context.Context, spec *Spec, hint string, byDegree bool) (err error) {
	how := spec.Text("features", "")
	origin := ""
	if how != "" && !madeOfGraph(how) && spec.Scheme != "edges" {
		return fmt.Errorf("datasets: %q: features=%s: want %s, %s or %s", spec, how, degreeKey, oneHotKey, positionKey)
	}
	if d.Features == nil && !madeOfGraph(how) {
		if !byDegree {
			return fmt.Errorf("datasets: %q: no features%s: say features=degree, features=onehot or features=position", spec, hint)
		}
		how, origin = degreeKey, "no features in the source: "
	}
	switch how {
	case degreeKey:
		d.Features, err = degreeFeatures(ctx, d.Graph)
		d.Notes = append(d.Notes, origin+"each node has 1 and the logarithm of 1 + its degree")
	case oneHotKey:
		d.Features, err = oneHotFeatures(d.Nodes())
		d.Notes = append(d.Notes, "one-hot features: one for each node")
	case positionKey:
		d.Features, err = positionFeatures(ctx, d.Graph)
		d.Notes = append(d.Notes, fmt.Sprintf("%d features of position: random numbers, averaged over neighbours %d times", positionWidth, positionSteps))
	}
	if err != nil {
		return fmt.Errorf("datasets: %q: %w", spec, err)
	}
	return nil
}

// madeOfGraph reports whether a value of the key features asks for features from the graph.
func madeOfGraph(how string) bool {
	return how == degreeKey || how == oneHotKey || how == positionKey
}

// oneHotFeatures returns the identity matrix of n nodes.
func oneHotFeatures(n int) (*graph.Features, error) {
	if n > mostOneHot {
		return nil, fmt.Errorf("features=onehot for %d nodes: a dense matrix, for at most %d; features=degree takes two numbers a node", n, mostOneHot)
	}
	if err := memory.Check("features=onehot", memory.Product(int64(n), int64(n), 4)); err != nil {
		return nil, err
	}
	x := &graph.Features{Rows: n, Cols: n, Data: make([]float32, n*n)}
	for i := range n {
		x.Data[i*n+i] = 1
	}
	return x, nil
}

// degreeFeatures returns 1 and the logarithm of 1 + the degree of each node.
func degreeFeatures(ctx context.Context, a *graph.CSR) (*graph.Features, error) {
	const rows = 1 << 14
	x := &graph.Features{Rows: a.Rows, Cols: 2, Data: make([]float32, 2*a.Rows)}
	return x, parallel.Chunks(ctx, (a.Rows+rows-1)/rows, func(chunk int) error {
		for i := chunk * rows; i < min((chunk+1)*rows, a.Rows); i++ {
			x.Data[2*i] = 1
			x.Data[2*i+1] = float32(math.Log1p(float64(a.Degree(i))))
		}
		return nil
	})
}
