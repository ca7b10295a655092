package study

import (
	"math"
	"runtime"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/samplers/samplertest"
)

// smallKernelRidge is a regression on random rows of three classes.
func smallKernelRidge(nodes int) KernelRidge {
	y := &graph.Labels{Classes: 3, Class: make([]int32, 2*nodes)}
	for i := range y.Class {
		y.Class[i] = int32(i % 3)
	}
	return KernelRidge{
		Features: randomRows(2*nodes, 4, 0, 6), Labels: y, Train: allNodes(nodes), Test: allNodes(2 * nodes)[nodes:],
		Nodes: nodes, Bandwidth: 1.5, Ridge: 0.01, Repeats: 8, Seed: 2,
	}
}

func (s KernelRidge) mustProblem(t *testing.T) *kernelProblem {
	t.Helper()
	if err := s.setDefaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := s.problem(t.Context(), s.Train, s.Test)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sampling returns the diagonal matrix S of the factors.
func sampling(n int, columns []int32, beta []float64) *mat.DiagDense {
	s := mat.NewDiagDense(n, nil)
	for k, j := range columns {
		s.SetDiag(int(j), s.At(int(j), int(j))+beta[k])
	}
	return s
}

func largestDifference(a, b mat.Matrix) float64 {
	var d mat.Dense
	d.Sub(a, b)
	return mat.Norm(&d, math.Inf(1))
}

// TestKernelProductUnbiased enumerates the draws of three columns of five: the mean of
// KSK is exactly K² with debiased weights, and not with weights 1/(s p). The error of
// each draw agrees with the dense matrices.
func TestKernelProductUnbiased(t *testing.T) {
	const n, size = 5, 3
	p := smallKernelRidge(n).mustProblem(t)
	for _, law := range columnLaws() {
		weights := make([]float64, n)
		var total float64
		for i, norm := range p.norms {
			weights[i] = math.Pow(norm, law.power)
			total += weights[i]
		}
		population := &samplers.Population{Weights: weights, Total: total, Positive: n}
		mean := mat.NewDense(n, n, nil)
		err := samplertest.Enumerate(samplers.WithoutReplacement{}, weights, size, func(probability float64, sample *samplers.Sample) {
			beta := make([]float64, size)
			law.weight.Weigh(population, sample, beta)
			var product, scaled, difference mat.Dense
			product.Mul(p.k, sampling(n, sample.Index, beta))
			product.Mul(&product, p.k)
			scaled.Scale(probability, &product)
			mean.Add(mean, &scaled)
			difference.Sub(&product, p.square)
			var out kernelDraw
			if err := p.measure(sample.Index, beta, &out); err != nil {
				t.Fatal(err)
			}
			near(t, "‖KSK − K²‖²", out.product2, squaredFrobenius(&difference), 1e-9)
		})
		if err != nil {
			t.Fatal(err)
		}
		unbiased := law.weight == samplers.Weight(samplers.Debiased{})
		if off := largestDifference(mean, p.square); unbiased != (off < 1e-12) {
			t.Errorf("%s: E KSK is %.2g from K²", law.name, off)
		}
	}
}

// TestKernelPredictions compares both regressions with their equations, for dense
// matrices: (KSK + nλK)a = KSY, and the least squares over the columns of KS, whose
// factors cancel. With all columns and β = 1 both are exact.
func TestKernelPredictions(t *testing.T) {
	const n = 9
	p := smallKernelRidge(n).mustProblem(t)
	columns, beta := []int32{7, 0, 3, 4}, []float64{2.5, 0.3, 1.7, 4}
	s := sampling(n, columns, beta)
	var ks, left, right, a, want mat.Dense
	ks.Mul(p.k, s)
	left.Mul(&ks, p.k)
	var ridge mat.Dense
	ridge.Scale(p.ridge, p.k)
	left.Add(&left, &ridge)
	right.Mul(&ks, p.targets)
	if err := a.Solve(&left, &right); err != nil {
		t.Fatal(err)
	}
	want.Mul(p.test, &a)
	got, err := p.weighted(columns, beta)
	if err != nil {
		t.Fatal(err)
	}
	if off := largestDifference(got, &want); off > 1e-8 {
		t.Errorf("weighted regression is %.2g from its equation", off)
	}

	pi := mat.NewDense(n, len(columns), nil) // S without its empty columns
	for k, j := range columns {
		pi.Set(int(j), k, beta[k])
	}
	var kp, normal, penalty, sketch, theta, span mat.Dense
	kp.Mul(p.k, pi)
	normal.Mul(kp.T(), &kp)
	penalty.Mul(pi.T(), &kp)
	penalty.Scale(p.ridge, &penalty)
	normal.Add(&normal, &penalty)
	sketch.Mul(kp.T(), p.targets)
	if err := theta.Solve(&normal, &sketch); err != nil {
		t.Fatal(err)
	}
	span.Mul(p.test, pi)
	want.Mul(&span, &theta)
	if got, err = p.sketched(columns); err != nil {
		t.Fatal(err)
	}
	if off := largestDifference(got, &want); off > 1e-8 {
		t.Errorf("sketched regression is %.2g from its equation", off)
	}

	ones := make([]float64, n)
	for i := range ones {
		ones[i] = 1
	}
	for name, f := range map[string]func() (*mat.Dense, error){
		"weighted": func() (*mat.Dense, error) { return p.weighted(allNodes(n), ones) },
		"sketched": func() (*mat.Dense, error) { return p.sketched(allNodes(n)) },
	} {
		got, err := f()
		if err != nil {
			t.Fatal(err)
		}
		if off := largestDifference(got, p.exact); off > 1e-8 {
			t.Errorf("%s regression on all columns is %.2g from the exact one", name, off)
		}
	}
}

// TestKernelRidge runs the study. With all columns the debiased methods are exact, and
// plain weights are not. The numbers do not depend on the number of cores.
func TestKernelRidge(t *testing.T) {
	s := smallKernelRidge(40)
	s.Bandwidth, s.Sizes = 0, []int{10, 40}
	calls := 0
	s.Progress = func(done, total int) {
		if calls++; done != calls || total != 2*len(columnLaws()) {
			t.Errorf("progress %d of %d after call %d", done, total, calls)
		}
	}
	table, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if calls != len(table.Rows) {
		t.Errorf("%d calls of Progress for %d rows", calls, len(table.Rows))
	}
	s.Progress = nil
	if !(table.Bandwidth > 0) || !(table.Risk > 0) || table.Nodes != 40 || table.TestNodes != 40 || table.Targets != 3 {
		t.Errorf("%+v", table)
	}
	for _, r := range table.Rows {
		naive := r.Method == "plain" || r.Method == "flat"
		switch {
		case r.Samples == 10 && !(r.Product > 0 && r.Weighted > 0 && r.Sketched > 0 && r.ProductSEM > 0):
			t.Errorf("%+v", r)
		case r.Samples == 40 && naive != (r.Product > 1e-9) || r.Samples == 40 && naive != (r.Weighted > 1e-9):
			t.Errorf("%s, all columns: product %v, weighted regression %v from exact", r.Method, r.Product, r.Weighted)
		}
		if r.Samples == 40 && naive {
			near(t, "bias of draws that are always the same", r.ProductBias2, r.Product*r.Product, 1e-9)
		}
	}
	if err := Save(t.TempDir(), "kernel-ridge", table); err != nil {
		t.Error(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	again, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for k, r := range table.Rows {
		if again.Rows[k] != r {
			t.Errorf("row %d is %+v, was %+v", k, again.Rows[k], r)
		}
	}
}

// TestKernelRidgeTargets checks binary tasks: an unknown label counts as the mean of
// the known ones.
func TestKernelRidgeTargets(t *testing.T) {
	nan := float32(math.NaN())
	s := KernelRidge{Labels: &graph.Labels{Tasks: 2, Multi: []float32{1, 0, 0, nan, 1, 1}}}
	rows := []int32{0, 1, 2}
	got := s.targets(rows, s.targetMeans(rows))
	want := mat.NewDense(3, 2, []float64{1. / 3, -0.5, -2. / 3, 0, 1. / 3, 0.5})
	if off := largestDifference(got, want); off > 1e-15 {
		t.Errorf("targets %v", mat.Formatted(got))
	}
}

// TestKernelRidgeErrors checks that wrong settings are errors.
// Without test rows, as in a split without a test part, predictions are compared on the
// training rows.
func TestKernelRidgeWithoutTestRows(t *testing.T) {
	for _, test := range [][]int32{nil, {}} {
		s := smallKernelRidge(10)
		s.Test = test
		table, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if table.TestNodes != 10 {
			t.Errorf("%d test rows, want the 10 training rows", table.TestNodes)
		}
	}
}

func TestKernelRidgeErrors(t *testing.T) {
	for want, change := range map[string]func(s *KernelRidge){
		"needs features":   func(s *KernelRidge) { s.Features = nil },
		"labels of 3 rows": func(s *KernelRidge) { s.Labels = &graph.Labels{Classes: 1, Class: make([]int32, 3)} },
		"outside [0, 20)":  func(s *KernelRidge) { s.Train = []int32{20} },
		"ridge -1":         func(s *KernelRidge) { s.Ridge = -1 },
		"11 columns":       func(s *KernelRidge) { s.Sizes = []int{11} },
		"choose a bandwidth": func(s *KernelRidge) {
			s.Bandwidth, s.Features = 0, &graph.Features{Rows: 20, Cols: 1, Data: make([]float32, 20)}
		},
		"at least 2 each":  func(s *KernelRidge) { s.Repeats = 1 },
		"context is nil":   nil,
		"study: 0 columns": func(s *KernelRidge) { s.Sizes = []int{0} },
	} {
		s := smallKernelRidge(10)
		ctx := t.Context()
		if change == nil {
			ctx = nil
		} else {
			change(&s)
		}
		if _, err := s.Run(ctx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
