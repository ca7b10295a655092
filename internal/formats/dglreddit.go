package formats

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/internal/npy"
)

// DGLReddit reads Reddit as DGL and PyG ship it: reddit_data.npz with feature,
// label and node_types (1 train, 2 valid, 3 test), and reddit_graph.npz, a SciPy
// matrix. It reads the split only if o.Split is true. DGL and PyG train on the
// features as they are; GraphSAGE and GraphSAINT standardise them.
func DGLReddit(ctx context.Context, dir string, o Options) (*Set, error) {
	d := &Set{Direction: o.Direction}
	if err := readSciPyGraph(ctx, filepath.Join(dir, "reddit_graph.npz"), d, o); err != nil {
		return nil, err
	}
	a, err := npy.OpenArchive(filepath.Join(dir, "reddit_data.npz"))
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if d.Features, err = readMatrix(ctx, a, "feature", d.nodes()); err != nil {
		return nil, err
	}
	if d.Labels, err = readLabels(ctx, a, "label", d.nodes()); err != nil {
		return nil, err
	}
	if o.Split {
		err = readNodeTypes(ctx, a, d)
	}
	return d, err
}

// readNodeTypes reads which part of the split each node belongs to.
func readNodeTypes(ctx context.Context, a *npy.Archive, d *Set) error {
	kinds, err := readInt32s(ctx, a, "node_types")
	if err != nil {
		return err
	}
	if len(kinds) != d.nodes() {
		return fmt.Errorf("datasets: %s: node_types: %d for %d nodes", a.Name(), len(kinds), d.nodes())
	}
	d.Split = &Split{}
	for i, kind := range kinds {
		if kind < 1 || kind > 3 {
			return fmt.Errorf("datasets: %s: node_types: node %d is of type %d, want 1, 2 or 3", a.Name(), i, kind)
		}
		part := d.Split.parts()[kind-1]
		*part = append(*part, int32(i))
	}
	return nil
}
