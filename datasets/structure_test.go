package datasets

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/splitmix"
)

// The coefficient agrees with its definition: pairs of neighbours, looked up one by one.
func TestClustering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "nodes")
		b, err := graph.NewBuilder(n)
		if err != nil {
			t.Fatal(err)
		}
		node := rapid.Int32Range(0, int32(n-1))
		for range rapid.IntRange(0, 120).Draw(t, "edges") {
			if err := b.Add(node.Draw(t, "i"), node.Draw(t, "j")); err != nil {
				t.Fatal(err)
			}
		}
		g, _ := b.Build()
		joined := make(map[[2]int32]bool)
		for i := range n {
			for _, j := range g.Row(i) {
				joined[[2]int32{int32(i), j}] = true
			}
		}
		var want float64
		for i := range n {
			row := g.Row(i)
			pairs, closed := 0.0, 0.0
			for a, j := range row {
				for _, k := range row[:a] {
					pairs++
					if joined[[2]int32{j, k}] {
						closed++
					}
				}
			}
			if pairs > 0 {
				want += closed / pairs / float64(n)
			}
		}
		got, sem, err := clustering(t.Context(), g, 10_000)
		if err != nil || math.Abs(got-want) > 1e-12 || sem != 0 {
			t.Fatalf("coefficient %v ± %v, error %v; want %v", got, sem, err, want)
		}
	})
}

// A sample of nodes has the coefficient of the graph, within its standard error, on any
// number of processors.
func TestClusteringSample(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	d := open(t, "synth:demo?nodes=5000")
	exact, _, err := clustering(t.Context(), d.Graph, d.Nodes())
	if err != nil {
		t.Fatal(err)
	}
	var first float64
	for k, procs := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(procs)
		got, sem, err := clustering(t.Context(), d.Graph, 1000)
		if err != nil || sem <= 0 || sem > 0.02 || math.Abs(got-exact) > 3*sem {
			t.Errorf("coefficient %v ± %v of 1000 nodes, error %v; want %v", got, sem, err, exact)
		}
		if k == 0 {
			first = got
		} else if got != first {
			t.Errorf("coefficient %v on %d processors, %v on 1", got, procs, first)
		}
	}
}

func TestEdgeHomophily(t *testing.T) {
	path := &graph.CSR{Rows: 4, Cols: 4, Ptr: []int64{0, 1, 3, 5, 6}, Idx: []int32{1, 0, 2, 1, 3, 2}}
	features := &graph.Features{Rows: 4, Cols: 1, Data: make([]float32, 4)}
	for _, c := range []struct {
		labels graph.Labels
		want   float64
	}{
		{graph.Labels{Classes: 2, Class: []int32{0, 0, 1, 1}}, 2.0 / 3},
		{graph.Labels{Classes: 2, Class: []int32{0, 0, -1, 1}}, 1},
		{graph.Labels{Classes: 2, Class: []int32{0, -1, -1, 1}}, math.NaN()},
		{graph.Labels{Tasks: 1, Multi: []float32{0, 0, 1, 1}}, math.NaN()},
	} {
		got, err := edgeHomophily(t.Context(), &Data{Graph: path, Features: features, Labels: &c.labels})
		if err != nil || got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("labels %+v: homophily %v, error %v; want %v", c.labels, got, err, c.want)
		}
	}
}

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
