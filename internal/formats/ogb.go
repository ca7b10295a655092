package formats

import (
	"bytes"
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

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// OGB reads an unzipped node-property folder of the Open Graph Benchmark
// (Hu et al. 2020, arXiv:2005.00687): raw/*.csv.gz and split/TYPE/*.csv.gz.
//
// Edges are symmetrised, whether the folder has both directions, only one
// (add_inverse_edge), or a directed graph. Without node features, a node gets the
// mean of the features of its edges, as in OGB's own baseline for ogbn-proteins. A
// heterogeneous folder (ogbn-mag) is reduced to the node type with labels and the
// relations from it to itself. The split is read, and must exist, only if options.Split is
// true.
//
// A folder in the binary layout has raw/data.npz instead: see OGBBinary.
func OGB(ctx context.Context, dir string, options Options) (*Set, error) {
	if b, err := OpenOGBBinary(ctx, dir, options); b != nil || err != nil {
		if err != nil {
			return nil, err
		}
		return b.inMemory(ctx)
	}
	o, err := findOGB(ctx, dir, options.Split)
	if err != nil {
		return nil, err
	}
	n, err := o.countNodes(ctx)
	if err != nil {
		return nil, err
	}
	d := &Set{Direction: options.Direction}
	if d.Labels, err = o.readLabels(ctx, n); err != nil {
		return nil, err
	}
	if err := o.readClassNames(ctx, d); err != nil {
		return nil, err
	}
	arcs, err := o.readEdges(ctx, n, d)
	if err != nil {
		return nil, err
	}
	if o.nodeFeat != "" {
		d.Features, err = readNumberLines(ctx, o.nodeFeat, n, false)
	} else {
		d.Features, err = meanEdgeFeatures(ctx, o.edgeFeat, arcs, n)
		d.Notes = append(d.Notes, "features are the mean of the features of a node's edges (raw/edge-feat.csv.gz)")
	}
	if err != nil {
		return nil, err
	}
	if o.nodeType != "" {
		d.Notes = append(d.Notes, fmt.Sprintf("of several node types only %q, and its relations to itself: %s", o.nodeType, strings.Join(o.edgeTypes, ", ")))
	}
	if options.Split {
		err = o.readSplit(ctx, d, n)
	}
	return d, err
}

// ogbFolder holds the paths of the files of one folder.
type ogbFolder struct {
	dir       string
	edges     []string // edge.csv.gz of each relation
	nodeFeat  string
	edgeFeat  string // "" in a heterogeneous folder
	label     string
	splitDir  string // folder of the split's type; "" without a split
	nodeType  string // in a heterogeneous folder
	edgeTypes []string
	missing   []string // needed files that are not there
}

// findOGB finds the files. One error names all that are missing.
func findOGB(ctx context.Context, dir string, split bool) (*ogbFolder, error) {
	o := &ogbFolder{dir: dir}
	if _, err := os.Stat(o.raw("")); err != nil {
		return nil, fmt.Errorf("datasets: %s: no raw folder in it; want an unzipped OGB folder: %w", o.dir, err)
	}
	var err error
	if exists(o.raw("num-node-dict.csv.gz")) {
		err = o.findHeterogeneous(ctx)
	} else {
		o.need(o.raw("num-node-list.csv.gz"))
		o.edges = []string{o.need(o.raw("edge.csv.gz"))}
		o.label = o.need(o.raw("node-label.csv.gz"))
		o.nodeFeat, o.edgeFeat = o.raw("node-feat.csv.gz"), o.raw("edge-feat.csv.gz")
		switch {
		case exists(o.nodeFeat):
		case exists(o.edgeFeat):
			o.nodeFeat = ""
		default:
			o.need(o.nodeFeat)
		}
	}
	if err != nil {
		return nil, err
	}
	if split {
		if err := o.findSplit(); err != nil {
			return nil, err
		}
	}
	return o, o.checkMissing()
}

func (o *ogbFolder) raw(name string) string { return filepath.Join(o.dir, "raw", name) }

// need returns a path, and notes it for checkMissing if nothing is there.
func (o *ogbFolder) need(path string) string {
	if !exists(path) {
		relative, err := filepath.Rel(o.dir, path)
		if err != nil {
			relative = path
		}
		o.missing = append(o.missing, relative)
	}
	return path
}

// checkMissing reports all missing files at once.
func (o *ogbFolder) checkMissing() error {
	if len(o.missing) == 0 {
		return nil
	}
	return fmt.Errorf("datasets: %s: incomplete OGB folder: missing %s: %w", o.dir, strings.Join(o.missing, ", "), fs.ErrNotExist)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// findHeterogeneous finds the node type with labels and its relations to itself.
func (o *ogbFolder) findHeterogeneous(ctx context.Context) error {
	path := o.raw("nodetype-has-label.csv.gz")
	if !exists(o.need(path)) || !exists(o.need(o.raw("triplet-type-list.csv.gz"))) {
		return nil // reported as missing
	}
	types, flags, err := readHeadedRow(ctx, path)
	if err != nil {
		return err
	}
	for k, flag := range flags {
		if !strings.EqualFold(flag, "true") {
			continue
		}
		if o.nodeType != "" {
			return fmt.Errorf("datasets: %s: several node types have labels; one is read", path)
		}
		o.nodeType = types[k]
	}
	if o.nodeType == "" || strings.ContainsAny(o.nodeType, `/\`) {
		return fmt.Errorf("datasets: %s: no node type has labels", path)
	}
	triplets, err := readFields(ctx, o.raw("triplet-type-list.csv.gz"))
	if err != nil {
		return err
	}
	for _, t := range triplets {
		if len(t) == 3 && t[0] == o.nodeType && t[2] == o.nodeType && !strings.ContainsAny(t[1], `/\`) {
			name := strings.Join(t, "___")
			o.edges = append(o.edges, o.need(filepath.Join(o.raw("relations"), name, "edge.csv.gz")))
			o.edgeTypes = append(o.edgeTypes, t[1])
		}
	}
	if len(o.edges) == 0 {
		return fmt.Errorf("datasets: %s: no relation from %q to itself", o.raw("triplet-type-list.csv.gz"), o.nodeType)
	}
	o.label = o.need(filepath.Join(o.raw("node-label"), o.nodeType, "node-label.csv.gz"))
	o.nodeFeat = o.need(filepath.Join(o.raw("node-feat"), o.nodeType, "node-feat.csv.gz"))
	return nil
}

// findSplit finds the folder of the only split type. It does not read split_dict.pt, a
// PyTorch file that OGB's own loader prefers.
func (o *ogbFolder) findSplit() error {
	root := filepath.Join(o.dir, "split")
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("datasets: %w", err)
	}
	var kinds []string
	for _, e := range entries {
		if e.IsDir() {
			kinds = append(kinds, e.Name())
		}
	}
	switch len(kinds) {
	case 0:
		o.need(filepath.Join(root, "TYPE", "train.csv.gz"))
		return nil
	case 1:
	default:
		return fmt.Errorf("datasets: %s: several splits (%s); want one, or ?split=60/20/20", root, strings.Join(kinds, ", "))
	}
	kind := filepath.Join(root, kinds[0])
	o.splitDir = filepath.Join(kind, o.nodeType)
	if torch := filepath.Join(kind, "split_dict.pt"); exists(torch) && !exists(filepath.Join(o.splitDir, "train.csv.gz")) {
		return fmt.Errorf("datasets: %s: this PyTorch file is not read, and train.csv.gz, valid.csv.gz and test.csv.gz are not beside it", torch)
	}
	for _, part := range partNames {
		o.need(filepath.Join(o.splitDir, part+".csv.gz"))
	}
	return nil
}

// countNodes reads the number of nodes of the graph, or of the node type.
func (o *ogbFolder) countNodes(ctx context.Context) (int, error) {
	path := o.raw("num-node-list.csv.gz")
	var field string
	if o.nodeType != "" {
		path = o.raw("num-node-dict.csv.gz")
		types, counts, err := readHeadedRow(ctx, path)
		if err != nil {
			return 0, err
		}
		k := slices.Index(types, o.nodeType)
		if k < 0 {
			return 0, fmt.Errorf("datasets: %s: no node type %q", path, o.nodeType)
		}
		field = counts[k]
	} else {
		rows, err := readFields(ctx, path)
		if err != nil {
			return 0, err
		}
		if len(rows) != 1 || len(rows[0]) != 1 {
			return 0, fmt.Errorf("datasets: %s: %d lines, want one number: a single graph", path, len(rows))
		}
		field = rows[0][0]
	}
	n, err := strconv.ParseInt(field, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt32 {
		return 0, fmt.Errorf("datasets: %s: %.40q is not a number of nodes in [1, %d]", path, field, math.MaxInt32)
	}
	return int(n), ctx.Err()
}

// readFields reads the comma-separated fields of all lines of a small file.
func readFields(ctx context.Context, path string) ([][]string, error) {
	var rows [][]string
	const most = 10_000
	err := readLines(ctx, path, func(b lines) ([][]string, error) {
		var part [][]string
		for {
			line, found := b.next()
			if !found {
				return part, nil
			}
			if len(line) == 0 {
				continue
			}
			if len(part) == most || bytes.Count(line, []byte{','}) >= most {
				return nil, b.fail("more than %d lines, or fields in one", most)
			}
			part = append(part, strings.Split(string(line), ","))
		}
	}, func(part [][]string) error {
		if rows = append(rows, part...); len(rows) > most {
			return fmt.Errorf("datasets: %s: more than %d lines", path, most)
		}
		return nil
	})
	return rows, err
}

// readHeadedRow reads a file of two lines: names, and one value for each.
func readHeadedRow(ctx context.Context, path string) (names, values []string, err error) {
	rows, err := readFields(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	if len(rows) != 2 || len(rows[0]) != len(rows[1]) {
		return nil, nil, fmt.Errorf("datasets: %s: want two lines, names and as many values", path)
	}
	return rows[0], rows[1], nil
}

// readLabels reads lines of one class, or of 0, 1 or nan for each task. An empty field
// stands for nan.
func (o *ogbFolder) readLabels(ctx context.Context, n int) (*graph.Labels, error) {
	m, err := readNumberLines(ctx, o.label, n, true)
	if err != nil {
		return nil, err
	}
	if m.Cols > 1 {
		return taskLabels(o.label, m.Data, m.Cols)
	}
	classes := make([]int32, n)
	for i, v := range m.Data {
		switch {
		case v != v:
			classes[i] = -1
		case v != float32(int32(v)) || v < -1 || v > 1<<24:
			return nil, fmt.Errorf("datasets: %s:%d: %v is not a class", o.label, i+1, v)
		default:
			classes[i] = int32(v)
		}
	}
	return classLabels(o.label, classes)
}

// readClassNames reads mapping/labelidx2….csv.gz: a header, then the number and the name of
// each class. A folder may lack the file. If it does not hold the names of all classes, a
// note says why they are not read.
func (o *ogbFolder) readClassNames(ctx context.Context, d *Set) error {
	found, err := filepath.Glob(filepath.Join(o.dir, "mapping", "labelidx2*.csv.gz"))
	if err != nil || len(found) != 1 { // an error: the folder's own name is not a pattern
		return nil
	}
	path := found[0]
	l, err := findLayout(path, "comma", "1", "", false, nil)
	if err != nil {
		return err
	}
	lines, err := readFieldLines(ctx, l)
	if err != nil {
		return err
	}
	names := make([]string, d.Labels.Outputs())
	unread := func(reason string) error {
		d.Notes = append(d.Notes, fmt.Sprintf("names of classes in %s not read: %s", path, reason))
		return nil
	}
	for _, line := range lines {
		k, ok := parseID([]byte(line.fields[0]))
		if !ok || len(line.fields) < 2 {
			return unread(fmt.Sprintf("line %d is not a number and a name", line.number))
		}
		if int(k) < len(names) { // there may be classes that no node has
			names[k] = strings.Join(line.fields[1:], ",")
		}
	}
	if k := slices.Index(names, ""); k >= 0 {
		return unread(fmt.Sprintf("class %d has none", k))
	}
	d.Labels.Names = names
	return nil
}

// readEdges reads the edges into d's graph. It also returns them if there are no node
// features, since node features are then made of the features of edges.
func (o *ogbFolder) readEdges(ctx context.Context, n int, d *Set) ([]graph.Edge, error) {
	if err := checkGraph(o.dir, n, 0); err != nil { // tallies count the edges
		return nil, err
	}
	b, err := newBuilder(o.dir, n)
	if err != nil {
		return nil, err
	}
	var kept []graph.Edge
	for _, path := range o.edges {
		tally, found := newTally(path), 0
		err := readLines(ctx, path, func(block lines) ([]graph.Edge, error) {
			return parseArcs(block, ',', n)
		}, func(arcs []graph.Edge) error {
			edge := int64(edgeBytes)
			if o.nodeFeat == "" {
				edge += appendGrowth * 8
			}
			if err := tally.Add(edge * int64(len(arcs))); err != nil {
				return err
			}
			if o.nodeFeat == "" {
				kept = append(kept, arcs...)
			}
			found += len(arcs)
			return addArcs(b, path, arcs)
		})
		if err != nil {
			return nil, err
		}
		if err := checkEdges(ctx, path, found); err != nil {
			return nil, err
		}
	}
	d.build(b)
	return kept, nil
}

// checkEdges compares the number of edges in a file with the number in num-edge-list.csv.gz
// beside it, if this is there. A file that was cut short would be another graph.
func checkEdges(ctx context.Context, edges string, found int) error {
	path := filepath.Join(filepath.Dir(edges), "num-edge-list.csv.gz")
	if !exists(path) {
		return nil
	}
	rows, err := readFields(ctx, path)
	switch {
	case err != nil:
		return err
	case len(rows) != 1 || len(rows[0]) != 1:
		return fmt.Errorf("datasets: %s: %d lines, want one number: a single graph", path, len(rows))
	case rows[0][0] != strconv.Itoa(found):
		return fmt.Errorf("datasets: %s: %d edges, and num-edge-list.csv.gz says %.40q: unpack the data set again", edges, found, rows[0][0])
	}
	return nil
}

// readNumberLines reads n lines of equally many finite numbers. If missing, a field may
// be nan, or empty, which stands for nan.
func readNumberLines(ctx context.Context, path string, n int, missing bool) (*graph.Features, error) {
	width, err := countFields(path)
	if err != nil {
		return nil, err
	}
	if err := plausible(path, float64(n)*float64(width)); err != nil {
		return nil, err
	}
	values, err := zeros(path, n, width)
	if err != nil {
		return nil, err
	}
	x := &graph.Features{Rows: n, Cols: width, Data: values}
	var read int64
	err = readLines(ctx, path, func(b lines) (int64, error) {
		first := b.number
		for {
			line, found := b.next()
			if !found {
				return b.number - first, nil
			}
			row := b.number - 2
			if row >= int64(n) {
				return 0, b.fail("more lines than the %d nodes", n)
			}
			count, err := parseFloats(&b, line, numbers{sep: ',', column: 1, missing: missing}, x.Row(int(row)))
			if err != nil {
				return 0, err
			}
			if count != width {
				return 0, b.fail("%d numbers, want %d as in line 1", count, width)
			}
		}
	}, func(count int64) error {
		read += count
		return nil
	})
	if err != nil {
		return nil, err
	}
	if read != int64(n) {
		return nil, fmt.Errorf("datasets: %s: %d lines for %d nodes", path, read, n)
	}
	return x, nil
}

// meanEdgeFeatures gives each node the mean of the features of its edges. Line k of
// the file has the features of arcs[k]. Nodes without edges get zeros.
func meanEdgeFeatures(ctx context.Context, path string, arcs []graph.Edge, n int) (*graph.Features, error) {
	width, err := countFields(path)
	if err != nil {
		return nil, err
	}
	if err := plausible(path, float64(len(arcs))*float64(width)); err != nil {
		return nil, err
	}
	what := fmt.Sprintf("datasets: %s: the means of %d features for %d nodes", path, width, n)
	if err := memory.Check(what, memory.Product(int64(n), int64(width), 8+4)); err != nil {
		return nil, err
	}
	sums := make([]float64, n*width)
	count := make([]int, n)
	type rows struct {
		first  int64
		values []float32
	}
	read := 0
	err = readLines(ctx, path, func(b lines) (rows, error) {
		part := rows{first: b.number - 1}
		row := make([]float32, width)
		for {
			line, found := b.next()
			if !found {
				return part, nil
			}
			got, err := parseFloats(&b, line, numbers{sep: ',', column: 1}, row)
			if err != nil {
				return part, err
			}
			if got != width {
				return part, b.fail("%d numbers, want %d as in line 1", got, width)
			}
			part.values = append(part.values, row...)
		}
	}, func(part rows) error { // in order: the sums are the same on any machine
		for k := 0; k < len(part.values); k += width {
			line := int(part.first) + k/width
			if line >= len(arcs) {
				return fmt.Errorf("datasets: %s:%d: more lines than the %d edges", path, line+1, len(arcs))
			}
			read++
			for _, node := range [...]int32{arcs[line].U, arcs[line].V} {
				count[node]++
				sum := sums[int(node)*width:]
				for j, v := range part.values[k : k+width] {
					sum[j] += float64(v)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if read != len(arcs) {
		return nil, fmt.Errorf("datasets: %s: %d lines for %d edges", path, read, len(arcs))
	}
	x := &graph.Features{Rows: n, Cols: width, Data: make([]float32, n*width)}
	for k, sum := range sums {
		if edges := count[k/width]; edges > 0 {
			x.Data[k] = float32(sum / float64(edges))
		}
	}
	return x, checkFinite(path, x)
}

// readSplit reads the three id files.
func (o *ogbFolder) readSplit(ctx context.Context, d *Set, nodes int) error {
	d.Split = &Split{}
	if exists(filepath.Join(filepath.Dir(o.splitDir), "split_dict.pt")) || exists(filepath.Join(o.splitDir, "split_dict.pt")) {
		d.Notes = append(d.Notes, "split read from csv.gz; the split_dict.pt beside it was not")
	}
	for k, part := range d.Split.parts() {
		var err error
		if *part, err = readIDLines(ctx, filepath.Join(o.splitDir, partNames[k]+".csv.gz"), nodes); err != nil {
			return err
		}
	}
	d.Notes = append(d.Notes, "split "+filepath.Base(strings.TrimSuffix(o.splitDir, string(filepath.Separator)+o.nodeType)))
	return nil
}
