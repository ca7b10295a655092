package train

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/score"
)

// checkData returns an error if d cannot be trained on. It checks less than
// datasets.Open, which validates all data.
func checkData(d *datasets.Data) error {
	if err := checkParts(d); err != nil {
		return err
	}
	n := d.Nodes()
	if len(d.Split.Train) == 0 {
		return fmt.Errorf("train: the training set is empty")
	}
	for _, part := range []struct {
		name   string
		nodes  []int32
		scored bool
	}{{"training", d.Split.Train, false}, {"validation", d.Split.Valid, true}, {"test", d.Split.Test, true}} {
		for k, node := range part.nodes {
			if node < 0 || int(node) >= n {
				return fmt.Errorf("train: %s node %d is %d, outside [0, %d)", part.name, k, node, n)
			}
		}
		if part.scored && len(part.nodes) > 0 {
			if err := score.Scorable(d.Metric, d.Labels, part.nodes); err != nil {
				return fmt.Errorf("%w: the %s nodes need another split or metric", err, part.name)
			}
		}
	}
	return nil
}

// checkParts returns an error if a part of d is missing, or if sizes do not agree.
func checkParts(d *datasets.Data) error {
	if d == nil || d.Graph == nil || d.Features == nil || d.Labels == nil {
		return fmt.Errorf("train: data without a graph, features or labels")
	}
	if n := d.Nodes(); d.Labels.Nodes() != n || d.Features.Rows != n {
		return fmt.Errorf("train: graph of %d nodes, features of %d, labels of %d", n, d.Features.Rows, d.Labels.Nodes())
	}
	return nil
}
