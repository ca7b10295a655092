package datasets

import (
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

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
	if err := d.validate(ctx); err != nil {
		return err
	}
	if err := d.checkLabelled(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	// Without its first file the folder cannot be opened.
	for _, name := range []string{"indptr.npy", "data.npy", "feat.npy", "feat.npz", "names.npy", "classes.npy"} {
		if err := os.Remove(at(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("datasets: %w", err)
		}
	}
	a, x, y := d.Graph, d.Features, d.Labels
	labels := writeArray(widened(y.Class), len(y.Class))
	if y.Tasks > 0 {
		labels = writeArray(y.Multi, len(y.Multi)/y.Tasks, y.Tasks)
	}
	type file struct {
		name  string
		write func(io.Writer) error
	}
	features := file{"feat.npy", func(w io.Writer) error { return writeArray(x.Float32s(), x.Rows, x.Cols)(w) }}
	if x.Sparse != nil {
		features = file{"feat.npz", func(w io.Writer) error { return writeSciPy(w, x.Sparse) }}
	}
	var files []file
	if a.Val != nil {
		files = append(files, file{"data.npy", writeArray(a.Val[:a.NNZ()], int(a.NNZ()))})
	}
	if names := d.NodeNames; names != nil {
		files = append(files, file{"names.npy", writeTextArray(names.Len(), names.At)})
	}
	if y.Names != nil {
		files = append(files, file{"classes.npy", writeTextArray(len(y.Names), y.Name)})
	}
	files = append(files, []file{
		{"train.npy", writeArray(widened(d.Split.Train), len(d.Split.Train))},
		{"valid.npy", writeArray(widened(d.Split.Valid), len(d.Split.Valid))},
		{"test.npy", writeArray(widened(d.Split.Test), len(d.Split.Test))},
		{"labels.npy", labels},
		features,
		{"indices.npy", writeArray(a.Idx[:a.NNZ()], int(a.NNZ()))},
		{"indptr.npy", writeArray(a.Ptr, len(a.Ptr))},
	}...)
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := atomicfile.Write(at(file.name), file.write); err != nil {
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
	return writeArchive(w, time.Time{}, []member{
		{"indices", writeArray(m.Idx[:m.NNZ()], int(m.NNZ()))},
		{"indptr", writeArray(m.Ptr, len(m.Ptr))},
		{"format", func(w io.Writer) error { return npy.WriteText(w, "csr") }},
		{"shape", writeArray([]int64{int64(m.Rows), int64(m.Cols)}, 2)},
		{"data", writeArray(values[:m.NNZ()], int(m.NNZ()))},
	})
}

// widened returns ids as int64, the type that NumPy programs index with.
func widened(ids []int32) []int64 {
	wide := make([]int64, len(ids))
	for k, id := range ids {
		wide[k] = int64(id)
	}
	return wide
}

func writeTextArray(n int, text func(k int) string) func(io.Writer) error {
	return func(w io.Writer) error {
		buffered := bufio.NewWriterSize(w, 1<<20)
		if err := npy.WriteTexts(buffered, n, text); err != nil {
			return err
		}
		return buffered.Flush()
	}
}

func writeArray[T npy.Element](values []T, shape ...int) func(io.Writer) error {
	return func(w io.Writer) error {
		buffered := bufio.NewWriterSize(w, 1<<20)
		if err := npy.Write(buffered, values, shape...); err != nil {
			return err
		}
		return buffered.Flush()
	}
}

// member is an array of an archive.
type member struct {
	key   string
	write func(io.Writer) error
}

// writeArchive writes a .npz file, not compressed. The same arrays and date give the same
// bytes. With the zero time, the members have no date.
func writeArchive(w io.Writer, modified time.Time, members []member) error {
	buffered := bufio.NewWriterSize(w, 1<<20)
	z := zip.NewWriter(buffered)
	for _, m := range members {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m.key + ".npy", Method: zip.Store, Modified: modified})
		if err == nil {
			err = m.write(w)
		}
		if err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return buffered.Flush()
}
