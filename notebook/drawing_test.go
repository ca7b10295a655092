package notebook

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

// path returns the path graph of n nodes.
func path(t *testing.T, n int) *graph.CSR {
	t.Helper()
	b, err := graph.NewBuilder(n)
	if err != nil {
		t.Fatal(err)
	}
	for k := range n - 1 {
		if err := b.Add(int32(k), int32(k+1)); err != nil {
			t.Fatal(err)
		}
	}
	g, _ := b.Build()
	return g
}

func TestDrawing(t *testing.T) {
	d := Drawing{
		Title: "a <path>", Graph: path(t, 5), Nodes: []int32{0, 1, 2, 4},
		Class: []int32{0, 1, 1, 7, -1}, Truth: []int32{0, 1, 0, 0, -1}, Names: []string{"zero", "one"},
	}
	chart, err := d.Chart()
	if err != nil {
		t.Fatal(err)
	}
	svg := chart.SVG()
	wellFormed(t, svg, "svg")
	for part, want := range map[string]int{
		"a &lt;path&gt;":  1,
		"stroke:#CCCCCC":  2,           // edges 0–1 and 1–2
		"A6,6 0 1 1":      2 * (1 + 1), // the edge of the wrong node, and in the legend
		"fill:#0072B2":    2 + 1,       // nodes 1 and 2 of the most frequent class
		"fill:#D55E00":    1,           // node 4, without a class
		">zero<":          1,
		">one<":           1,
		">wrong: 1 of 3<": 1,
		"class 7":         0,
	} {
		if got := strings.Count(svg, part); got != want {
			t.Errorf("%q %d times, want %d", part, got, want)
		}
	}
	if texts, widths := strings.Count(svg, "<text "), strings.Count(svg, "<text textLength="); texts == 0 || widths != texts {
		t.Errorf("%d of %d texts have a width, so that another font is not cut off", widths, texts)
	}
	again, err := d.Chart()
	if err != nil || again.SVG() != svg {
		t.Errorf("another picture the second time (%v)", err)
	}
	for _, bad := range []Drawing{
		{}, {Graph: d.Graph}, {Graph: d.Graph, Nodes: []int32{5}}, {Graph: d.Graph, Nodes: []int32{-1}},
		{Graph: &graph.CSR{Rows: 3, Cols: 3, Ptr: []int64{0, 1, 2}, Idx: []int32{1, 0}}, Nodes: []int32{0, 1, 2}},
		{Graph: d.Graph, Nodes: []int32{0}, Class: []int32{1}}, {Graph: d.Graph, Nodes: make([]int32, 1001)},
	} {
		if _, err := bad.Chart(); err == nil {
			t.Errorf("no error about %+v", bad)
		}
	}
}

// TestLayout checks that a path is laid out as a line: neighbours nearer than
// others, and the ends far apart.
func TestLayout(t *testing.T) {
	const n = 12
	var edges [][2]int32
	for k := range int32(n - 1) {
		edges = append(edges, [2]int32{k, k + 1})
	}
	at := layout(n, edges)
	distance := func(i, j int) float64 { return math.Hypot(at[i].X-at[j].X, at[i].Y-at[j].Y) }
	var near, far float64
	for i := range n {
		for j := range i {
			if i-j == 1 {
				near += distance(i, j) / (n - 1)
			} else {
				far += distance(i, j) / ((n - 1) * (n - 2) / 2)
			}
		}
	}
	if near > far/2 {
		t.Errorf("neighbours %.3f apart, others %.3f", near, far)
	}
	if one := layout(1, nil); math.IsNaN(one[0].X + one[0].Y) {
		t.Errorf("a single vertex at %v", one[0])
	}
}

func TestNeighborhood(t *testing.T) {
	g := path(t, 10)
	if got, err := Neighborhood(g, 4, 5, 0); err != nil || !reflect.DeepEqual(got, []int32{4, 3, 5, 2, 6}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Neighborhood(g, 0, 99, 1); err != nil || !reflect.DeepEqual(got, []int32{0, 1}) {
		t.Errorf("one neighbour each: %v, %v", got, err)
	}
	for _, start := range []int32{-1, 10} {
		if _, err := Neighborhood(g, start, 5, 0); err == nil {
			t.Errorf("no error about node %d", start)
		}
	}
}

func TestSampling(t *testing.T) {
	ctx := context.Background()
	data := small(t)
	full, err := Sampling{
		Sampler: &samplers.Full{Laplacian: data.Laplacian(), Depth: 2}, Laplacian: data.Laplacian(),
		Features: data.Features, Nodes: data.Split.Train, Batch: 32, Batches: 3,
	}.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for k, l := range full.Layers {
		if l.Layer != 2-k || l.Drawn != l.Candidates || l.Entries != l.Full || !(l.Error <= 1e-6) || math.Abs(l.Factors.Max) > 1e-6 {
			t.Errorf("full neighbourhoods, layer %d: %+v", l.Layer, l)
		}
	}

	s := Sampling{Laplacian: data.Laplacian(), Features: data.Features, Nodes: data.Split.Train, Batch: 32, Batches: 4, Seed: 5}
	if s.Sampler, err = samplers.ByName("ladies-flat-debiased", samplers.Config{Laplacian: data.Laplacian(), Layers: 2, Sizes: []int{20}}); err != nil {
		t.Fatal(err)
	}
	report, err := s.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Layers[0]; got.Rows != 32 || got.Drawn != 20 || report.Layers[1].Rows != 20 || got.Entries >= got.Full || !(got.Error >= 0.1) || got.ErrorSEM == 0 {
		t.Errorf("layer %+v", got)
	}
	// The first layer again, the slow and obvious way.
	var entries, square, norm float64
	candidates := 0
	p := data.Laplacian()
	var batch samplers.MiniBatch
	rng := rand.New(samplers.NewSource(5, 0, 0))
	if err := s.Sampler.Sample(ctx, study.RandomBatch(rng, s.Nodes, 32), rng, &batch); err != nil {
		t.Fatal(err)
	}
	block := batch.Blocks[1]
	for j := range data.Nodes() {
		for _, i := range block.Dst {
			if p.At(int(i), j) != 0 {
				candidates++
				break
			}
		}
	}
	for i, row := range block.Dst {
		entries += float64(block.Matrix.Degree(i))
		for c := range data.Features.Cols {
			var exact, estimate float64
			for j := range data.Nodes() {
				exact += float64(p.At(int(row), j)) * float64(data.Features.Row(j)[c])
			}
			for k, local := range block.Matrix.Row(i) {
				estimate += float64(block.Matrix.RowValues(i)[k]) * float64(data.Features.Row(int(block.Src[local]))[c])
			}
			square += (estimate - exact) * (estimate - exact)
			norm += exact * exact
		}
	}
	s.Batches = 1
	if report, err = s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	got := report.Layers[0]
	if got.Candidates != float64(candidates) || got.Entries != entries || !(math.Abs(got.Error-math.Sqrt(square/norm)) <= 1e-5) {
		t.Errorf("%v candidates, %v entries, error %v; want %d, %v, %v", got.Candidates, got.Entries, got.Error, candidates, entries, math.Sqrt(square/norm))
	}
	wellFormed(t, report.Chart().SVG(), "svg")
	wellFormed(t, report.Sheet().HTML(), "table")
	if len(report.Header()) != len(report.Records()[0]) {
		t.Errorf("%d names for %d columns", len(report.Header()), len(report.Records()[0]))
	}

	for _, bad := range []Sampling{{}, {Sampler: s.Sampler, Laplacian: p}, {Sampler: s.Sampler, Laplacian: p, Nodes: s.Nodes, Features: &graph.Features{Rows: 3}}} {
		if _, err := bad.Run(ctx); err == nil {
			t.Errorf("no error about %+v", bad)
		}
	}
}
