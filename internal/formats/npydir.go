package formats

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// NPYFolder reads a folder of NumPy files: indptr.npy, indices.npy, feat.npy and
// labels.npy. If split is true, it reads train.npy, valid.npy and test.npy too;
// the set has no split where all three are missing.
func NPYFolder(ctx context.Context, path string, split bool) (*Set, error) {
	dir := folder(path)
	ptr, err := readInt64s(ctx, dir, "indptr")
	if err != nil {
		return nil, err
	}
	idx, err := readInt32s(ctx, dir, "indices")
	if err != nil {
		return nil, err
	}
	d := &Set{}
	p := pattern{name: path, files: dir.path, ptr: ptr, idx: idx}
	if err := p.adjacency(ctx, d); err != nil {
		return nil, err
	}
	if d.Features, err = readMatrix(ctx, dir, "feat", d.nodes()); err != nil {
		return nil, err
	}
	if d.Labels, err = readLabels(ctx, dir, "labels", d.nodes()); err != nil {
		return nil, err
	}
	if split {
		err = dir.readSplit(ctx, d)
	}
	return d, err
}

// readSplit reads the three id files, unless all are missing.
func (dir folder) readSplit(ctx context.Context, d *Set) error {
	s := &Split{}
	missing := 0
	for _, name := range partNames {
		if _, err := os.Stat(dir.path(name)); errors.Is(err, fs.ErrNotExist) {
			missing++
		}
	}
	if missing == len(partNames) {
		return nil
	}
	for k, part := range s.parts() {
		var err error
		if *part, err = readIDs(ctx, dir, partNames[k], d.nodes()); err != nil {
			return err
		}
	}
	d.Split = s
	return nil
}
