package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/longtest"
)

// sent is a change as a client sends it.
type sent struct {
	AddNodes    []sentNode `json:"add_nodes,omitempty"`
	RemoveEdges [][2]int32 `json:"remove_edges,omitempty"`
	AddEdges    [][2]int32 `json:"add_edges,omitempty"`
	SetFeatures []sentNode `json:"set_features,omitempty"`
	RemoveNodes []int32    `json:"remove_nodes,omitempty"`
}

type sentNode struct {
	ID       *int32    `json:"id,omitempty"`
	Features []float32 `json:"features"`
}

// plainGraph is the reference: lists of neighbours, and features. A removed node keeps its number.
type plainGraph struct {
	rows [][]int32
	x    graph.Features
}

func (g *plainGraph) apply(c sent, read func([]float32) []float32) {
	both := func(e [2]int32, there bool) {
		for k, u := range e {
			v := e[1-k]
			at, found := slices.BinarySearch(g.rows[u], v)
			if found && !there {
				g.rows[u] = slices.Delete(g.rows[u], at, at+1)
			} else if there && !found {
				g.rows[u] = slices.Insert(g.rows[u], at, v)
			}
		}
	}
	for _, n := range c.AddNodes {
		g.rows, g.x.Data = append(g.rows, nil), append(g.x.Data, read(n.Features)...)
		g.x.Rows++
	}
	for _, e := range c.RemoveEdges {
		both(e, false)
	}
	for _, e := range c.AddEdges {
		both(e, true)
	}
	for _, n := range c.SetFeatures {
		copy(g.x.Row(int(*n.ID)), read(n.Features))
	}
	for _, v := range c.RemoveNodes {
		for _, u := range slices.Clone(g.rows[v]) {
			both([2]int32{u, v}, false)
		}
	}
}

// laplacian builds P anew.
func (g *plainGraph) laplacian() *graph.Laplacian {
	a := &graph.CSR{Rows: len(g.rows), Cols: len(g.rows), Ptr: []int64{0}}
	for _, row := range g.rows {
		a.Idx = append(a.Idx, row...)
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
	}
	return graph.NewLaplacian(a)
}

// asked are the logits of nodes in a version.
type asked struct {
	version int64
	nodes   []int32
	logits  []float32
}

// TestUnderLoad changes the graph over HTTP, from four clients, and asks for scores at random
// moments meanwhile: each has the bits of a graph that is built anew from the changes up to its
// version. With GCN_LONG=1 these are 100,000 changes each of edges, nodes and features of
// synth:arxiv, and 1,000 moments.
func TestUnderLoad(t *testing.T) {
	const clients, readers = 4, 4
	changes, moments, batch := 400, 200, 5 // of each kind, in all
	data := testData(t, false)
	if longtest.Wanted() {
		changes, moments, batch = 100_000, 1000, 100
		data = arxiv(t)
	}
	o := Options{Log: filepath.Join(t.TempDir(), LogFile), Timeout: 10 * time.Minute}
	s, url := serverOf(t, usualModel(t, data), data, o)
	base, cols := data.Nodes(), data.Features.Cols
	read := func(features []float32) []float32 {
		text, err := json.Marshal(features)
		if err != nil {
			t.Fatal(err)
		}
		values, err := data.ReadFeatures(text)
		if err != nil {
			t.Fatal(err)
		}
		return values
	}

	var mu sync.Mutex
	made := map[int64]sent{}
	gone := make([]bool, base)
	var group sync.WaitGroup
	for client := range clients {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(client)))
			var added []string // nodes of this client
			row := func() []float32 {
				x := make([]float32, cols)
				for k := range x {
					x[k] = float32(rng.NormFloat64())
				}
				return x
			}
			node := func() int32 {
				for {
					if n := rng.IntN(base + len(added)); n >= base {
						var v int32
						fmt.Sscan(added[n-base], &v)
						return v
					} else if mu.Lock(); gone[n] {
						mu.Unlock()
					} else {
						mu.Unlock()
						return int32(n)
					}
				}
			}
			for done := 0; done < 3*changes/clients/batch; {
				var c sent
				switch done % 3 {
				case 0:
					for range batch {
						if e := [2]int32{node(), node()}; e[0] == e[1] {
						} else if rng.IntN(4) > 0 {
							c.AddEdges = append(c.AddEdges, e)
						} else if row, _ := s.now.Load().graph.Row(e[0]); len(row) > 0 && row[0] != e[0] {
							c.RemoveEdges = append(c.RemoveEdges, [2]int32{e[0], row[rng.IntN(len(row))]})
						}
					}
				case 1:
					for range batch - 1 {
						c.AddNodes = append(c.AddNodes, sentNode{Features: row()})
					}
					c.RemoveNodes = []int32{node()}
				case 2:
					for range batch {
						v := node()
						c.SetFeatures = append(c.SetFeatures, sentNode{ID: &v, Features: row()})
					}
				}
				text, err := json.Marshal(c)
				if err != nil {
					t.Error(err)
					return
				}
				status, answer := ask(t, "POST", url+"/changes", string(text))
				if status == 404 { // another client has removed a node
					continue
				}
				var outcome struct {
					Version int64
					Added   []string
				}
				if err := json.Unmarshal([]byte(answer), &outcome); err != nil || status != 200 {
					t.Errorf("status %d, %.200s", status, answer)
					return
				}
				done++
				added = append(added, outcome.Added...)
				mu.Lock()
				made[outcome.Version] = c
				for _, v := range c.RemoveNodes {
					if int(v) < base {
						gone[v] = true
					}
					added = slices.DeleteFunc(added, func(id string) bool { return id == fmt.Sprint(v) })
				}
				mu.Unlock()
			}
		})
	}
	answers := make([][]asked, readers)
	for reader := range readers {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(2, uint64(reader)))
			last := int64(3 * changes / batch)
			at := make([]int64, moments/readers)
			for k := range at {
				at[k] = rng.Int64N(last)
			}
			slices.Sort(at)
			for _, version := range at {
				for s.Version() < version && !t.Failed() {
					time.Sleep(time.Millisecond)
				}
				v := s.now.Load()
				a := asked{version: v.number}
				for len(a.nodes) < 3 {
					if n := int32(rng.IntN(v.graph.Nodes())); v.graph.Has(n) {
						a.nodes = append(a.nodes, n)
					}
				}
				var err error
				if a.logits, err = s.model.InferOverlay(context.Background(), v.graph, a.nodes); err != nil {
					t.Error(err)
					return
				}
				answers[reader] = append(answers[reader], a)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}

	all := slices.Concat(answers...)
	slices.SortFunc(all, func(a, b asked) int { return int(a.version - b.version) })
	g := &plainGraph{x: graph.Features{Rows: base, Cols: cols, Data: slices.Clone(data.Features.Float32s())}}
	for v := range base {
		g.rows = append(g.rows, slices.Clone(data.Graph.Row(v)))
	}
	version := int64(0)
	for _, a := range all {
		for ; version < a.version; version++ {
			g.apply(made[version+1], read)
		}
		want, err := s.model.Infer(context.Background(), g.laplacian(), &g.x, a.nodes)
		if err != nil || !slices.Equal(a.logits, want) {
			t.Fatalf("version %d, nodes %v: %v, built anew %v, %v", a.version, a.nodes, a.logits, want, err)
		}
	}
	v := s.now.Load()
	t.Logf("%d comparisons over %d versions; the graph has %d nodes and %d edges", len(all), v.number, v.graph.Nodes(), v.graph.Edges())
	if v.number != int64(len(made)) {
		t.Errorf("version %d after %d changes", v.number, len(made))
	}
}
