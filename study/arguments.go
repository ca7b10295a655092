package study

import (
	"context"
	"errors"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
)

// checkGraph checks the arguments that all studies of a graph share: the context,
// the Laplacian and lists of nodes. Cost: O(nodes of the graph).
func checkGraph(ctx context.Context, p *graph.Laplacian, nodes ...[]int32) error {
	if ctx == nil {
		return errors.New("study: the context is nil")
	}
	if p == nil {
		return errors.New("study: the Laplacian is nil")
	}
	if err := p.Validate(); err != nil {
		return fmt.Errorf("study: %w", err)
	}
	for _, list := range nodes {
		for k, i := range list {
			if i < 0 || int(i) >= p.Nodes() {
				return fmt.Errorf("study: node %d of the list is %d, outside [0, %d)", k, i, p.Nodes())
			}
		}
	}
	return nil
}

// checkProduct reports the first fault of the product HW of a graph of n nodes.
func checkProduct(hw *graph.Features, n int) error {
	switch {
	case hw == nil:
		return errors.New("study: the product HW is nil")
	case hw.Rows != n:
		return fmt.Errorf("study: HW has %d rows for %d nodes", hw.Rows, n)
	case hw.Half != nil:
		return errors.New("study: HW is in half precision, want single")
	case hw.Cols < 1 || len(hw.Data) != hw.Rows*hw.Cols:
		return fmt.Errorf("study: HW of %d×%d holds %d values", hw.Rows, hw.Cols, len(hw.Data))
	}
	return nil
}

// checkNorms checks the arguments of studies of norms: checkGraph's, the mini-batches, and
// layers with exactly one norm for each node.
func checkNorms(ctx context.Context, p *graph.Laplacian, layers []LayerNorms, nodes []int32, batch, batches int) error {
	if err := checkGraph(ctx, p, nodes); err != nil {
		return err
	}
	if len(layers) == 0 || batch < 1 || batches > 0 && len(nodes) == 0 {
		return fmt.Errorf("study: %d layers, and batches of %d of %d nodes: want at least 1 each", len(layers), batch, len(nodes))
	}
	for _, layer := range layers {
		if len(layer.Norms) != p.Nodes() {
			return fmt.Errorf("study: %s has %d row norms for %d nodes", layer.Name, len(layer.Norms), p.Nodes())
		}
	}
	return nil
}
