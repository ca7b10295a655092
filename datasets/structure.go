package datasets

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/splitmix"
)

// edgeHomophily returns the share of edges whose two nodes have the same class. Edges
// of a node without a class do not count. It is NaN for binary tasks, and if no edge
// counts. Cost: O(edges).
func edgeHomophily(ctx context.Context, d *Data) (float64, error) {
	class := d.Labels.Class
	same, all := 0, 0
	for i, own := range class {
		if i%4096 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		for _, j := range d.Graph.Row(i) {
			if own >= 0 && class[j] >= 0 {
				all++
				if own == class[j] {
					same++
				}
			}
		}
	}
	return float64(same) / float64(all), nil
}

// clustering returns the average local clustering coefficient of a simple undirected
// graph (Watts & Strogatz 1998): the mean over nodes of the share of pairs of neighbours
// that are joined, 0 for a node with fewer than two neighbours. It is exact up to the given
// number of nodes. In a larger graph it is the mean of so many random nodes, the same in every
// call, and sem is its standard error. Cost: the sum of the degrees of the nodes'
// neighbours.
func clustering(ctx context.Context, g *graph.CSR, most int) (mean, sem float64, err error) {
	n := g.Rows
	nodes := make([]int32, min(n, most))
	random := rand.New(rand.NewPCG(splitmix.Hash(1), splitmix.Hash(2)))
	for k := range nodes {
		nodes[k] = int32(k)
	}
	for i := len(nodes); i < n; i++ { // reservoir sampling
		if k := random.IntN(i + 1); k < len(nodes) {
			nodes[k] = int32(i)
		}
	}
	const rows = 256
	local := make([]float64, len(nodes))
	err = parallel.Chunks(ctx, (len(nodes)+rows-1)/rows, func(chunk int) error {
		near := make([]bool, n)
		for k := chunk * rows; k < min((chunk+1)*rows, len(nodes)); k++ {
			local[k] = localClustering(g, int(nodes[k]), near)
		}
		return ctx.Err()
	})
	if err != nil {
		return 0, 0, err
	}
	var squares float64
	for _, v := range local {
		mean += v / float64(len(local))
	}
	for _, v := range local {
		squares += (v - mean) * (v - mean)
	}
	if len(nodes) < n {
		sem = math.Sqrt(squares/float64(len(local)-1)) / math.Sqrt(float64(len(local)))
	}
	return mean, sem, nil
}

// localClustering returns the clustering coefficient of node i. near is false
// everywhere, before and after the call.
func localClustering(g *graph.CSR, i int, near []bool) float64 {
	row := g.Row(i)
	if len(row) < 2 {
		return 0
	}
	for _, j := range row {
		near[j] = true
	}
	joined := 0 // ordered pairs
	for _, j := range row {
		for _, k := range g.Row(int(j)) {
			if near[k] {
				joined++
			}
		}
	}
	for _, j := range row {
		near[j] = false
	}
	return float64(joined) / float64(len(row)) / float64(len(row)-1)
}
