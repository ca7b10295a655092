package study

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

// TestApproxErrorExact compares bias and variance with their exact values. These
// come from the enumeration of all sequences of draws, and the dense matrix.
func TestApproxErrorExact(t *testing.T) {
	p := randomLaplacian(t, 9, 9, true, 3)
	c := randomRows(9, 3, 1, 4)
	rows := []int32{0, 3, 5}
	candidates, x := terms(p, rows, c)
	if len(candidates) < 5 || len(candidates) > 8 {
		t.Fatalf("%d candidates: choose another seed", len(candidates))
	}
	const s = 3
	for _, method := range []string{"ladies", "ladies-flat", "ladies-debiased", "ladies-flat-debiased", "ladies-debiased-nodes"} {
		contender, err := ContenderByName(method, p, rows)
		if err != nil {
			t.Fatal(err)
		}
		table, err := ApproxError{
			Laplacian: p, Product: c, Nodes: rows, Methods: []Contender{contender}, Sizes: []int{s},
			Batch: len(rows), Repeats: 6000, Draws: 3, Seed: 1,
		}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		weights := LayerWeights(p, rows, !strings.Contains(method, "flat"))
		order := newColumnWalk(p) // the candidates in LayerWeights' order
		order.walk(rows)
		reordered := make([][]float64, len(x))
		for k, i := range order.nodes {
			for l, j := range candidates {
				if i == j {
					reordered[k] = x[l]
				}
			}
		}
		weight := samplers.Weight(samplers.Naive{})
		if strings.Contains(method, "debiased") {
			weight = samplers.Debiased{}
		}
		if strings.HasSuffix(method, "nodes") {
			weight = samplers.Debiased{Population: p.Nodes()}
		}
		moments, err := Enumerate(weights, s, samplers.WithoutReplacement{}, weight)
		if err != nil {
			t.Fatal(err)
		}
		bias2, variance := errorParts(moments, reordered)
		row := table.Rows[0]
		if d := math.Abs(row.Bias2 - bias2); d > 5*row.Bias2SEM {
			t.Errorf("%s: bias² %v ± %v, want %v", method, row.Bias2, row.Bias2SEM, bias2)
		}
		near(t, method+": variance", row.Variance, variance, 0.05)
		near(t, method+": bias² + sd²", row.Bias2+row.SD*row.SD, bias2+variance, 0.05)
		if float64(len(candidates)) != table.Candidates {
			t.Errorf("%v candidates, want %d", table.Candidates, len(candidates))
		}
		var exact float64
		total := make([]float64, len(x[0]))
		for i := range x {
			for k, v := range x[i] {
				total[k] += v
			}
		}
		exact = math.Sqrt(dot(total, total))
		near(t, "‖QPHW‖", table.Norm, exact, 1e-5)
	}
}

// TestApproxErrorCores checks that the numbers do not depend on the number of cores.
func TestApproxErrorCores(t *testing.T) {
	p := randomLaplacian(t, 400, 1500, false, 5)
	var tables []*ErrorTable
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, cores := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(cores)
		s := ApproxError{
			Laplacian: p, Product: randomRows(400, 8, 0, 6), Nodes: allNodes(300), Sizes: []int{16, 64},
			Batch: 32, Repeats: 12, Seed: 7,
		}
		for _, name := range []string{"full", "ladies", "fastgcn-flat-debiased", "neighbor"} {
			c, err := ContenderByName(name, p, s.Nodes)
			if err != nil {
				t.Fatal(err)
			}
			s.Methods = append(s.Methods, c)
		}
		done := 0
		s.Progress = func(n, total int) {
			done++
			if n != done || total != s.Repeats {
				t.Errorf("%d of %d batches, want %d of %d", n, total, done, s.Repeats)
			}
		}
		table, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if done != s.Repeats {
			t.Errorf("progress counted to %d of %d", done, s.Repeats)
		}
		tables = append(tables, table)
	}
	for _, table := range tables[1:] {
		if !reflect.DeepEqual(table, tables[0]) {
			t.Error("the table depends on the number of cores")
		}
	}
	if row := tables[0].Row("full", 16); row.Mean != 0 || row.SD != 0 {
		t.Errorf("full neighbourhoods have error %v", row.Mean)
	}
}

// TestApproxErrorShared checks that the numbers of a method do not depend on the
// other methods: they share batches, and not draws.
func TestApproxErrorShared(t *testing.T) {
	p := randomLaplacian(t, 200, 600, false, 8)
	run := func(names ...string) *ErrorTable {
		s := ApproxError{Laplacian: p, Product: randomRows(200, 4, 0, 9), Nodes: allNodes(200), Sizes: []int{20}, Batch: 16, Repeats: 5}
		for _, name := range names {
			c, err := ContenderByName(name, p, s.Nodes)
			if err != nil {
				t.Fatal(err)
			}
			s.Methods = append(s.Methods, c)
		}
		table, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	both, one := run("ladies", "ladies-flat"), run("ladies-flat")
	if *both.Row("ladies-flat", 20) != *one.Row("ladies-flat", 20) {
		t.Error("another method changed the numbers")
	}
}

func TestApproxErrorRefuses(t *testing.T) {
	p := randomLaplacian(t, 60, 120, false, 8)
	good := func() ApproxError {
		c, err := ContenderByName("ladies", p, nil)
		if err != nil {
			t.Fatal(err)
		}
		return ApproxError{Laplacian: p, Product: randomRows(60, 2, 0, 1), Nodes: allNodes(60), Methods: []Contender{c}, Sizes: []int{8}, Batch: 8, Repeats: 2}
	}
	for name, spoil := range map[string]func(*ApproxError){
		"of 0 nodes":       func(s *ApproxError) { s.Nodes = nil },
		"HW has":           func(s *ApproxError) { s.Product = randomRows(59, 2, 0, 1) },
		"of 0 methods":     func(s *ApproxError) { s.Methods = nil },
		"Repeats is 1":     func(s *ApproxError) { s.Repeats = 1 },
		"Laplacian is nil": func(s *ApproxError) { s.Laplacian = nil },
	} {
		s := good()
		spoil(&s)
		if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one with %q", err, name)
		}
	}
	for _, name := range []string{"ladies-cv", "vrgcn"} {
		if _, err := ContenderByName(name, p, nil); err == nil || !strings.Contains(err.Error(), "since earlier activations") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := good().Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

// TestArxivErrors checks the claims of the paper's figure on the twin of
// ogbn-arxiv. LADIES falls, then rises. Debiased LADIES falls throughout; at 4,096,
// counting candidates is well below counting nodes. Flat is below LADIES
// everywhere.
func TestArxivErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("a graph of 169,343 nodes")
	}
	data, err := datasets.Open(t.Context(), "synth:arxiv", datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := data.Laplacian()
	s := ApproxError{
		Laplacian: p, Product: arxivProduct(t, data.Features), Nodes: data.Split.Train,
		Sizes: []int{512, 1024, 2048, 4096}, Repeats: 12, Seed: 1,
	}
	for _, name := range []string{"ladies", "ladies-flat", "ladies-debiased", "ladies-debiased-nodes"} {
		c, err := ContenderByName(name, p, s.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		s.Methods = append(s.Methods, c)
	}
	table, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := func(method string, size int) float64 { return table.Row(method, size).Mean }
	if !(at("ladies", 512) > at("ladies", 1024) && at("ladies", 2048) < at("ladies", 4096)) {
		t.Errorf("LADIES: %.1f, %.1f, %.1f, %.1f at 512 to 4096, want a U", at("ladies", 512), at("ladies", 1024), at("ladies", 2048), at("ladies", 4096))
	}
	for k, size := range s.Sizes {
		if k > 0 && at("ladies-debiased", size) >= at("ladies-debiased", s.Sizes[k-1]) {
			t.Errorf("debiased LADIES does not fall at %d", size)
		}
		if at("ladies-flat", size) >= at("ladies", size) {
			t.Errorf("flat is not below LADIES at %d", size)
		}
	}
	if ratio := at("ladies-debiased", 4096) / at("ladies-debiased-nodes", 4096); ratio > 0.8 {
		t.Errorf("counting candidates has %.2f times the error of counting nodes, want at most 0.8", ratio)
	}
}

// arxivProduct multiplies features by a Glorot weight.
func arxivProduct(t *testing.T, x *graph.Features) *graph.Features {
	t.Helper()
	w := randomRows(x.Cols, 128, 0, 1)
	for k := range w.Data {
		w.Data[k] *= 0.1
	}
	c, err := Product(x, w.Data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
