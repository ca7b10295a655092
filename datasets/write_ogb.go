package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip"
)

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
	if err := d.checkWritable(ctx); err != nil {
		return err
	}
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	part := ""
	switch {
	case d.Graph.Val != nil:
		part = "weights of edges"
	case d.Labels.Tasks == 1:
		part = "a single binary task"
	}
	if part != "" {
		return fmt.Errorf("datasets: %s: OGB's binary layout has no place for %s; want a store, or NumPy files", d.title(), part)
	}
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
	var files []output
	for k, ids := range d.Split.parts() {
		files = append(files, output{at("split", "given", partNames()[k]+".csv.gz"), func(w io.Writer) error { return writeIDLines(w, ids) }})
	}
	modified := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) // the first date of a zip file
	x, y, edges := d.Features, d.Labels, int(d.Edges())
	label := func(w io.Writer) error { return writeMade(ctx, w, d.ogbClasses(), d.Nodes(), 1) }
	if y.Tasks > 0 {
		label = arrayOf(y.Multi, d.Nodes(), y.Tasks)
	}
	files = append(files, output{at("raw", "node-label.npz"), func(w io.Writer) error {
		return writeArchive(w, modified, []output{{"node_label", label}})
	}}, output{at("raw", "data.npz"), func(w io.Writer) error {
		return writeArchive(w, modified, []output{
			{"edge_index", func(w io.Writer) error { return writeMade(ctx, w, d.ends(), 2, edges) }},
			{"node_feat", func(w io.Writer) error { return writeFeatures(ctx, w, x) }},
			{"num_nodes_list", arrayOf([]int64{int64(d.Nodes())}, 1)},
			{"num_edges_list", arrayOf([]int64{int64(edges)}, 1)},
		})
	}})
	return writeFolder(ctx, dir, []string{filepath.Join("raw", "data.npz")}, files)
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

// ogbClasses yields the class of each node, NaN for none.
func (d *Data) ogbClasses() iter.Seq[float32] {
	return func(yield func(float32) bool) {
		for _, class := range d.Labels.Class {
			v := float32(class)
			if class < 0 {
				v = float32(math.NaN())
			}
			if !yield(v) {
				return
			}
		}
	}
}

// ends yields the first end of each edge in the order of the rows, then the second ends. An
// undirected edge counts in the row of its smaller node.
func (d *Data) ends() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for end := range 2 {
			for i := range d.Nodes() {
				for _, j := range d.Graph.Row(i) {
					if (d.Directed || j >= int32(i)) && !yield([...]int64{int64(i), int64(j)}[end]) {
						return
					}
				}
			}
		}
	}
}
