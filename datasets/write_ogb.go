package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

func convertToOGB(ctx context.Context, spec, dir string, o Options) (string, error) {
	d, err := Open(ctx, spec, o)
	if err != nil {
		return "", err
	}
	defer d.Close() // it was only read
	if err := WriteOGB(ctx, dir, d); err != nil {
		return "", err
	}
	return d.writtenSpec("ogb", dir), nil
}

// WriteOGB writes a data set as a folder in the binary layout of the Open Graph Benchmark,
// as ogbn-papers100M has it: raw/data.npz, raw/node-label.npz and split/given/*.csv.gz. An
// undirected edge is there once. Features in half precision are written as float32, sparse
// features as a dense matrix. Names of nodes and classes are not written. Reading the folder
// gives the usual metric of the labels; any other needs the key metric. It is an error if
// the graph has weights, if there are no labels, if there is a single binary task, which the
// layout cannot tell from two classes, or if dir holds another data set. The data are
// validated before the first file is replaced. The folder opens only once all files are
// there. Memory: a few MB.
func WriteOGB(ctx context.Context, dir string, d *Data) error {
	if err := checkContext(ctx); err != nil {
		return err
	}
	if err := d.complete(); err != nil {
		return err
	}
	if d.unmap == nil { // else opening the store has checked it
		if err := d.validate(ctx); err != nil {
			return err
		}
	}
	if err := d.checkLabelled(); err != nil {
		return err
	}
	fail := func(part string) error {
		return fmt.Errorf("datasets: %s: OGB's binary layout has no place for %s; want a store, or NumPy files", d.title(), part)
	}
	switch {
	case d.Graph.Val != nil:
		return fail("weights of edges")
	case d.Labels.Tasks == 1:
		return fail("a single binary task")
	}
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	if _, err := os.Stat(at("raw", "edge.csv.gz")); err == nil {
		return fmt.Errorf("datasets: %s: holds another data set, in OGB's text layout: not replaced", dir)
	}
	others, err := os.ReadDir(at("split"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("datasets: %w", err)
	}
	for _, e := range others {
		if e.Name() != "given" {
			return fmt.Errorf("datasets: %s: holds another data set, with a split %s: not replaced", dir, e.Name())
		}
	}
	for _, folder := range []string{at("raw"), at("split", "given")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("datasets: %w", err)
		}
	}
	// Without data.npz the folder cannot be opened.
	if err := os.Remove(at("raw", "data.npz")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("datasets: %w", err)
	}
	type file struct {
		path  string
		write func(io.Writer) error
	}
	var files []file
	modified := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) // the first date of a zip file
	for k, ids := range d.Split.parts() {
		name := [...]string{"train", "valid", "test"}[k] + ".csv.gz"
		files = append(files, file{at("split", "given", name), func(w io.Writer) error { return writeIDLines(w, ids) }})
	}
	files = append(files,
		file{at("raw", "node-label.npz"), func(w io.Writer) error {
			return writeArchive(w, modified, []member{{"node_label", func(w io.Writer) error { return writeLabels(w, d.Labels) }}})
		}},
		file{at("raw", "data.npz"), func(w io.Writer) error { return writeArchive(w, modified, ogbMembers(ctx, d)) }})
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := atomicfile.Write(file.path, file.write); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("datasets: %w", err)
		}
	}
	return nil
}

func writeIDLines(w io.Writer, ids []int32) error {
	z := gzip.NewWriter(w)
	var line []byte
	for _, id := range ids {
		line = append(strconv.AppendInt(line[:0], int64(id), 10), '\n')
		if _, err := z.Write(line); err != nil {
			return err
		}
	}
	return z.Close()
}

// writeLabels writes classes as a matrix of one column, or tasks.
func writeLabels(w io.Writer, y *graph.Labels) error {
	if y.Tasks > 0 {
		return npy.Write(w, y.Multi, y.Nodes(), y.Tasks)
	}
	if err := npy.WriteHeader[float32](w, len(y.Class), 1); err != nil {
		return err
	}
	values := make([]float32, 0, 1<<13)
	for i, class := range y.Class {
		if class < 0 {
			values = append(values, float32(math.NaN()))
		} else {
			values = append(values, float32(class))
		}
		if len(values) == cap(values) || i == len(y.Class)-1 {
			if err := npy.WriteValues(w, values); err != nil {
				return err
			}
			values = values[:0]
		}
	}
	return nil
}

// ogbMembers returns the arrays of data.npz.
func ogbMembers(ctx context.Context, d *Data) []member {
	n, x := d.Nodes(), d.Features
	edges := d.Edges()
	return []member{
		{"edge_index", func(w io.Writer) error {
			if err := npy.WriteHeader[int64](w, 2, int(edges)); err != nil {
				return err
			}
			if err := d.writeEnds(ctx, w, func(i, _ int32) int64 { return int64(i) }); err != nil {
				return err
			}
			return d.writeEnds(ctx, w, func(_, j int32) int64 { return int64(j) })
		}},
		{"node_feat", func(w io.Writer) error {
			if err := npy.WriteHeader[float32](w, n, x.Cols); err != nil {
				return err
			}
			if m := x.Sparse; m != nil { // a few dense rows at a time
				rows := max(featurePiece/x.Cols, 1)
				for lo := 0; lo < n; lo += rows {
					if err := ctx.Err(); err != nil {
						return err
					}
					hi := min(lo+rows, n)
					part := &graph.Features{Rows: hi - lo, Cols: x.Cols, Sparse: &graph.CSR{Rows: hi - lo, Cols: x.Cols, Ptr: m.Ptr[lo : hi+1], Idx: m.Idx, Val: m.Val}}
					if err := npy.WriteValues(w, part.Float32s()); err != nil {
						return err
					}
				}
				return nil
			}
			values := make([]float32, 0, featurePiece)
			for lo := 0; lo < x.Len(); lo += featurePiece {
				if err := ctx.Err(); err != nil {
					return err
				}
				hi := min(lo+featurePiece, x.Len())
				if x.Half != nil {
					values = values[:hi-lo]
					kernel.Widen(values, x.Half[lo:hi])
				} else {
					values = x.Data[lo:hi]
				}
				if err := npy.WriteValues(w, values); err != nil {
					return err
				}
			}
			return nil
		}},
		{"num_nodes_list", func(w io.Writer) error { return npy.Write(w, []int64{int64(n)}, 1) }},
		{"num_edges_list", func(w io.Writer) error { return npy.Write(w, []int64{edges}, 1) }},
	}
}

// writeEnds writes one end of each edge, in the order of the rows. An undirected edge counts
// in the row of its smaller node.
func (d *Data) writeEnds(ctx context.Context, w io.Writer, end func(i, j int32) int64) error {
	ends := make([]int64, 0, 1<<16)
	for i := range d.Nodes() {
		for _, j := range d.Graph.Row(i) {
			if !d.Directed && j < int32(i) {
				continue
			}
			if ends = append(ends, end(int32(i), j)); len(ends) < cap(ends) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := npy.WriteValues(w, ends); err != nil {
				return err
			}
			ends = ends[:0]
		}
	}
	return npy.WriteValues(w, ends)
}
