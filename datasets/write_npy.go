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
	a, x, y := d.Graph, d.Features, d.Labels
	var files []output
	add := func(name string, write func(io.Writer) error) {
		files = append(files, output{filepath.Join(dir, name), write})
	}
	if a.Val != nil {
		add("data.npy", arrayOf(a.Val[:a.NNZ()], int(a.NNZ())))
	}
	if names := d.NodeNames; names != nil {
		add("names.npy", func(w io.Writer) error { return npy.WriteTexts(w, names.Len(), names.At) })
	}
	if y.Names != nil {
		add("classes.npy", func(w io.Writer) error { return npy.WriteTexts(w, len(y.Names), y.Name) })
	}
	for k, ids := range d.Split.parts() {
		add(partNames()[k]+".npy", arrayOf(int64s(ids), len(ids)))
	}
	if y.Tasks > 0 {
		add("labels.npy", arrayOf(y.Multi, y.Nodes(), y.Tasks))
	} else {
		add("labels.npy", arrayOf(int64s(y.Class), len(y.Class)))
	}
	if x.Sparse != nil {
		add("feat.npz", func(w io.Writer) error { return writeSciPy(w, x.Sparse) })
	} else {
		add("feat.npy", func(w io.Writer) error {
			if err := npy.WriteHeader[float32](w, x.Rows, x.Cols); err != nil {
				return err
			}
			return eachPiece(x, func(values []float32) error { return cmp.Or(ctx.Err(), npy.WriteValues(w, values)) })
		})
	}
	add("indices.npy", arrayOf(a.Idx[:a.NNZ()], int(a.NNZ())))
	add("indptr.npy", arrayOf(a.Ptr, len(a.Ptr)))
	err := os.MkdirAll(dir, 0o755)
	for _, name := range []string{"indptr.npy", "data.npy", "feat.npy", "feat.npz", "names.npy", "classes.npy"} { // without the first the folder cannot be opened
		if stale := os.Remove(filepath.Join(dir, name)); err == nil && !errors.Is(stale, fs.ErrNotExist) {
			err = stale
		}
	}
	for _, file := range files {
		if err != nil || ctx.Err() != nil {
			break
		}
		err = atomicfile.Write(file.path, func(w io.Writer) error {
			buffered := bufio.NewWriterSize(w, 1<<20)
			return cmp.Or(file.write(buffered), buffered.Flush())
		})
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

// output is a file of a folder.
type output struct {
	path  string
	write func(io.Writer) error
}

// writeSciPy writes a matrix as scipy.sparse.save_npz does.
func writeSciPy(w io.Writer, m *graph.CSR) error {
	values := m.Val
	if values == nil {
		values = slices.Repeat([]float32{1}, int(m.NNZ()))
	}
	z := zip.NewWriter(w)
	for _, member := range []output{
		{"indices", arrayOf(m.Idx[:m.NNZ()], int(m.NNZ()))},
		{"indptr", arrayOf(m.Ptr, len(m.Ptr))},
		{"format", func(w io.Writer) error { return npy.WriteText(w, "csr") }},
		{"shape", arrayOf([]int64{int64(m.Rows), int64(m.Cols)}, 2)},
		{"data", arrayOf(values[:m.NNZ()], int(m.NNZ()))},
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: member.path + ".npy", Method: zip.Store}) // without a date: the same bytes each time
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
