package study

import (
	"context"
	"errors"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/train"
)

// FeaturesAlone measures how well the features of a data set predict its labels without
// the graph. It trains the paper's model on the same data without edges: P is then the
// identity, and the model is a perceptron with two hidden layers and a classifier.
type FeaturesAlone struct {
	Data    *datasets.Data
	Hidden  int           // width of the two hidden layers; 0 means 256
	Runs    int           // with seeds Options.Seed, Options.Seed+1, …; 0 means 1
	Options train.Options // of each run; the zero value is the paper's protocol
}

// FeaturesTable is the outcome of FeaturesAlone.
type FeaturesTable struct {
	Metric     string        `json:"metric"`
	Parameters int           `json:"parameters"`
	Rows       []FeaturesRow `json:"rows"` // one a run

	TestMean Number `json:"test_mean"`
	TestStd  Number `json:"test_std"` // unbiased; 0 for one run
	TestSEM  Number `json:"test_sem"`
}

// FeaturesRow is one run.
type FeaturesRow struct {
	Seed      uint64 `json:"seed" show:"seed"`
	BestValid Number `json:"best_valid" show:"best valid|%.4f"`
	Test      Number `json:"test" show:"test|%.4f"` // with the weights of the best validation score
	Batches   int    `json:"batches" show:"batches"`
	BestBatch int    `json:"best_batch"`
	Stop      string `json:"stop"`
}

// Run trains the model. When ctx ends, it returns ctx's error.
func (f FeaturesAlone) Run(ctx context.Context) (*FeaturesTable, error) {
	if ctx == nil || f.Data == nil || f.Runs < 0 {
		return nil, errors.New("study: features alone need a context, data and a number of runs")
	}
	data := withoutEdges(f.Data)
	t := &FeaturesTable{Metric: string(data.Metric)}
	var tests []float64
	for run := range max(f.Runs, 1) {
		o := f.Options
		o.Seed += uint64(run)
		model, err := Candidate{Method: "full"}.model(data, nil, 2, layers.GCNOptions{Hidden: f.Hidden, Seed: o.Seed})
		if err != nil {
			return nil, err
		}
		history, err := train.Fit(ctx, model, data, o)
		if err != nil {
			return nil, err
		}
		t.Parameters = history.Parameters
		t.Rows = append(t.Rows, FeaturesRow{
			Seed: o.Seed, BestValid: Number(history.Best), Test: Number(history.Test),
			Batches: history.Batches, BestBatch: history.BestBatch, Stop: history.Stop,
		})
		tests = append(tests, history.Test)
	}
	s := NewSpread(tests)
	t.TestMean, t.TestStd, t.TestSEM = Number(s.Mean), Number(s.SD), Number(s.SEM)
	return t, nil
}

// withoutEdges returns the data with a graph without edges. It shares the other parts.
func withoutEdges(d *datasets.Data) *datasets.Data {
	n := d.Nodes()
	return &datasets.Data{
		Name:  d.Name + " without edges",
		Graph: &graph.CSR{Rows: n, Cols: n, Ptr: make([]int64, n+1)}, Features: d.Features, Labels: d.Labels,
		Split: d.Split, Metric: d.Metric,
	}
}
