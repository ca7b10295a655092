package datasets

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// npyScheme reads a folder of NumPy files: indptr.npy, indices.npy, feat.npy,
// labels.npy and, unless the SPEC asks for a random split, train.npy, valid.npy
// and test.npy.
func npyScheme() Scheme {
	return Scheme{
		Name: "npy", Path: "DIR",
		Summary: "NumPy files: indptr, indices, feat, labels, train, valid, test (.npy)",
		Keys:    fileKeys(),
		Open:    openNPY,
	}
}

func openNPY(ctx context.Context, spec *Spec) (*Data, error) {
	dir := folder(spec.Path)
	ptr, err := readInt64s(ctx, dir, "indptr")
	if err != nil {
		return nil, err
	}
	idx, err := readInt32s(ctx, dir, "indices")
	if err != nil {
		return nil, err
	}
	d := &Data{}
	p := pattern{name: spec.Path, files: dir.path, ptr: ptr, idx: idx}
	if err := p.adjacency(ctx, d); err != nil {
		return nil, err
	}
	if d.Features, err = readMatrix(ctx, dir, "feat", d.Nodes()); err != nil {
		return nil, err
	}
	if d.Labels, err = readLabels(ctx, dir, "labels", d.Nodes()); err != nil {
		return nil, err
	}
	d.Metric = metricFor(d.Labels)
	if err := dir.split(ctx, d, spec); err != nil {
		return nil, err
	}
	return d, finish(ctx, d, spec, "none")
}

// split reads the three id files, or deals a split at random where there are
// none or the SPEC asks for it.
func (dir folder) split(ctx context.Context, d *Data, spec *Spec) error {
	parts := []struct {
		key string
		to  *[]int32
	}{{"train", &d.Split.Train}, {"valid", &d.Split.Valid}, {"test", &d.Split.Test}}
	missing := 0
	for _, part := range parts {
		if _, err := os.Stat(dir.path(part.key)); errors.Is(err, fs.ErrNotExist) {
			missing++
		}
	}
	if missing == len(parts) {
		return splitFromSpec(ctx, d, spec)
	}
	if own, err := ownSplit(spec); err != nil {
		return err
	} else if !own {
		return splitFromSpec(ctx, d, spec)
	}
	for _, part := range parts {
		ids, err := readInt32s(ctx, dir, part.key)
		if err != nil {
			return err
		}
		if err := checkIDs(dir.path(part.key), ids, d.Nodes()); err != nil {
			return err
		}
		*part.to = ids
	}
	return nil
}
