package train

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/ranks"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

// thinnedData is a small data set with few features that are not 0.
func thinnedData(t testing.TB, sparse bool) *datasets.Data {
	d := smallData(t, 300, 3)
	for k, v := range d.Features.Data {
		if math.Abs(float64(v)) < 1 {
			d.Features.Data[k] = 0
		}
	}
	if sparse {
		d.Features = d.Features.ToSparse()
	}
	return d
}

// TestSparseFeatures trains on sparse features and on the same features held dense. A run
// with either form continues with the other, with the same bits for any number of workers.
func TestSparseFeatures(t *testing.T) {
	for _, o := range []layers.GCNOptions{
		{Hidden: 16, Seed: 3},
		{Hidden: 4, Seed: 3}, // narrow, so that H·W is computed first
		{Hidden: 16, Seed: 3, Residual: true, Norm: layers.NormLayer},
		{Hidden: 16, Seed: 3, InputLayer: true},
	} {
		dir := t.TempDir()
		run := func(sparse bool, change func(*Options)) ([]float32, *Result) {
			d := thinnedData(t, sparse)
			m := gcnOver(t, d, &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{24, 24}}, o)
			options := short()
			change(&options)
			h := mustFit(t, m, d, options)
			return weightsOf(t, m), h
		}
		_, want := run(false, func(*Options) {})
		weights, got := run(true, func(*Options) {})
		for k, e := range got.Evaluations {
			if w := want.Evaluations[k]; math.Abs(e.Loss-w.Loss) > 1e-4*math.Abs(w.Loss) || math.Abs(e.Valid-w.Valid) > 0.02 {
				t.Fatalf("%+v: evaluation %d is %+v, of dense features %+v", o, k, e, w)
			}
		}
		again, _ := run(true, func(o *Options) { o.Workers = 3 })
		if !slices.Equal(again, weights) {
			t.Errorf("%+v: other weights with 3 workers", o)
		}
		run(false, func(o *Options) { o.Dir, o.MaxBatches = dir, 30 })
		run(true, func(o *Options) { o.Dir, o.Resume = dir, true })
	}
	if Fingerprint(thinnedData(t, true)) != Fingerprint(thinnedData(t, false)) {
		t.Error("the fingerprint depends on the form of the features")
	}
	if _, err := NewPartition(ranks.NewLocal(2)[0], thinnedData(t, true), false); err == nil || !strings.Contains(err.Error(), "sparse=0") {
		t.Errorf("a partition: %v", err)
	}
}
