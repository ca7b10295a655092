package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/full"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/train"
)

// FeaturesAlone measures how well the features of a data set predict its labels without
// convolutions. It trains the paper's model on the same data without edges: P is then the
// identity, and the model is a perceptron with two hidden layers and a classifier. With hops,
// it reads [X, PX, …, P^k·X], as SIGN does (Frasca et al. 2020, arXiv:2004.11198): then the
// graph is in the features, and training costs what it costs without a graph.
type FeaturesAlone struct {
	Data    *datasets.Data
	Hops    []int         `default:"[0]"` // an input [X, …, P^k·X] for each k; the default is the features alone
	Hidden  int           // width of the two hidden layers; 0 means 256
	Runs    int           `default:"1" least:"1"` // of each input, with seeds Options.Seed, Options.Seed+1, …
	Options train.Options // of each run; the zero value is the paper's protocol, but EvalEvery of 0 means train.EvaluationInterval

	// Model, if not nil, makes a model of Data with the given seed, to compare with. It is
	// trained with the same options. Trained is such a model with weights of its own, which is
	// only scored. Their rows have the input "GCN".
	Model   func(ctx context.Context, seed uint64) (*layers.GCN, error)
	Trained *layers.GCN
}

// FeaturesTable is the outcome of FeaturesAlone.
type FeaturesTable struct {
	Metric string         `json:"metric"`
	Rows   []FeaturesRow  `json:"rows"`  // one a run
	Means  []FeaturesMean `json:"means"` // one an input
}

// FeaturesRow is one run.
type FeaturesRow struct {
	Input     string  `json:"input" show:"input"` // "X", "X PX", "X PX P2X", … or "GCN"
	Seed      uint64  `json:"seed" show:"seed"`
	BestValid float64 `json:"best_valid" show:"best valid|%.4f"`
	Test      float64 `json:"test" show:"test|%.4f"` // with the weights of the best validation score
	Batches   int     `json:"batches" show:"batches"`
	BestBatch int     `json:"best_batch"`
	Stop      string  `json:"stop"`
}

// FeaturesMean is the mean over the runs of an input.
type FeaturesMean struct {
	Input      string  `json:"input"`
	Parameters int     `json:"parameters"`
	Valid      float64 `json:"best_valid_mean"`
	Test       float64 `json:"test_mean"`
	TestStd    float64 `json:"test_std"` // unbiased; 0 for one run
	TestSEM    float64 `json:"test_sem"`
}

// Run trains the models. When ctx ends, it returns ctx's error. Memory: 4 bytes a node,
// feature and power of P up to the largest of Hops, and as much again while they are joined.
func (f FeaturesAlone) Run(ctx context.Context) (*FeaturesTable, error) {
	if err := setDefaults(&f); err != nil {
		return nil, err
	}
	if f.Data == nil || len(f.Hops) == 0 || slices.Min(f.Hops) < 0 {
		return nil, errors.New("study: features alone need data, and numbers of hops from 0")
	}
	t := &FeaturesTable{Metric: string(f.Data.Metric)}
	powers, input := []*graph.Features{f.Data.Features}, "X" // P^k·X
	for k := range slices.Max(f.Hops) + 1 {
		if k > 0 {
			px, err := full.Propagate(ctx, f.Data.Laplacian(), powers[k-1], nil)
			if err != nil {
				return nil, fmt.Errorf("study: %d hops: %w", k, err)
			}
			powers, input = append(powers, px), input+strings.Replace(fmt.Sprintf(" P%dX", k), "P1X", "PX", 1)
		}
		if !slices.Contains(f.Hops, k) {
			continue
		}
		x, err := beside(powers)
		if err != nil {
			return nil, err
		}
		data := withoutEdges(f.Data, x)
		err = f.train(ctx, t, input, data, func(_ context.Context, seed uint64) (*layers.GCN, error) {
			return Candidate{Method: "full"}.model(data, nil, 2, layers.GCNOptions{Hidden: f.Hidden, Seed: seed})
		})
		if err != nil {
			return nil, err
		}
	}
	if f.Model != nil {
		if err := f.train(ctx, t, "GCN", f.Data, f.Model); err != nil {
			return nil, err
		}
	}
	if f.Trained == nil {
		return t, nil
	}
	valid, err := train.Evaluate(ctx, f.Trained, f.Data, f.Data.Split.Valid)
	test, testErr := train.Evaluate(ctx, f.Trained, f.Data, f.Data.Split.Test)
	t.Rows = append(t.Rows, FeaturesRow{Input: "GCN", BestValid: valid, Test: test})
	t.Means = append(t.Means, FeaturesMean{Input: "GCN", Valid: valid, Test: test})
	return t, cmp.Or(err, testErr)
}

// train adds the rows and the mean of one input.
func (f FeaturesAlone) train(ctx context.Context, t *FeaturesTable, input string, data *datasets.Data, model func(context.Context, uint64) (*layers.GCN, error)) error {
	parameters, first := 0, len(t.Rows)
	for run := range f.Runs {
		o := f.Options
		o.Seed += uint64(run)
		m, err := model(ctx, o.Seed)
		if err != nil {
			return err
		}
		if o.EvalEvery == 0 {
			if o.EvalEvery, _, err = train.EvaluationInterval(ctx, m, data, o); err != nil {
				return err
			}
		}
		history, err := train.Fit(ctx, m, data, o)
		if err != nil {
			return err
		}
		parameters = history.Parameters
		t.Rows = append(t.Rows, FeaturesRow{
			Input: input, Seed: o.Seed, BestValid: history.Best, Test: history.Test,
			Batches: history.Batches, BestBatch: history.BestBatch, Stop: history.Stop,
		})
	}
	valid := SpreadOf(t.Rows[first:], func(r FeaturesRow) float64 { return r.BestValid })
	test := SpreadOf(t.Rows[first:], func(r FeaturesRow) float64 { return r.Test })
	t.Means = append(t.Means, FeaturesMean{input, parameters, valid.Mean, test.Mean, test.SD, test.SEM})
	return nil
}

// beside returns the matrices side by side, the first one itself if it is alone.
func beside(parts []*graph.Features) (*graph.Features, error) {
	first := parts[0]
	if len(parts) == 1 {
		return first, nil
	}
	width := len(parts) * first.Cols
	if err := memory.Check(fmt.Sprintf("features of %d hops", len(parts)-1), memory.Product(int64(first.Rows), int64(width), 4)); err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	joined := &graph.Features{Rows: first.Rows, Cols: width, Data: memory.Large[float32](first.Rows * width)}
	for k, x := range parts {
		for i := range x.Rows {
			copy(joined.Row(i)[k*first.Cols:], x.Row(i))
		}
	}
	return joined, nil
}

// withoutEdges returns the data with a graph without edges and the given features. It shares
// the other parts.
func withoutEdges(d *datasets.Data, x *graph.Features) *datasets.Data {
	n := d.Nodes()
	return &datasets.Data{
		Name:  d.Name + " without edges",
		Graph: &graph.CSR{Rows: n, Cols: n, Ptr: make([]int64, n+1)}, Features: x, Labels: d.Labels,
		Split: d.Split, Metric: d.Metric,
	}
}
