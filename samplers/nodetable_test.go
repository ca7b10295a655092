package samplers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/graph"
)

// The table gives the numbers of a map, over several bases.
func TestNodeTable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var table nodeTable
		for range rapid.IntRange(1, 4).Draw(rt, "bases") {
			table.reset(0)
			want := map[int32]int32{}
			var nodes []int32
			for _, node := range rapid.SliceOfN(rapid.Int32Range(0, 3000), 0, 1500).Draw(rt, "nodes") {
				number, found := want[node]
				if got := table.number(node); found != (got >= 0) || found && number != got {
					rt.Fatalf("node %d: number %d, want %d, %v", node, got, number, found)
				}
				if !found {
					number, want[node] = int32(len(nodes)), int32(len(nodes))
				}
				table.reserve(len(nodes)+1, nodes)
				if got, isNew := table.add(node); got != number || isNew == found {
					rt.Fatalf("node %d: added as %d, %v, want %d, %v", node, got, isNew, number, !found)
				}
				if !found {
					nodes = append(nodes, node)
				}
			}
		}
	})
}

// numberEach gives the numbers of numberOrAdd, with a slot for each node and with a hash table, over
// several chunks, also where the numbers begin again.
func TestNumberEach(t *testing.T) {
	const n = 3000
	p := &graph.Laplacian{Adjacency: &graph.CSR{Rows: n, Cols: n, Ptr: make([]int64, n+1)}}
	for i := range n {
		p.ColScale = append(p.ColScale, 1+float32(i))
	}
	rapid.Check(t, func(rt *rapid.T) {
		var one, direct, hashed numbering
		hashed.laplacian = p
		direct.begin(p, nil)
		direct.base = math.MaxInt32/2 - rapid.Int32Range(0, 2000).Draw(rt, "numbers left")
		for range rapid.IntRange(1, 4).Draw(rt, "blocks") {
			one.begin(p, nil)
			direct.begin(p, nil)
			hashed.nodes, hashed.scales = hashed.nodes[:0], hashed.scales[:0] // begin would make a slot for each node
			hashed.reset(0)
			for range rapid.IntRange(1, 3).Draw(rt, "calls") {
				nodes := rapid.SliceOfN(rapid.Int32Range(0, n-1), 0, 3*chunkNodes).Draw(rt, "nodes")
				var want []int32
				for _, i := range nodes {
					want = append(want, one.numberOrAdd(i))
				}
				for _, g := range []*numbering{&direct, &hashed} {
					numbers := make([]int32, len(nodes))
					g.numberEach(nodes, numbers)
					if !slices.Equal(numbers, want) || !slices.Equal(g.nodes, one.nodes) {
						rt.Fatalf("direct %v: numbers %v of nodes %v, want %v of %v", g == &direct, numbers, g.nodes, want, one.nodes)
					}
					for k, v := range g.nodes {
						if g.scales[k] != p.ColScale[v] || one.scales[k] != p.ColScale[v] {
							rt.Fatalf("direct %v: scale %v of node %d", g == &direct, g.scales[k], v)
						}
					}
				}
			}
		}
	})
}

// A graph with many more nodes that no row sees gives the same batches: only the memory of
// the numbering differs.
func TestLargeGraphBatches(t *testing.T) {
	small := graphOfRandomEdges(t, 3000, 20000)
	ptr := make([]int64, mostSlots+5000)
	for i := range ptr {
		ptr[i] = small.Ptr[min(i, small.Rows)]
	}
	large := &graph.CSR{Rows: len(ptr) - 1, Cols: len(ptr) - 1, Ptr: ptr, Idx: small.Idx}
	p, q := graph.NewLaplacian(small), graph.NewLaplacian(large)
	train := make([]int32, 1000)
	for i := range train {
		train[i] = int32(3 * i)
	}
	tried := 0
	for _, method := range Methods() {
		if strings.HasPrefix(method.Name, "fastgcn") || method.Name == "cluster" {
			continue // all nodes are candidates, or in clusters
		}
		config := func(p *graph.Laplacian) Config {
			return Config{Laplacian: p, Train: train, Layers: 2, Sizes: []int{60, 60}}
		}
		a, err := ByName(method.Name, config(p))
		if err != nil {
			t.Logf("%s: %v", method.Name, err)
			continue
		}
		b, err := ByName(method.Name, config(q))
		if err != nil {
			t.Fatalf("%s: %v", method.Name, err)
		}
		tried++
		var first, second MiniBatch
		for k := range 6 {
			seeds := train[50*k : 50*(k+1)]
			if err := Prepared(a).Sample(t.Context(), seeds, rand.New(NewSource(1, 0, uint64(k))), &first); err != nil {
				t.Fatalf("%s: %v", method.Name, err)
			}
			if err := Prepared(b).Sample(t.Context(), seeds, rand.New(NewSource(1, 0, uint64(k))), &second); err != nil {
				t.Fatalf("%s: %v", method.Name, err)
			}
			for l := range first.Blocks {
				x, y := first.Blocks[l], second.Blocks[l]
				if !reflect.DeepEqual(x.Src, y.Src) || !reflect.DeepEqual(x.Dst, y.Dst) || !reflect.DeepEqual(x.Matrix, y.Matrix) {
					t.Errorf("%s: batch %d, block %d differs", method.Name, k, l)
				}
			}
		}
	}
	if tried < 8 {
		t.Errorf("%d methods", tried)
	}
	// The memory of the numbering follows from the nodes that it numbers, not from the graph.
	var h neighborhood
	h.walk(q, train[:50])
	if len(h.slots) > 8*len(h.columns)+leastSlots {
		t.Errorf("%d slots for %d entries", len(h.slots), len(h.columns))
	}
	if err := CheckSeeds([]int32{int32(q.Nodes())}, q.Nodes()); err == nil {
		t.Error("a row outside the graph passed")
	}
	if err := CheckSeeds([]int32{5, 5}, q.Nodes()); err == nil {
		t.Error("a row twice passed")
	}
	h.base = math.MaxInt32/2 + 1 // all numbers are used
	if h.walk(q, train[:50]); h.base != 1 {
		t.Errorf("base %d", h.base)
	}
}

func graphOfRandomEdges(t *testing.T, nodes, edges int) *graph.CSR {
	t.Helper()
	b, err := graph.NewBuilder(nodes)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range edges {
		if err := b.Add(int32(rng.IntN(nodes)), int32(rng.IntN(nodes))); err != nil {
			t.Fatal(err)
		}
	}
	g, _ := b.Build()
	return g
}

// BenchmarkNumbering compares a slot for each node and a hash table on graphs of growing size: 1000 rows of
// 30 random neighbours at a time.
func BenchmarkNumbering(b *testing.B) {
	for _, n := range []int{1 << 18, 1 << 20, 1 << 22, 1<<22 + 1, 1 << 24} {
		const degree = 30
		a := &graph.CSR{Rows: n, Cols: n, Idx: make([]int32, 1<<24)}
		rng := rand.New(rand.NewPCG(1, 2))
		for k := range a.Idx {
			a.Idx[k] = int32(rng.IntN(n))
		}
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			var g numbering
			p, numbers := &graph.Laplacian{Adjacency: a, ColScale: make([]float32, n)}, make([]int32, 1000*degree)
			for k := range b.N {
				g.begin(p, nil)
				at := k * 7919 * degree % (len(a.Idx) - 1000*degree)
				g.numberEach(a.Idx[at:at+1000*degree], numbers)
			}
		})
	}
}
