package datasets

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/internal/npy"
)

// dglRedditScheme reads Reddit as DGL and PyG ship it: reddit_data.npz with
// feature, label and node_types (1 train, 2 valid, 3 test), and
// reddit_graph.npz, a SciPy matrix. Features are left as they are, as DGL and PyG
// do; GraphSAGE and GraphSAINT use normalize=standardize.
func dglRedditScheme() Scheme {
	return Scheme{
		Name: "dgl-reddit", Path: "DIR",
		Summary: "DGL's reddit_data.npz and reddit_graph.npz",
		Keys:    fileKeys(),
		Open:    openDGLReddit,
	}
}

func openDGLReddit(ctx context.Context, spec *Spec) (*Data, error) {
	d := &Data{Metric: MicroF1}
	if err := readSciPyGraph(ctx, filepath.Join(spec.Path, "reddit_graph.npz"), d); err != nil {
		return nil, err
	}
	a, err := npy.OpenArchive(filepath.Join(spec.Path, "reddit_data.npz"))
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if d.Features, err = readMatrix(ctx, a, "feature", d.Nodes()); err != nil {
		return nil, err
	}
	if d.Labels, err = readLabels(ctx, a, "label", d.Nodes()); err != nil {
		return nil, err
	}
	own, err := ownSplit(spec)
	if err == nil && own {
		err = readNodeTypes(ctx, a, d)
	} else if err == nil {
		err = splitFromSpec(ctx, d, spec)
	}
	if err != nil {
		return nil, err
	}
	return d, finish(ctx, d, spec, "none")
}

// readNodeTypes reads the part of the split that each node is in.
func readNodeTypes(ctx context.Context, a *npy.Archive, d *Data) error {
	kinds, err := readInt32s(ctx, a, "node_types")
	if err != nil {
		return err
	}
	if len(kinds) != d.Nodes() {
		return fmt.Errorf("datasets: %s: node_types: %d for %d nodes", a.Name(), len(kinds), d.Nodes())
	}
	for i, kind := range kinds {
		switch kind {
		case 1:
			d.Split.Train = append(d.Split.Train, int32(i))
		case 2:
			d.Split.Valid = append(d.Split.Valid, int32(i))
		case 3:
			d.Split.Test = append(d.Split.Test, int32(i))
		default:
			return fmt.Errorf("datasets: %s: node_types: node %d is of type %d, want 1, 2 or 3", a.Name(), i, kind)
		}
	}
	return nil
}
