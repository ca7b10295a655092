package train

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/full"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/score"
)

// Predict returns m's logits for nodes, computed over full neighbourhoods:
// (len(nodes), outputs), row-major, in the order of nodes, which may repeat. It uses the model's
// Inference if there is one, and otherwise compiles the model. Nothing of the model changes, so
// calls for one model may work side by side, unless an op of a user's own holds state.
func Predict(ctx context.Context, m Model, d *datasets.Data, nodes []int32) (logits []float32, err error) {
	if err := checkParts(d); err != nil {
		return nil, err
	}
	parts, err := partsOf(m)
	if err != nil {
		return nil, err
	}
	compiled, err := compileWithout(parts)
	if err != nil {
		return nil, err
	}
	return predict(ctx, parts, compiled, d, nodes)
}

// compileWithout is compileFull for a model without Inference of its own, and nil for others.
func compileWithout(m *layers.Model) (*full.Model, error) {
	if m.Inference != nil {
		return nil, nil
	}
	return compileFull(m)
}

// compileFull compiles the graph of m for full neighbourhoods.
func compileFull(m *layers.Model) (compiled *full.Model, err error) {
	defer recovered(&err, "train: compiling the model for full neighbourhoods")
	if compiled, err = m.Batch.Full(m.Logits); err != nil {
		return nil, fmt.Errorf("train: compiling the model for full neighbourhoods: %w", err)
	}
	return compiled, nil
}

// Evaluate returns the data set's metric of m on nodes: score.Of the logits of Predict.
func Evaluate(ctx context.Context, m Model, d *datasets.Data, nodes []int32) (float64, error) {
	logits, err := Predict(ctx, m, d, nodes)
	if err != nil {
		return 0, err
	}
	return score.Of(d.Metric, logits, d.Labels, nodes)
}

// predict is Predict with the result of compileWithout.
func predict(ctx context.Context, m *layers.Model, compiled *full.Model, d *datasets.Data, nodes []int32) (logits []float32, err error) {
	if len(nodes) == 0 {
		return nil, nil // for an Inferencer, nil means all nodes
	}
	if compiled == nil {
		logits, err = m.Inference.Infer(ctx, d.Laplacian(), d.Features, nodes)
	} else if logits, err = compiled.Infer(ctx, full.Call{P: d.Laplacian(), Nodes: nodes}); err != nil {
		err = fmt.Errorf("train: inference: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if want := len(nodes) * d.Labels.Outputs(); len(logits) != want {
		return nil, fmt.Errorf("train: the model gives %d logits for %d nodes, want %d", len(logits), len(nodes), want)
	}
	return logits, nil
}
