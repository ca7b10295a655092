package datasets

import (
	"archive/zip"
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

// WriteNumPy writes a data set as a folder of NumPy files, which npy: reads:
// indptr, indices, feat, labels, train, valid and test, .npy each. Sparse features are in
// feat.npz, which scipy.sparse.load_npz reads. Reading the folder gives the same graph,
// features, labels and split. It gives the usual metric of the labels; any other needs the
// key metric. Features in half precision are written, and come back, as float32. The
// weights of a weighted graph are in data.npy, the ids of nodes in names.npy, and the names
// of classes in classes.npy. Each of these three is removed if the data have none. Data
// without labels are an error. The data are validated before the first file is replaced.
// Each file appears whole or not at all, and the folder opens only once all have.
func WriteNumPy(ctx context.Context, dir string, d *Data) error {
	if err := d.checkWritable(ctx); err != nil {
		return err
	}
	a, x, y, names := d.Graph, d.Features, d.Labels, d.NodeNames
	labels := arrayOf(int64s(y.Class), len(y.Class))
	if y.Tasks > 0 {
		labels = arrayOf(y.Multi, y.Nodes(), y.Tasks)
	}
	files := []output{
		{"indptr", true, arrayOf(a.Ptr, len(a.Ptr))}, // without it the folder cannot be opened: it is removed first, and written last
		{"indices", true, arrayOf(a.Idx, len(a.Idx))},
		{"data", a.Val != nil, arrayOf(a.Val, len(a.Val))},
		{"feat", x.Sparse == nil, func(w io.Writer) error {
			if err := npy.WriteHeader[float32](w, x.Rows, x.Cols); err != nil {
				return err
			}
			return eachPiece(x, func(values []float32) error { return cmp.Or(ctx.Err(), npy.WriteValues(w, values)) })
		}},
		{"labels", true, labels},
		{"names", names != nil, func(w io.Writer) error { return npy.WriteTexts(w, names.Len(), names.At) }},
		{"classes", y.Names != nil, func(w io.Writer) error { return npy.WriteTexts(w, len(y.Names), y.Name) }},
	}
	for k, ids := range d.Split.parts() {
		files = append(files, output{partNames()[k], true, arrayOf(int64s(ids), len(ids))})
	}
	for k := range files {
		files[k].name += ".npy"
	}
	files = append(files, output{"feat.npz", x.Sparse != nil, func(w io.Writer) error { return writeSciPy(w, x.Sparse) }})
	err := os.MkdirAll(dir, 0o755)
	for k, file := range files {
		if k > 0 && file.there {
			continue
		}
		if stale := os.Remove(filepath.Join(dir, file.name)); err == nil && !errors.Is(stale, fs.ErrNotExist) {
			err = stale
		}
	}
	for _, file := range slices.Backward(files) {
		if err = cmp.Or(ctx.Err(), err); err == nil && file.there {
			err = atomicfile.Write(filepath.Join(dir, file.name), func(w io.Writer) error {
				buffered := bufio.NewWriterSize(w, 1<<20)
				return cmp.Or(file.write(buffered), buffered.Flush())
			})
		}
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("datasets: %w", err)
	}
	return cmp.Or(ctx.Err(), err)
}

func partNames() [3]string { return [...]string{"train", "valid", "test"} }

// checkWritable reports data that the writers do not take: invalid ones, or without labels.
func (d *Data) checkWritable(ctx context.Context) error {
	if d == nil || d.file == nil { // else opening the store has checked it
		if err := d.validate(ctx); err != nil {
			return err
		}
	}
	return d.checkLabelled()
}

// output is a file of a folder, or of an archive.
type output struct {
	name  string
	there bool
	write func(io.Writer) error
}

// writeSciPy writes a matrix as scipy.sparse.save_npz does.
func writeSciPy(w io.Writer, m *graph.CSR) error {
	values := m.Val
	if values == nil {
		values = slices.Repeat([]float32{1}, len(m.Idx))
	}
	z := zip.NewWriter(w)
	for _, member := range []output{
		{"indices", true, arrayOf(m.Idx, len(m.Idx))},
		{"indptr", true, arrayOf(m.Ptr, len(m.Ptr))},
		{"format", true, func(w io.Writer) error { return npy.WriteText(w, "csr") }},
		{"shape", true, arrayOf([]int64{int64(m.Rows), int64(m.Cols)}, 2)},
		{"data", true, arrayOf(values, len(values))},
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: member.name + ".npy", Method: zip.Store}) // without a date: the same bytes each time
		if err == nil {
			err = member.write(w)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

// int64s returns ids as int64, the type that NumPy programs index with.
func int64s(ids []int32) []int64 {
	wide := make([]int64, len(ids))
	for k, id := range ids {
		wide[k] = int64(id)
	}
	return wide
}

func arrayOf[T npy.Element](values []T, shape ...int) func(io.Writer) error {
	return func(w io.Writer) error { return npy.Write(w, values, shape...) }
}
