package study

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// degenerate are products HW for which some results are not finite.
func degenerate(nodes int) map[string]*graph.Features {
	all := map[string]*graph.Features{}
	for name, v := range map[string]float32{
		"zero": 0, "constant": 1, "NaN": float32(math.NaN()), "infinite": float32(math.Inf(1)), "largest": math.MaxFloat32, "denormal": 1e-45,
	} {
		x := &graph.Features{Rows: nodes, Cols: 2, Data: make([]float32, 2*nodes)}
		for k := range x.Data {
			x.Data[k] = v
		}
		all[name] = x
	}
	mixed := randomRows(nodes, 2, 0, 1)
	mixed.Data[0], mixed.Data[1] = float32(math.NaN()), float32(math.Inf(-1))
	all["mixed"] = mixed
	return all
}

// wantSaved saves a table and checks that its files can be read, with null and
// empty fields for numbers that are not finite.
func wantSaved(t *testing.T, table Table) {
	t.Helper()
	dir := t.TempDir()
	if err := Save(dir, "table", table); err != nil {
		t.Error(err)
		return
	}
	text, err := os.ReadFile(filepath.Join(dir, "table.json"))
	if err != nil || !json.Valid(text) {
		t.Errorf("%v in %s", err, text)
	}
	file, err := os.Open(filepath.Join(dir, "table.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil || len(records) < 2 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for _, record := range records {
		for k, field := range record {
			if strings.Contains(field, "NaN") || strings.Contains(field, "Inf") {
				t.Errorf("%s is %s", records[0][k], field)
			}
		}
	}
	svg, err := os.ReadFile(filepath.Join(dir, "table.svg"))
	if err != nil || regexp.MustCompile(`="[^"]*(NaN|Inf)`).Match(svg) {
		t.Errorf("%v, or a coordinate that is not a number", err)
	}
}

func TestDegenerateData(t *testing.T) {
	ctx := t.Context()
	for graphName, p := range map[string]*graph.Laplacian{
		"ring": ringLaplacian(t, 60), "no edges": builtLaplacian(t, 60, func(func(u, v int)) {}), "one node": builtLaplacian(t, 1, func(func(u, v int)) {}),
	} {
		nodes := allNodes(p.Nodes())
		method, err := ContenderByName("ladies", p, nodes)
		if err != nil {
			t.Fatal(err)
		}
		for name, hw := range degenerate(p.Nodes()) {
			if graphName != "ring" && name != "zero" && name != "NaN" {
				continue
			}
			t.Run(graphName+"/"+name, func(t *testing.T) {
				norms := [][]float64{RowNorms(hw)}
				errs, err := ApproxError{Laplacian: p, Product: hw, Nodes: nodes, Methods: []Contender{method}, Sizes: []int{1, 4}, Batch: 8, Repeats: 2}.Run(ctx)
				if err != nil {
					t.Fatal(err)
				}
				wantSaved(t, errs)
				assumption, err := Assumption{Laplacian: p, Layers: norms, Nodes: nodes, Batches: 2, Batch: 8}.Run(ctx)
				if err != nil {
					t.Fatal(err)
				}
				wantSaved(t, assumption)
				uniformity, err := Norms{Laplacian: p, Layers: norms, Nodes: nodes, Batches: 2, Batch: 8, Bins: 4}.Run(ctx)
				if err != nil {
					t.Fatal(err)
				}
				wantSaved(t, uniformity)
				advice, err := Advise{Laplacian: p, Products: []*graph.Features{hw}, Nodes: nodes, Batch: 8, Repeats: 2}.Run(ctx)
				switch name {
				case "NaN", "infinite", "mixed":
					if err == nil || !strings.Contains(err.Error(), "finite") {
						t.Errorf("advice with a product of %s: %v", name, err)
					}
					return
				}
				if err != nil || advice.Method == "" {
					t.Fatalf("advice %+v, %v", advice, err)
				}
				if text := strings.Join(advice.Reasons, "; "); strings.Contains(text, "NaN") {
					t.Error(text)
				}
			})
		}
	}
	for _, weights := range [][]float64{{1}, {1, 1}, {1, 1e90}} {
		table, err := Variance{Weights: weights, Sizes: []int{1, 2}, Repeats: 10, Estimators: Estimators(5)}.Run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		wantSaved(t, table)
	}
}

// TestDegenerateHistogram checks the counts of values that are not finite.
func TestDegenerateHistogram(t *testing.T) {
	inf := math.Inf(1)
	h := NewHistogram([]float64{1, math.NaN(), 3, inf, -inf, -inf, 2}, 2, 0)
	if h.Low != 1 || h.High != 3 || h.Below != 2 || h.Above != 1 || h.Counts[0]+h.Counts[1] != 3 || h.Median != 2 || !math.IsNaN(h.Mean) || !math.IsNaN(h.Max) {
		t.Errorf("%+v", h)
	}
	for _, values := range [][]float64{{math.NaN()}, {inf, inf}, {-math.MaxFloat64, math.MaxFloat64}, {5e-324, 1e-323}, {0.1, math.Nextafter(0.1, 1)}} {
		h := NewHistogram(values, 60, 0.001)
		sum := h.Below + h.Above
		for _, n := range h.Counts {
			sum += n
		}
		if !math.IsNaN(values[0]) && sum != len(values) {
			t.Errorf("%d of %v are counted", sum, values)
		}
	}
}

// TestMissingArguments checks that a nil argument, or one that does not fit, is an
// error that names it, not a panic.
func TestMissingArguments(t *testing.T) {
	ctx := t.Context()
	p, bad := ringLaplacian(t, 20), &graph.Laplacian{}
	nodes, hw := allNodes(20), randomRows(20, 3, 0, 1)
	half, err := hw.ToHalf()
	if err != nil {
		t.Fatal(err)
	}
	method, err := ContenderByName("ladies", p, nodes)
	if err != nil {
		t.Fatal(err)
	}
	methods, norms := []Contender{method}, [][]float64{RowNorms(hw)}
	short := &graph.Features{Rows: 20, Cols: 3, Data: make([]float32, 5)}
	weight, draw := samplers.Debiased{}, samplers.WithoutReplacement{}
	var noLabor *samplers.Labor
	model := &layers.GCN{Convolutions: []*layers.GraphConv{nil}}
	run := func(_ any, err error) error { return err }
	approx := func(change func(*ApproxError)) error {
		s := ApproxError{Laplacian: p, Product: hw, Nodes: nodes, Methods: methods, Sizes: []int{2}, Batch: 4, Repeats: 2}
		change(&s)
		return run(s.Run(ctx))
	}
	for name, err := range map[string]error{
		"product of nil":                    run(Product(nil, hw.Data)),
		"product without weight":            run(Product(hw, nil)),
		"product of few values":             run(Product(short, hw.Data)),
		"product of negative rows":          run(Product(&graph.Features{Rows: -1, Cols: 3}, make([]float32, 3))),
		"product too large":                 run(Product(&graph.Features{Rows: math.MaxInt, Cols: 3, Data: hw.Data}, make([]float32, 3))),
		"layer of no model":                 run(LayerProduct(ctx, nil, p, hw, 0, nil)),
		"layer of no features":              run(LayerProduct(ctx, model, p, nil, 0, nil)),
		"layer of no Laplacian":             run(LayerProduct(ctx, model, nil, hw, 0, nil)),
		"layer without weight":              run(LayerProduct(ctx, model, p, hw, 0, nil)),
		"layer without parts":               run(LayerProduct(ctx, &layers.GCN{Convolutions: []*layers.GraphConv{{}}}, p, hw, 0, nil)),
		"products of no model":              run(Products(ctx, nil, p, hw)),
		"norms of no model":                 run(ModelNorms(ctx, nil, p, hw)),
		"error on no Laplacian":             approx(func(s *ApproxError) { s.Laplacian = nil }),
		"error on a bad Laplacian":          approx(func(s *ApproxError) { s.Laplacian = bad }),
		"error of no product":               approx(func(s *ApproxError) { s.Product = nil }),
		"error of a short product":          approx(func(s *ApproxError) { s.Product = short }),
		"error of a half product":           approx(func(s *ApproxError) { s.Product = half }),
		"error of a nil method":             approx(func(s *ApproxError) { s.Methods = []Contender{{Name: "x"}} }),
		"error of a method without sampler": approx(func(s *ApproxError) { s.Methods[0].New = func(int) (samplers.Sampler, error) { return noLabor, nil } }),
		"error on nodes outside":            approx(func(s *ApproxError) { s.Nodes = []int32{0, 20} }),
		"assumption within nodes outside":   run(Assumption{Laplacian: p, Layers: norms, Nodes: nodes, Within: []int32{-1}}.Run(ctx)),
		"assumption on a bad Laplacian":     run(Assumption{Laplacian: bad, Layers: norms, Nodes: nodes}.Run(ctx)),
		"norms on nodes outside":            run(Norms{Laplacian: p, Layers: norms, Nodes: []int32{99}}.Run(ctx)),
		"advice with a nil product":         run(Advise{Laplacian: p, Products: []*graph.Features{nil}, Nodes: nodes}.Run(ctx)),
		"advice on nodes outside":           run(Advise{Laplacian: p, Products: []*graph.Features{hw}, Nodes: []int32{-4}}.Run(ctx)),
		"variance of a nil estimator":       run(Variance{Weights: []float64{1}, Sizes: []int{1}, Estimators: []Estimator{{Name: "x"}}}.Run(ctx)),
		"variance watching -1":              run(Variance{Weights: []float64{1, 2}, Sizes: []int{1}, Watch: -1}.Run(ctx)),
		"variance of too many draws":        run(Variance{Weights: []float64{1, 2}, Sizes: []int{3}}.Run(ctx)),
		"enumeration without draw":          run(Enumerate([]float64{1, 2}, 1, nil, weight)),
		"enumeration without weight":        run(Enumerate([]float64{1, 2}, 1, draw, nil)),
		"enumeration of NaN":                run(Enumerate([]float64{0.5, math.NaN()}, 1, draw, weight)),
		"contender on nil":                  run(ContenderByName("ladies-debiased-nodes", nil, nodes)),
		"no table":                          Save(t.TempDir(), "none", nil),
		"a nil table":                       Save(t.TempDir(), "none", (*NormsTable)(nil)),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "study: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if len(RandomBatch(nil, nodes, -1)) != 0 {
		t.Error("a batch of -1 nodes")
	}
	for _, empty := range []Table{&ErrorTable{}, &AssumptionTable{}, &NormsTable{}, &VarianceTable{}, emptyTable{}} {
		if err := Save(t.TempDir(), "empty", empty); err != nil {
			t.Error(err)
		}
	}
}

// emptyTable has neither columns nor a figure.
type emptyTable struct{}

func (emptyTable) List() List             { return List{} }
func (emptyTable) Figure() *figure.Figure { return nil }
