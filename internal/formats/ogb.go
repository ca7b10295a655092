package formats

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/internal/table"
)

// OGB reads an unzipped node-property folder of the Open Graph Benchmark
// (Hu et al. 2020, arXiv:2005.00687): raw/*.csv.gz and split/TYPE/*.csv.gz.
//
// Edges are symmetrised, whether the folder has both directions, only one
// (add_inverse_edge), or a directed graph. Without node features, a node gets the
// mean of the features of its edges, as in OGB's own baseline for ogbn-proteins. A
// heterogeneous folder (ogbn-mag) is reduced to the node type with labels and the
// relations from it to itself. The split is read, and must exist, only if o.Split is
// true.
//
// A folder in the binary layout has raw/data.npz instead: see OGBBinary.
func OGB(ctx context.Context, dir string, o Options) (*Set, error) {
	if b, err := OpenOGBBinary(ctx, dir, o); err != nil {
		return nil, err
	} else if b != nil {
		return readSet(ctx, b.data, Options{}, func(r *reader) { // the edges and the features, too
			r.Set = b.Set
			builder := newBuilder(b.data, b.Nodes, b.Edges)
			try(b.EachEdges(ctx, builder.AddEdges))
			r.build(builder)
			r.archive(b.data).dense("node_feat", b.Nodes)
		})
	}
	return readSet(ctx, dir, o, func(r *reader) {
		f := &ogbFolder{reader: r, dir: dir}
		n := f.find()
		f.readSplit(n)
		f.readLabels(n)
		if arcs := f.readEdges(n); f.nodeFeat != "" {
			f.Features = f.matrixLines(f.nodeFeat, n, "a finite number", featureCell)
		} else {
			f.Features = f.meanEdgeFeatures(arcs, n)
			f.note("features are the mean of the features of a node's edges (raw/edge-feat.csv.gz)")
		}
		if f.nodeType != "" {
			f.note("of several node types only %q, with %d relations to itself", f.nodeType, len(f.edges))
		}
	})
}

// ogbFolder holds the paths of the files of one folder.
type ogbFolder struct {
	*reader
	dir      string
	edges    []string // edge.csv.gz of each relation
	nodeFeat string
	label    string
	nodeType string // in a heterogeneous folder
}

func (f *ogbFolder) path(names ...string) string {
	return filepath.Join(f.dir, filepath.Join(names...))
}

// need returns the path of a file that must be there.
func (f *ogbFolder) need(names ...string) string {
	path := f.path(names...)
	check(exists(path), path, "incomplete OGB folder: %w", fs.ErrNotExist)
	return path
}

// find finds the files, and reads the number of nodes of the graph, or of the node type.
func (f *ogbFolder) find() (n int) {
	_, err := os.Stat(f.path("raw"))
	check(err == nil, f.dir, "no raw folder in it; want an unzipped OGB folder: %w", err)
	path := f.path("raw", "num-node-dict.csv.gz")
	if exists(path) {
		f.findHeterogeneous()
		n, _ = strconv.Atoi(f.named(path)[f.nodeType])
	} else {
		path = f.need("raw", "num-node-list.csv.gz")
		f.edges = []string{f.need("raw", "edge.csv.gz")}
		f.label = f.need("raw", "node-label.csv.gz")
		if exists(f.path("raw", "node-feat.csv.gz")) || !exists(f.path("raw", "edge-feat.csv.gz")) {
			f.nodeFeat = f.need("raw", "node-feat.csv.gz")
		}
		if list := f.ids(path, "a number", math.MaxInt32); len(list) == 1 {
			n = int(list[0])
		}
	}
	check(n > 0 && n <= math.MaxInt32, path, "not one number of nodes in [1, %d]", math.MaxInt32)
	return n
}

// findHeterogeneous finds the node type with labels and its relations to itself.
func (f *ogbFolder) findHeterogeneous() {
	path, triplets := f.need("raw", "nodetype-has-label.csv.gz"), f.need("raw", "triplet-type-list.csv.gz")
	for kind, flag := range f.named(path) {
		if strings.EqualFold(flag, "true") {
			check(f.nodeType == "", path, "several node types have labels; one is read")
			f.nodeType = kind
		}
	}
	check(f.nodeType != "" && !strings.ContainsAny(f.nodeType, `/\`), path, "no node type has labels")
	for _, t := range f.records(triplets) {
		if len(t) == 3 && t[0] == f.nodeType && t[2] == f.nodeType && !strings.ContainsAny(t[1], `/\`) {
			f.edges = append(f.edges, f.need("raw", "relations", strings.Join(t, "___"), "edge.csv.gz"))
		}
	}
	check(len(f.edges) > 0, triplets, "no relation from %q to itself", f.nodeType)
	f.label = f.need("raw", "node-label", f.nodeType, "node-label.csv.gz")
	f.nodeFeat = f.need("raw", "node-feat", f.nodeType, "node-feat.csv.gz")
}

// named reads two lines, of names and of as many values.
func (f *ogbFolder) named(path string) map[string]string {
	values, rows := make(map[string]string), f.records(path)
	check(len(rows) == 2, path, "want two lines, names and as many values")
	for k, name := range rows[0] {
		values[name] = rows[1][k]
	}
	return values
}

// records reads the fields of all lines of a small file.
func (r *reader) records(path string) (rows [][]string) {
	field := func(cell []byte, _ int) (string, bool) { return string(cell), true }
	eachRow(r, path, 1<<20, "a text", field, func(_ int, row []string) { rows = append(rows, row) })
	return rows
}

// readLabels reads a class of each node, or its tasks.
func (f *ogbFolder) readLabels(n int) {
	const want = "a class, a whole number in [0, %d), or -1 or nan for unknown; in several columns 0, 1 or nan"
	y := f.matrixLines(f.label, n, fmt.Sprintf(want, MostClasses(n)), func(cell []byte, width int) (float32, bool) {
		v, number := numberOrNaN(cell)
		most := float32(2)
		if width == 1 {
			most = float32(MostClasses(n))
		}
		return v, number && (v != v || v < most && v == float32(int32(v)) && (v >= 0 || v == -1 && width == 1))
	})
	f.makeLabels(f.label, y.Data, y.Cols)
}

// makeLabels makes classes of a column, and tasks of several.
func (f *ogbFolder) makeLabels(name string, values []float32, cols int) {
	if cols > 1 {
		f.rowLabels(name, values, cols, "tasks")
	} else {
		f.numberLabels(name, values, false)
	}
	f.readClassNames()
}

// readClassNames reads mapping/labelidx2….csv.gz: a header, then the number and the name of
// each class. A folder may lack the file. If it does not hold the names of all classes, a
// note says why, and none is read.
func (f *ogbFolder) readClassNames() {
	found, err := filepath.Glob(f.path("mapping", "labelidx2*.csv.gz"))
	if err != nil || len(found) != 1 { // an error: the folder's own name is not a pattern
		return
	}
	names := make([]string, f.Labels.Outputs())
	_, err = readSet(f.ctx, found[0], Options{}, func(r *reader) {
		rows := r.records(found[0])
		for line, fields := range rows[min(len(rows), 1):] {
			k, err := strconv.ParseUint(fields[0], 10, 31)
			check(err == nil && len(fields) > 1, found[0], "line %d is not a number and a name", line+2)
			if int(k) < len(names) { // there may be classes that no node has
				names[k] = fields[1]
			}
		}
		without := slices.Index(names, "")
		check(without < 0, found[0], "class %d has no name", without)
		f.Labels.Names = names
	})
	if err != nil {
		f.note("names of classes not read: %v", err)
	}
}

// readEdges reads the edges into the graph. It also returns them if there are no node
// features, since node features are then made of the features of edges.
func (f *ogbFolder) readEdges(n int) (kept []graph.Edge) {
	b := newBuilder(f.dir, n, 0) // the tally has the edges
	for _, path := range f.edges {
		try(table.EachRows(f.ctx, f.plain(path), func(t *table.Rows) []graph.Edge { return arcLines(t, n) }, func(arcs []graph.Edge) error {
			if f.nodeFeat == "" {
				kept = append(kept, arcs...)
			}
			f.take(edgeBytes * len(arcs))
			return b.AddEdges(arcs)
		}))
	}
	f.build(b)
	return kept
}

// meanEdgeFeatures gives each node the mean of the features of its edges. Line k of
// the file has the features of arcs[k]. Nodes without edges get zeros.
func (f *ogbFolder) meanEdgeFeatures(arcs []graph.Edge, n int) *graph.Features {
	path, x := f.path("raw", "edge-feat.csv.gz"), &graph.Features{Rows: n}
	var sums []float64
	count := make([]float64, n)
	read := eachRow(f.reader, path, len(arcs), "a finite number", featureCell, func(line int, row []float32) { // in order: the sums are the same on any machine
		if line == 0 {
			x.Cols = len(row)
			what := fmt.Sprintf("datasets: %s: the means of %d features for %d nodes", path, x.Cols, n)
			try(memory.Check(what, memory.Product(n, x.Cols, 8+4)))
			sums = make([]float64, n*x.Cols)
		}
		for _, node := range [...]int32{arcs[line].U, arcs[line].V} {
			count[node]++
			sum := sums[int(node)*x.Cols:]
			for j, v := range row {
				sum[j] += float64(v)
			}
		}
	})
	check(read == len(arcs), path, "%d lines for %d edges", read, len(arcs))
	x.Data = make([]float32, len(sums))
	for k, sum := range sums {
		x.Data[k] = float32(sum / max(count[k/x.Cols], 1))
	}
	return x
}

// readSplit reads the only split type, if the options say so. It does not read split_dict.pt, a
// PyTorch file that OGB's own loader prefers.
func (f *ogbFolder) readSplit(nodes int) {
	if !f.o.Split {
		return
	}
	root, kind := f.path("split"), "TYPE"
	entries, err := os.ReadDir(root)
	check(err == nil || errors.Is(err, fs.ErrNotExist), root, "%w", err)
	if entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() }); len(entries) > 0 {
		kind = entries[0].Name()
	}
	check(len(entries) < 2, root, "several splits, such as %s; want one, or ?split=60/20/20", entries)
	f.Split = &Split{}
	for k, name := range partNames {
		f.Split[k] = f.ids(f.need("split", kind, f.nodeType, name+".csv.gz"), "a node", nodes)
	}
	f.note("split %s", kind)
}

// one reads an array of one number.
func (s *source) one(key string, least, most int64) int64 {
	list := vector[int64](s, key)
	check(len(list) == 1 && list[0] >= least && list[0] <= most, s.name, "%s %.40v, want one number in [%d, %d]: a single graph", key, list, least, most)
	return list[0]
}

// OGBBinary is a node-property folder of the Open Graph Benchmark in its binary layout, in
// which ogbn-papers100M is published: raw/data.npz, raw/node-label.npz and split/TYPE/*.csv.gz. Its
// edges and features can be read in pieces.
//
//	data.npz        edge_index (2, edges), node_feat (nodes, features),
//	                num_nodes_list and num_edges_list of one element
//	node-label.npz  node_label (nodes, tasks), NaN or -1 where unknown
type OGBBinary struct {
	// Set holds everything except Graph and Features.
	Set

	Nodes int
	Edges int64 // directed, as listed
	Width int   // features of a node

	data string // the path of data.npz
}

// OpenOGBBinary reads the labels, and the split if o.Split is true, and checks the sizes of
// the other arrays. It returns nil without an error if dir is not such a folder. Memory: 8
// bytes a node, or 4 bytes a node and task.
func OpenOGBBinary(ctx context.Context, dir string, o Options) (*OGBBinary, error) {
	b := &OGBBinary{data: filepath.Join(dir, "raw", "data.npz")}
	if !exists(b.data) || exists(filepath.Join(dir, "raw", "edge.csv.gz")) {
		return nil, nil
	}
	set, err := readSet(ctx, dir, o, func(r *reader) { b.readNodes(&ogbFolder{reader: r, dir: dir}) })
	if err != nil {
		return nil, err
	}
	b.Set = *set
	return b, nil
}

// readNodes reads the labels, the features and the split, and checks their sizes.
func (b *OGBBinary) readNodes(folder *ogbFolder) {
	label := folder.need("raw", "node-label.npz")
	s := folder.archive(b.data)
	b.Nodes, b.Edges = int(s.one("num_nodes_list", 1, math.MaxInt32)), s.one("num_edges_list", 0, math.MaxInt64/64)
	folder.readSplit(b.Nodes)
	for _, a := range []*npy.Reader{s.array("edge_index", 2, int(b.Edges)), s.array("node_feat", b.Nodes, "features")} {
		check(!a.Fortran, a.Name(), "columns first, want rows first")
		b.Width = a.Shape[1]
	}
	labels, a := numbers[float32](folder.archive(label), "node_label", b.Nodes, "tasks")
	folder.makeLabels(a.Name(), labels, len(labels)/b.Nodes)
}

// EachEdges calls f for the edges, in order, a piece at a time. f must not keep the slice, and
// checks that the edges are in the graph. Cost: it reads the array twice at a time, since the two
// ends of an edge lie far from each other, and from its start, since it may be compressed.
func (b *OGBBinary) EachEdges(ctx context.Context, f func([]graph.Edge) error) error {
	const piece = 1 << 18 // edges
	return b.read(ctx, func(s *source) {
		sources, targets := s.array("edge_index"), s.array("edge_index")
		try(targets.Skip(ctx, b.Edges))
		u, v, edges := make([]int32, piece), make([]int32, piece), make([]graph.Edge, piece)
		for at := int64(0); at < b.Edges; at += int64(len(edges)) {
			edges = edges[:min(piece, b.Edges-at)]
			group, running := errgroup.WithContext(ctx)
			group.Go(func() error { return npy.Read(running, sources, u[:len(edges)]) })
			group.Go(func() error { return npy.Read(running, targets, v[:len(edges)]) })
			try(group.Wait())
			for k := range edges {
				edges[k] = graph.Edge{U: u[k], V: v[k]}
			}
			tryIn(fmt.Sprintf("%s: edge_index: edges from %d on", b.data, at), f(edges))
		}
	})
}

// EachFeatures calls f for the rows of the features, in order, a piece of whole rows at a
// time. f must not keep the slice. A feature that is not finite is an error.
func (b *OGBBinary) EachFeatures(ctx context.Context, f func(rows []float32) error) error {
	return b.read(ctx, func(s *source) {
		a, count := s.array("node_feat"), max(1<<20/b.Width, 1)
		buffer := make([]float32, count*b.Width)
		for at := 0; at < b.Nodes; at += count {
			rows := buffer[:min(count, b.Nodes-at)*b.Width]
			try(npy.Read(ctx, a, rows))
			x := graph.Features{Rows: len(rows) / b.Width, Cols: b.Width, Data: rows}
			tryIn(fmt.Sprintf("%s: rows from %d on", a.Name(), at), x.Validate(ctx))
			try(f(rows))
		}
	})
}

// read calls f with the arrays of data.npz.
func (b *OGBBinary) read(ctx context.Context, f func(s *source)) error {
	_, err := readSet(ctx, b.data, Options{}, func(r *reader) { f(r.archive(b.data)) })
	return err
}
