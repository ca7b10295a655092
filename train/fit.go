package train

import (
	"context"

	"github.com/gcn-layerwise/gcn/datasets"
)

// Fit trains m on d and returns what it did.
func Fit(ctx context.Context, m Model, d *datasets.Data, o Options) (*History, error) { return nil, nil }

// Predict returns m's logits for nodes over full neighbourhoods, (len(nodes),
// outputs) row-major.
func Predict(ctx context.Context, m Model, d *datasets.Data, nodes []int32) ([]float32, error) {
	return nil, nil
}

// Evaluate returns the data set's metric of m on nodes.
func Evaluate(ctx context.Context, m Model, d *datasets.Data, nodes []int32) (float64, error) {
	return 0, nil
}

// LoadParameters sets m's parameters to those of a checkpoint file.
func LoadParameters(path string, m Model) (CheckpointInfo, error) { return CheckpointInfo{}, nil }

// CheckpointInfo is what a checkpoint says of itself.
type CheckpointInfo struct {
	Batch  int
	Best   float64 // validation score
	Seed   uint64
	Config map[string]any // Fit's settings and Options.Config
}
