package train

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

// TestHalfPrecisionFeatures compares features in half precision with the same numbers in
// single precision: weights, losses and scores must be equal, bit for bit.
func TestHalfPrecisionFeatures(t *testing.T) {
	for _, o := range []layers.GCNOptions{
		{Hidden: 16, Seed: 3},
		{Hidden: 4, Seed: 3}, // narrow, so that H·W is computed first
		{Hidden: 16, Seed: 3, Residual: true},
	} {
		run := func(use func(x *graph.Features) *graph.Features) ([]float32, *Result, string) {
			d := smallData(t, 300, 3)
			d.Features = use(d.Features)
			batch := layers.NewBatch(G.NewGraph(), &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{24, 24}})
			gcn, err := layers.NewGCN(batch, d.Features, d.Labels, o)
			if err != nil {
				t.Fatal(err)
			}
			m := gcn.Parts()
			h := mustFit(t, m, d, short())
			return weightsOf(t, m), h, Fingerprint(d)
		}
		half := func(x *graph.Features) *graph.Features {
			h, err := x.ToHalf()
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		got, history, print := run(half)
		want, wanted, other := run(func(x *graph.Features) *graph.Features {
			return &graph.Features{Rows: x.Rows, Cols: x.Cols, Data: half(x).Float32s()}
		})
		unrounded, _, _ := run(func(x *graph.Features) *graph.Features { return x })
		if !slices.Equal(got, want) {
			t.Errorf("%+v: the weights differ from training on the rounded features", o)
		}
		if slices.Equal(got, unrounded) {
			t.Errorf("%+v: the features without rounding give the same weights: the test shows nothing", o)
		}
		same := func(a, b Evaluation) bool {
			return math.Float64bits(a.Loss) == math.Float64bits(b.Loss) && a.Valid == b.Valid
		}
		if !slices.EqualFunc(history.Evaluations, wanted.Evaluations, same) || history.Test != wanted.Test {
			t.Errorf("%+v: the losses or scores differ", o)
		}
		if print == other {
			t.Error("half and single precision have the same fingerprint")
		}
	}
}

// TestPrefetch checks that the input rows of each batch are announced before they are
// read.
func TestPrefetch(t *testing.T) {
	run := func(announced map[int32]bool) ([]float32, int) {
		d := smallData(t, 300, 3)
		calls := 0
		var mutex sync.Mutex // several workers announce
		if announced != nil {
			d.Features.Prefetch = func(rows []int32) {
				mutex.Lock()
				defer mutex.Unlock()
				calls++
				for _, v := range rows {
					announced[v] = true
				}
			}
		}
		m := smallModel(t, d)
		m.Inference = nil // so that inference uses the program too
		o := short()
		o.EvalEvery = 1000
		mustFit(t, m, d, o)
		return weightsOf(t, m), calls
	}
	want, _ := run(nil)
	announced := map[int32]bool{}
	got, calls := run(announced)
	if !slices.Equal(got, want) {
		t.Error("the weights differ")
	}
	if calls < 60 || len(announced) < 200 {
		t.Errorf("%d nodes announced in %d calls, for 60 batches", len(announced), calls)
	}
}
