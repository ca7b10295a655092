package formats

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

// EdgeList says where the parts of an edge list are and how they are written. Any
// of the files may be gzipped.
type EdgeList struct {
	// Edges is a file of two node ids a line. In all files but JSON, lines that start
	// with # are comments, and fields may be in double quotes. A dictionary of attributes
	// may follow, as networkx writes it. Required.
	Edges string

	// IDs is the kind of node ids: IDsFrom0, IDsFrom1 or IDsNames. "" finds it: names, if
	// both ids of the first edge are not numbers, or else numbers from 0. Names get
	// their numbers in the order of Nodes, or else as they appear in the edges, the
	// features and the labels.
	IDs string

	// Nodes is a file whose first column lists the names of all nodes, in the order of
	// files without ids. "" means that any file may name a node. It needs names.
	Nodes string

	// Labels is a file of labels, "" for none:
	//
	//	.csv   "label", in node order, or "id,label": a class, by number or name; −1, nan
	//	       and an empty field stand for none
	//	       "id,0,1,1": binary tasks; nan and an empty field stand for unknown
	//	.json  {"id": label}: a class; {"id": [label, …]}: a binary task for each label;
	//	       {"id": [0, 1, 1]}: binary tasks (see Lists)
	//	.npy   classes, by number or name, or binary tasks, in node order
	Labels string

	// Features is a file of features, "" for none:
	//
	//	.csv   numbers, in node order; after the id if the header's first name is
	//	       id or node_id, or if ids are names
	//	.json  {"id": [k, …]}: the features that are 1, the others are 0; or
	//	       {"id": [0, 1, 1]}: the features (see Lists)
	//	.npy   a matrix, in node order
	//	.npz   a SciPy CSR matrix, in node order
	Features string

	// Weights says whether the edges have positive weights, "1", or not, "0". They are in
	// the column that the header names weight, or else in the third, or in the attribute
	// weight. Of several edges between the same two nodes, in either direction, the first
	// counts. "" means no weights, and is an error where there can be some.
	Weights string

	// Direction is the graph's. An edge goes from its first node to its second.
	Direction Direction

	// Each file has its own header, a line of names, and its own separator. Both are
	// found in the file. "1" says that there is a header, "0" that there is none; a
	// separator by name, "comma", "tab", "space" or "semicolon", is tried first.
	Header, LabelsHeader, FeaturesHeader string
	Separator                            string

	// Columns, LabelsColumns and FeaturesColumns name the columns of a file to read, in
	// their order, separated by commas; the file then has a header. "" means all columns.
	Columns, LabelsColumns, FeaturesColumns string

	// Lists says how JSON lists are read: "sets" of labels or of feature numbers, or
	// "multi-hot", a 0 or 1 for each. "" finds it, and is an error where both fit.
	Lists string
}

// edgeList holds the contents of the files before the number of nodes is known.
type edgeList struct {
	EdgeList
	ids      nodeIDs
	saidIDs  bool // the key ids was given
	chunks   []weightedArcs
	unsure   *layout // of the edges, if the first line can be a header or an edge
	column   int     // of the weights, from 0; 0: none
	lowest   int32   // least node id in the edges
	named    int     // nodes that the edges name
	ordered  []orderedFile
	lines    int64  // of all files
	maxID    int32  // greatest node id so far
	maxIn    string // the file that has it
	classes  *nodeLabels
	tasks    *rowTable   // labels given as binary tasks
	rows     *rowTable   // of features
	multiHot *nodeLabels // features given as lists
	notes    []string
}

// orderedFile is a file with a row for each node, in node order.
type orderedFile struct {
	path string
	rows int
}

// Read reads the files. An edge list has no split.
func (l EdgeList) Read(ctx context.Context) (*Set, error) {
	for _, file := range []struct{ key, path, columns string }{{"labels-columns", l.Labels, l.LabelsColumns}, {"features-columns", l.Features, l.FeaturesColumns}} {
		switch {
		case file.columns == "":
		case file.path == "":
			return nil, fmt.Errorf("datasets: %s without the file: give %s=FILE too", file.key, strings.TrimSuffix(file.key, "-columns"))
		case isNPY(file.path) || isNPZ(file.path) || isJSON(file.path):
			return nil, fmt.Errorf("datasets: %s: it has no columns with names: %s is for CSV and TSV", file.path, file.key)
		}
	}
	e := &edgeList{EdgeList: l, maxID: -1, lowest: math.MaxInt32, ids: nodeIDs{tally: newTally(l.Edges)}}
	if err := e.readEdges(ctx, l.Edges); err != nil {
		return nil, err
	}
	if l.Features != "" {
		if err := e.readFeatures(ctx, l.Features); err != nil {
			return nil, err
		}
	}
	if l.Labels != "" {
		if err := e.readLabels(ctx, l.Labels); err != nil {
			return nil, err
		}
	}
	return e.data(ctx)
}

// nodesSoFar returns the number of nodes that the files named so far.
func (e *edgeList) nodesSoFar() int {
	if e.ids.named() {
		return max(e.ids.names.Len(), int(e.maxID)+1)
	}
	return int(e.maxID) + 1
}

// nodeNames returns the ids of the nodes in the files, nil for numbers from 0.
func (e *edgeList) nodeNames(n int) *graph.Names {
	if e.ids.named() {
		return &e.ids.names
	}
	if e.ids.first == 0 {
		return nil
	}
	names := new(graph.Names)
	for i := range n {
		names.Append(strconv.Itoa(i + int(e.ids.first)))
	}
	return names
}

// checkFirst reports ids that seem to count from 1, unless the key ids says how they
// count, and files in node order with another number of rows than nodes with names.
func (e *edgeList) checkFirst(n int) error {
	for _, f := range e.ordered {
		switch {
		case e.ids.named() && f.rows != n:
			return fmt.Errorf("datasets: %s: %d rows in node order for %d names of nodes", f.path, f.rows, n)
		case !e.saidIDs && e.firstUnseen() && f.rows == n-1:
			return fmt.Errorf("datasets: %s: %d rows in node order, and the node ids in %s go from 1 to %d: say ids=from-1, or ids=from-0 if node 0 exists", f.path, f.rows, e.Edges, n-1)
		}
	}
	if !e.saidIDs && e.firstUnseen() && len(e.ordered) == 0 {
		e.note("no line names node 0, which is there: if ids count from 1, say ids=from-1")
	}
	return nil
}

// firstUnseen tells whether the ids are numbers and no file names node 0.
func (e *edgeList) firstUnseen() bool {
	if e.ids.named() || e.lowest < 1 || e.lowest == math.MaxInt32 {
		return false
	}
	for _, ids := range e.idLists() {
		if slices.Contains(ids, 0) {
			return false
		}
	}
	return true
}

// idLists returns the ids of the files beside the edges.
func (e *edgeList) idLists() (lists [][]int32) {
	for _, l := range []*nodeLabels{e.classes, e.multiHot} {
		if l != nil && !l.inOrder {
			lists = append(lists, l.ids, l.unlabelled)
		}
	}
	for _, t := range []*rowTable{e.tasks, e.rows} {
		if t != nil {
			lists = append(lists, t.ids)
		}
	}
	return lists
}

// addOrdered records the number of rows of an array in node order.
func (e *edgeList) addOrdered(path, what string) error {
	return withArray(npyFile(path), "", func(r *npy.Reader) error {
		return e.addShape(path, what+" from "+path+": an array", r.Shape)
	})
}

// addShape is addOrdered for an array of a known shape. text names the array in the notes.
func (e *edgeList) addShape(path, text string, shape []int) error {
	if e.ids.named() && e.Nodes == "" {
		return fmt.Errorf("datasets: %s: an array has no node ids, and the ids are names: say nodes=FILE with the names in the order of the rows", path)
	}
	if len(shape) == 0 || shape[0] == 0 || shape[0] > math.MaxInt32 {
		return fmt.Errorf("datasets: %s: shape %v, want a row for each node", path, shape)
	}
	rows := shape[0]
	e.ordered = append(e.ordered, orderedFile{path, rows})
	e.record(int32(rows-1), path)
	e.lines += int64(rows)
	e.note(fmt.Sprintf("%s of shape %v, in node order", text, shape))
	return nil
}

// addSparse records the number of rows of a SciPy matrix in node order.
func (e *edgeList) addSparse(ctx context.Context, path, what string) error {
	a, err := openSparseFile(ctx, path)
	if err != nil {
		return err
	}
	defer a.Close()
	shape, err := readShape(ctx, a, "shape")
	if err != nil {
		return err
	}
	// The matrix has an offset for each row, which takes bytes.
	if err := withArray(a, "indptr", func(r *npy.Reader) error {
		if r.Len() != shape[0]+1 {
			return fmt.Errorf("datasets: %s: %d row offsets for %d rows, want %d", path, r.Len(), shape[0], shape[0]+1)
		}
		return nil
	}); err != nil {
		return err
	}
	return e.addShape(path, what+" from "+path+": a sparse matrix", shape[:])
}

func (e *edgeList) note(text string) { e.notes = append(e.notes, text) }

// record updates the greatest node id.
func (e *edgeList) record(id int32, path string) {
	if id > e.maxID {
		e.maxID, e.maxIn = id, path
	}
}

// checkSpelling reports a file without one of the names in the edges, and notes a file with
// names that have no edge. With a file of all names, other names are errors already.
func (e *edgeList) checkSpelling() error {
	if e.named == 0 || e.Nodes != "" {
		return nil
	}
	check := func(path string, lists ...[]int32) error {
		all, without, example := 0, 0, ""
		for _, ids := range lists {
			for _, id := range ids {
				if all++; int(id) >= e.named {
					if without++; example == "" {
						example = e.ids.names.At(int(id))
					}
				}
			}
		}
		if without == all && all > 0 {
			return fmt.Errorf("datasets: %s: none of its names has an edge in %s: it has %.40q, and the edges %.40q", path, e.Edges, example, e.ids.names.At(0))
		}
		if without > 0 {
			e.note(fmt.Sprintf("%d of the %d names in %s have no edge, such as %.40q", without, all, path, example))
		}
		return nil
	}
	for _, l := range []*nodeLabels{e.classes, e.multiHot} {
		if l != nil && !l.inOrder {
			if err := check(l.path, l.ids, l.unlabelled); err != nil {
				return err
			}
		}
	}
	for _, t := range []*rowTable{e.tasks, e.rows} {
		if t != nil {
			if err := check(t.path, t.ids); err != nil {
				return err
			}
		}
	}
	return nil
}

// data makes the set of all parts.
func (e *edgeList) data(ctx context.Context) (*Set, error) {
	if err := e.checkFirstLine(); err != nil {
		return nil, err
	}
	if err := e.checkSpelling(); err != nil {
		return nil, err
	}
	n := e.nodesSoFar()
	if err := e.checkFirst(n); err != nil {
		return nil, err
	}
	// Ids far above the number of lines would claim memory for nothing.
	if int64(n) > 1<<20+64*e.lines {
		return nil, fmt.Errorf("datasets: %s: node %s, but the files have only %d lines; number the nodes from 0, or say ids=names", e.maxIn, e.ids.text(e.maxID), e.lines)
	}
	if err := checkGraph(e.maxIn, n, 0); err != nil { // a tally has counted the edges
		return nil, err
	}
	b, err := newBuilder(e.maxIn, n)
	if err != nil {
		return nil, err
	}
	for k, part := range e.chunks {
		if part.weights == nil {
			err = addArcs(b, e.maxIn, part.arcs)
		}
		for i, w := range part.weights {
			if err = b.AddWeighted(part.arcs[i].U, part.arcs[i].V, w); err != nil {
				err = fmt.Errorf("datasets: %s: %w", e.maxIn, err)
				break
			}
		}
		if err != nil {
			return nil, err
		}
		e.chunks[k] = weightedArcs{}
	}
	d := &Set{Notes: e.notes, NodeNames: e.nodeNames(n), Direction: e.Direction}
	d.build(b)
	if e.column != 0 {
		d.Notes = append(d.Notes, "edges weighted; of repeated ones the first counts")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e.classes != nil {
		if d.Labels, err = e.classes.namedLabels(n); err != nil {
			return nil, err
		}
		d.noteNames()
	} else if e.tasks != nil {
		if d.Labels, err = e.tasks.labels(n); err != nil {
			return nil, err
		}
		d.Labels.Names = e.tasks.names
	} else if isNPY(e.Labels) {
		if d.Labels, err = readLabels(ctx, npyFile(e.Labels), "", n); err != nil {
			return nil, err
		}
		d.noteNames()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case e.rows != nil:
		d.Features, err = e.rows.matrix(n)
	case e.multiHot != nil:
		d.Features, err = e.multiHot.matrix(ctx, n)
	case isNPY(e.Features):
		d.Features, err = readMatrix(ctx, npyFile(e.Features), "", n)
	case isNPZ(e.Features):
		d.Features, err = readSparseFile(ctx, e.Features, n)
	}
	return d, err
}
