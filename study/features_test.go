package study_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

func openSpec(t *testing.T, spec string) *datasets.Data {
	t.Helper()
	d, err := datasets.Open(t.Context(), spec, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Two data sets that differ only in their edges give the same numbers, and features
// without noise predict the classes.
func TestFeaturesAlone(t *testing.T) {
	f := study.FeaturesAlone{Hidden: 16, Runs: 2, Options: train.Options{Batch: 64, MaxBatches: 150, Seed: 3, Adam: train.Adam{LR: 0.01}}}
	tables := make([]*study.FeaturesTable, 2)
	for k, spec := range []string{"synth:demo?nodes=2000&noise=0&classes=4&homophily=0", "synth:demo?nodes=2000&noise=0&classes=4&homophily=0.9"} {
		f.Data = openSpec(t, spec)
		var err error
		if tables[k], err = f.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(tables[0], tables[1]); diff != "" {
		t.Errorf("the edges change the result: %s", diff)
	}
	got := tables[0]
	if len(got.Rows) != 2 || got.Rows[0].Seed != 3 || got.Rows[1].Seed != 4 || got.Rows[0].Test == got.Rows[1].Test {
		t.Errorf("rows %+v, want two runs with seeds 3 and 4", got.Rows)
	}
	if len(got.Means) != 1 || got.Means[0].Test < 0.75 || got.Means[0].Test > 0.99 {
		t.Errorf("test accuracy %+v", got.Means)
	}
	if l := got.List(); len(l.Records) != 2 || len(l.Records[0]) != len(l.Header) {
		t.Errorf("records %v under %v", l.Records, l.Header)
	}
}

// Where the features are noisy and neighbours have the class of a node, each hop adds to the score
// of a perceptron. Inputs follow one another by their hops, and a trained model has the scores of
// its own run.
func TestFeaturesOfHops(t *testing.T) {
	d := openSpec(t, "synth:demo?nodes=2000&edges=16000&noise=0.9&classes=4&homophily=0.9")
	newModel := func(_ context.Context, seed uint64) (*layers.GCN, error) {
		batch := layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: d.Laplacian(), Depth: 2})
		return layers.NewGCN(batch, d.Features, d.Labels, layers.GCNOptions{Hidden: 16, Seed: seed})
	}
	f := study.FeaturesAlone{
		Data: d, Hops: []int{2, 0, 1}, Hidden: 16, Model: newModel,
		Options: train.Options{Batch: 64, MaxBatches: 100, Seed: 3, Adam: train.Adam{LR: 0.01}},
	}
	got, err := f.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var inputs []string
	for k, m := range got.Means {
		if inputs = append(inputs, m.Input); m.Test != got.Rows[k].Test {
			t.Errorf("%s: the mean of one run is %v, the run %v", m.Input, m.Test, got.Rows[k].Test)
		}
	}
	if want := []string{"X", "X PX", "X PX P2X", "GCN"}; !cmp.Equal(inputs, want) {
		t.Fatalf("inputs %q, want %q", inputs, want)
	}
	if m := got.Means; m[1].Test < m[0].Test+0.1 || m[2].Test < m[1].Test+0.05 || m[2].Parameters-m[1].Parameters != 16*d.Features.Cols {
		t.Errorf("means %+v: want more by each hop, and 16 weights a feature", m)
	}
	f.Hops, f.Model = nil, nil
	if f.Trained, err = newModel(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if got, err = f.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want, err := train.Evaluate(t.Context(), f.Trained, d, d.Split.Test)
	if last := got.Rows[1]; err != nil || last.Input != "GCN" || float64(last.Test) != want {
		t.Errorf("trained model: %+v, %v; want %v", last, err, want)
	}
}

// The advice against a GCN needs a score of the features at least as good as all trials'.
func TestNeedsNoGCN(t *testing.T) {
	trials := []study.Trial{{Score: 0.7}, {Score: 0.8}}
	for _, c := range []struct {
		advice study.Advice
		want   bool
	}{
		{study.Advice{}, false},
		{study.Advice{Trials: trials}, false},
		{study.Advice{Alone: &study.FeaturesMean{Valid: 1}}, false},
		{study.Advice{Trials: trials, Alone: &study.FeaturesMean{Valid: 0.75}}, false},
		{study.Advice{Trials: trials, Alone: &study.FeaturesMean{Valid: math.NaN()}}, false},
		{study.Advice{Trials: trials, Alone: &study.FeaturesMean{Valid: 0.8}}, true},
	} {
		if got := c.advice.NeedsNoGCN(); got != c.want {
			t.Errorf("%+v: %v", c.advice, got)
		}
	}
}

func TestFeaturesAloneErrors(t *testing.T) {
	for _, f := range []study.FeaturesAlone{{}, {Data: openSpec(t, "synth:demo?nodes=300"), Hops: []int{1, -1}}} {
		if _, err := f.Run(t.Context()); err == nil {
			t.Errorf("no error for data %v and hops %v", f.Data, f.Hops)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := (study.FeaturesAlone{Data: openSpec(t, "synth:demo?nodes=300")}).Run(stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}
