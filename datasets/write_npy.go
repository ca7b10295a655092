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
	"iter"
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
		add(partNames()[k]+".npy", func(w io.Writer) error { return writeMade(ctx, w, widened(ids), len(ids)) })
	}
	if y.Tasks > 0 {
		add("labels.npy", arrayOf(y.Multi, y.Nodes(), y.Tasks))
	} else {
		add("labels.npy", func(w io.Writer) error { return writeMade(ctx, w, widened(y.Class), len(y.Class)) })
	}
	if x.Sparse != nil {
		add("feat.npz", func(w io.Writer) error { return writeSciPy(w, x.Sparse) })
	} else {
		add("feat.npy", func(w io.Writer) error { return writeFeatures(ctx, w, x) })
	}
	add("indices.npy", arrayOf(a.Idx[:a.NNZ()], int(a.NNZ())))
	add("indptr.npy", arrayOf(a.Ptr, len(a.Ptr)))
	return writeFolder(ctx, dir, []string{"indptr.npy", "data.npy", "feat.npy", "feat.npz", "names.npy", "classes.npy"}, files)
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

// writeFolder writes files below dir, one after the other. It first removes the stale ones; without the
// first of them the folder cannot be opened.
func writeFolder(ctx context.Context, dir string, stale []string, files []output) error {
	for _, name := range stale {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("datasets: %w", err)
		}
	}
	for _, file := range files {
		err := cmp.Or(ctx.Err(), os.MkdirAll(filepath.Dir(file.path), 0o755))
		if err == nil {
			err = atomicfile.Write(file.path, func(w io.Writer) error {
				buffered := bufio.NewWriterSize(w, 1<<20)
				if err := file.write(buffered); err != nil {
					return err
				}
				return buffered.Flush()
			})
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("datasets: %w", err)
		}
	}
	return nil
}

// writeSciPy writes a matrix as scipy.sparse.save_npz does.
func writeSciPy(w io.Writer, m *graph.CSR) error {
	values := m.Val
	if values == nil {
		values = slices.Repeat([]float32{1}, int(m.NNZ()))
	}
	return writeArchive(w, []output{
		{"indices", arrayOf(m.Idx[:m.NNZ()], int(m.NNZ()))},
		{"indptr", arrayOf(m.Ptr, len(m.Ptr))},
		{"format", func(w io.Writer) error { return npy.WriteText(w, "csr") }},
		{"shape", arrayOf([]int64{int64(m.Rows), int64(m.Cols)}, 2)},
		{"data", arrayOf(values[:m.NNZ()], int(m.NNZ()))},
	})
}

// widened yields ids as int64, the type that NumPy programs index with.
func widened(ids []int32) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for _, id := range ids {
			if !yield(int64(id)) {
				return
			}
		}
	}
}

func arrayOf[T npy.Element](values []T, shape ...int) func(io.Writer) error {
	return func(w io.Writer) error { return npy.Write(w, values, shape...) }
}

// writeMade writes an array of values that are made one by one.
func writeMade[T npy.Element](ctx context.Context, w io.Writer, values iter.Seq[T], shape ...int) error {
	if err := npy.WriteHeader[T](w, shape...); err != nil {
		return err
	}
	piece := make([]T, 0, 1<<13)
	for v := range values {
		if piece = append(piece, v); len(piece) < cap(piece) {
			continue
		}
		if err := cmp.Or(ctx.Err(), npy.WriteValues(w, piece)); err != nil {
			return err
		}
		piece = piece[:0]
	}
	return npy.WriteValues(w, piece)
}

// writeFeatures writes features as a dense array of float32.
func writeFeatures(ctx context.Context, w io.Writer, x *graph.Features) error {
	if err := npy.WriteHeader[float32](w, x.Rows, x.Cols); err != nil {
		return err
	}
	return eachPiece(x, func(values []float32) error { return cmp.Or(ctx.Err(), npy.WriteValues(w, values)) })
}

// writeArchive writes a .npz file, not compressed. The path of a member is its key. The same
// arrays give the same bytes: the members have no date.
func writeArchive(w io.Writer, members []output) error {
	z := zip.NewWriter(w)
	for _, m := range members {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m.path + ".npy", Method: zip.Store})
		if err == nil {
			err = m.write(w)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}
