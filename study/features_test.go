package study_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gcn-layerwise/gcn/datasets"
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
	if got.TestMean < 0.75 || got.TestMean > 0.99 {
		t.Errorf("test accuracy %v", got.TestMean)
	}
	if len(got.Records()) != 2 || len(got.Records()[0]) != len(got.Header()) {
		t.Errorf("records %v under %v", got.Records(), got.Header())
	}
}

func TestFeaturesAloneErrors(t *testing.T) {
	if _, err := (study.FeaturesAlone{}).Run(t.Context()); err == nil {
		t.Error("no error without data")
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := (study.FeaturesAlone{Data: openSpec(t, "synth:demo?nodes=300")}).Run(stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}
