package formats

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
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

// weightedArcs holds the edges of some lines; weights is nil if all are 1.
type weightedArcs struct {
	arcs    []graph.Edge
	weights []float32
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

// parseID returns the number of an id in a block of lines, or its place in local if ids are
// names.
func (e *edgeList) parseID(local *localNames, field []byte) (int32, error) {
	if !e.ids.named() {
		return e.ids.parse(field)
	}
	if len(field) == 0 {
		return 0, errors.New("a node's name is empty")
	}
	return local.number(field), nil
}

func isNPY(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npy") }

func isNPZ(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npz") }

// npyFile is the source of one array.
type npyFile string

func (f npyFile) Open(string) (*npy.Reader, error) { return npy.Open(string(f)) }

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

func isJSON(path string) bool {
	return strings.EqualFold(filepath.Ext(strings.TrimSuffix(path, ".gz")), ".json")
}

// record updates the greatest node id.
func (e *edgeList) record(id int32, path string) {
	if id > e.maxID {
		e.maxID, e.maxIn = id, path
	}
}

// findIDs finds the kind of the ids, and how the edges are written. A kind that the key ids
// gives holds for the other files too, if there are no edges.
func (e *edgeList) findIDs(path string) (*layout, error) {
	numbers := func(fields []string) bool {
		return len(fields) > 1 && isNumber(fields[0]) && isNumber(fields[1])
	}
	words := func(fields []string) bool {
		return len(fields) > 1 && !isNumber(fields[0]) && !isNumber(fields[1])
	}
	unsure := false
	l, err := findLayout(path, e.Separator, e.Header, e.Columns, e.IDs == "" || e.IDs == IDsNames, func(first, second []string) bool {
		switch {
		case !words(first):
			return false
		case e.IDs == IDsFrom0 || e.IDs == IDsFrom1 || numbers(second):
			return true
		case endWords(first) || namesID(first[0]) && namesID(first[1]) && second != nil && !namesID(second[0]):
			return true
		}
		unsure = second != nil
		return false
	})
	if e.saidIDs = e.IDs != ""; !e.saidIDs && err == nil {
		e.IDs = IDsFrom0
		if words(l.sample) && !numbers(l.second) {
			e.IDs = IDsNames
		}
	}
	switch e.IDs {
	case IDsFrom1:
		e.ids.first = 1
	case IDsNames:
		e.ids.index = make(map[string]int32)
		if unsure {
			e.unsure = l
		}
	}
	return l, err
}

// endWords tells whether the first two names of a header are usual for the ends of edges.
func endWords(fields []string) bool {
	known := func(name string) bool {
		name = strings.ToLower(strings.TrimRight(name, "_0123456789"))
		return slices.Contains([]string{
			"source", "target", "src", "dst", "from", "to", "u", "v", "node", "id", "nodeid", "node_id", "head", "tail",
			"from_node", "to_node", "fromnodeid", "tonodeid", "source_id", "target_id", "src_id", "dst_id", "citing", "cited",
		}, name)
	}
	return known(fields[0]) && known(fields[1])
}

func (e *edgeList) readEdges(ctx context.Context, path string) error {
	l, err := e.findIDs(path)
	if errors.Is(err, errNoData) {
		e.note("no edges in " + path)
		err = nil
	}
	if err == nil && e.Nodes != "" {
		if !e.ids.named() {
			return fmt.Errorf("datasets: %s: it names the nodes, but the ids in %s are numbers: say ids=names", e.Nodes, path)
		}
		if err = e.readNames(ctx, e.Nodes); err == nil && e.unsure != nil {
			_, known1 := e.ids.index[l.sample[0]]
			_, known2 := e.ids.index[l.sample[1]]
			if e.unsure = nil; !known1 && !known2 {
				l.takeHeader()
			}
		}
	}
	if err == nil && l != nil && !e.ids.named() {
		err = l.checkEdgeHeader()
	}
	if err == nil && l != nil {
		err = e.findWeights(l)
	}
	if err != nil || l == nil {
		return err
	}
	plain := !e.ids.named() && e.ids.first == 0 && e.column == 0 && l.fields <= 2 && !l.attributed && l.columns == nil
	type block struct {
		weightedArcs
		names []string // of the ids in arcs; nil if they are numbers
	}
	tally := newTally(path)
	err = readLines(ctx, path, func(b lines) (part block, err error) {
		l.skipHeader(&b)
		if plain {
			if part.arcs, err = parseArcs(b, l.sep, math.MaxInt32); err != nil {
				err = fmt.Errorf("%w (ids=names reads names)", err)
			}
			return part, err
		}
		part.weightedArcs, part.names, err = e.parseEdges(b, l)
		return part, err
	}, func(part block) error {
		if err := tally.Add(edgeBytes*int64(len(part.arcs)) + 4*int64(len(part.weights))); err != nil {
			return err
		}
		return e.addEdges(part.weightedArcs, part.names, path)
	})
	columns := "two node ids a line"
	if e.ids.named() {
		columns = "two names of nodes a line"
	} else if e.ids.first == 1 {
		columns += ", from 1"
	}
	switch {
	case e.column == attributes:
		columns += ", weights in the attribute weight"
	case e.column > 0:
		columns += fmt.Sprintf(", weights in column %d", e.column+1)
	case l.attributed && l.fields > 2:
		columns += ", attributes left out"
	case l.fields > 2:
		columns += ", other columns left out"
	}
	e.note(l.describe("edges", columns))
	if e.ids.named() {
		e.named = e.ids.names.Len()
	}
	return err
}

// addEdges adds the edges of one block. names holds the names of its ids, unless they are
// numbers.
func (e *edgeList) addEdges(part weightedArcs, names []string, path string) error {
	if len(part.arcs) == 0 {
		return nil // a block of comments
	}
	if e.ids.named() {
		ids, err := e.ids.global(names)
		if err != nil {
			return fmt.Errorf("datasets: %s: %w", path, err)
		}
		for k, a := range part.arcs {
			part.arcs[k] = graph.Edge{U: ids[a.U], V: ids[a.V]}
		}
	}
	for _, a := range part.arcs {
		e.lowest = min(e.lowest, a.U, a.V)
		e.record(max(a.U, a.V), path)
	}
	e.lines += int64(len(part.arcs))
	e.chunks = append(e.chunks, part)
	return nil
}

// attributes is the number of the column that stands for networkx's attributes.
const attributes = -1

// findWeights sets the column of the weights. It reports columns that can be weights, if
// the key weights does not say whether they are.
func (e *edgeList) findWeights(l *layout) error {
	last := bytes.TrimSpace(l.sampleLine)
	l.attributed = len(withoutAttributes(last)) < len(last)
	weighted := e.Weights == "1"
	if l.attributed {
		_, there := attributeWeight(last)
		switch {
		case weighted:
			e.column = attributes
		case there && e.Weights == "":
			return fmt.Errorf("datasets: %s: its edges have the attribute weight: say weights=1 to read it, or weights=0", l.path)
		}
		return nil
	}
	if l.header > 0 && len(l.names) > 2 && l.names[0] == "" {
		return fmt.Errorf("datasets: %s:%d: the first column has no name, as pandas writes its index: save the table with index=False", l.path, l.header)
	}
	column := slices.IndexFunc(l.names, func(name string) bool { return strings.EqualFold(name, "weight") || strings.EqualFold(name, "weights") })
	switch {
	case weighted && l.header > 0 && len(l.names) != l.fields && l.fields > 2:
		return fmt.Errorf("datasets: %s:%d: the header has %d names, and the first edge %d columns", l.path, l.header, len(l.names), l.fields)
	case weighted && column >= 2:
		e.column = column
	case weighted && l.fields < 3:
		return fmt.Errorf("datasets: %s: weights=1, but %q has no third column", l.path, strings.TrimSpace(string(l.sampleLine)))
	case weighted && l.fields > 3:
		return fmt.Errorf("datasets: %s: weights=1, but it has %d columns, and no header that names one weight: say columns=FROM,TO,WEIGHT", l.path, l.fields)
	case weighted:
		e.column = 2
	case l.fields > 2 && e.Weights == "":
		return fmt.Errorf("datasets: %s: %s is not two node ids: weights=1 reads a third column as weights, weights=0 leaves it out", l.path, quoteField(l.sampleLine))
	}
	return nil
}

// attributeWeight returns the value of weight in a dictionary of Python.
func attributeWeight(line []byte) (value []byte, there bool) {
	for _, key := range []string{"'weight':", "\"weight\":"} {
		if _, after, found := bytes.Cut(line, []byte(key)); found {
			if end := bytes.IndexAny(after, ",}"); end >= 0 {
				after = after[:end]
			}
			return bytes.TrimSpace(after), true
		}
	}
	return nil, false
}

// checkEdgeHeader reports an edge in the place of the header. "0,1" is a header too:
// pandas numbers the columns of a table without names.
func (l *layout) checkEdgeHeader() error {
	if l.header == 0 || len(l.names) < 2 {
		return nil
	}
	_, ok1 := parseID([]byte(l.names[0]))
	_, ok2 := parseID([]byte(l.names[1]))
	if !ok1 || !ok2 || l.names[0] == "0" && l.names[1] == "1" {
		return nil
	}
	return fmt.Errorf("datasets: %s:%d: header=1, but %s is an edge; without the key, headers are found in each file", l.path, l.header, quoteField([]byte(l.first)))
}

// parseEdges reads lines of two ids, and of weights if there are any. If ids are names, it
// returns them, and the arcs hold their places. Lines that start with # are comments.
func (e *edgeList) parseEdges(b lines, l *layout) (part weightedArcs, names []string, err error) {
	var local localNames
	for {
		line, found := b.nextData()
		if !found {
			return part, local.names, nil
		}
		if len(line) == 0 {
			continue
		}
		whole := line
		if l.attributed {
			line = withoutAttributes(line)
		}
		from, rest, more := cutField(line, l.sep)
		to, rest, further := cutField(rest, l.sep)
		if !more || len(to) == 0 || further && l.fields < 3 && !l.attributed {
			return part, nil, b.fail("%s is not two node ids", quoteField(whole))
		}
		var a graph.Edge
		if e.ids.named() {
			if len(from) == 0 {
				return part, nil, b.fail("a node's name is empty")
			}
			a = graph.Edge{U: local.number(from), V: local.number(to)}
		} else {
			var err1, err2 error
			a.U, err1 = e.ids.parse(from)
			a.V, err2 = e.ids.parse(to)
			if err := cmp.Or(err1, err2); err != nil {
				what := "two node ids"
				if e.column != 0 {
					what += " and a weight"
				}
				return part, nil, b.fail("%s is not %s: %w", quoteField(whole), what, err)
			}
		}
		part.arcs = append(part.arcs, a)
		if e.column == 0 {
			continue
		}
		var field []byte
		if e.column == attributes {
			field, found = attributeWeight(whole)
		} else {
			found = false
			for k := 2; k <= e.column && further; k++ {
				field, rest, further = cutField(rest, l.sep)
				found = k == e.column
			}
			if further && l.fields == e.column+1 {
				return part, nil, b.fail("%s has more columns than the first edge", quoteField(whole))
			}
		}
		if !found {
			return part, nil, b.fail("%s is not two node ids and a weight", quoteField(whole))
		}
		weight, err := strconv.ParseFloat(string(field), 32)
		if err != nil || float32(weight) <= 0 || weight != weight || weight > math.MaxFloat32 {
			return part, nil, b.fail("weight %s, want a positive number", quoteField(field))
		}
		part.weights = append(part.weights, float32(weight))
	}
}

// checkFirstLine reports a first line of the edges that can be a header: two names that no
// other line has. The first lines of the other files do not count, since they can be
// headers too.
func (e *edgeList) checkFirstLine() error {
	l := e.unsure
	if l == nil {
		return nil
	}
	first := e.chunks[0].arcs[0]
	isEnd := func(id int32) bool { return id == first.U || id == first.V }
	for k, part := range e.chunks {
		arcs := part.arcs
		if k == 0 {
			arcs = arcs[1:]
		}
		if slices.ContainsFunc(arcs, func(a graph.Edge) bool { return isEnd(a.U) || isEnd(a.V) }) {
			return nil
		}
	}
	for _, ids := range e.idLists() {
		if len(ids) > 1 && slices.ContainsFunc(ids[1:], isEnd) {
			return nil
		}
	}
	return fmt.Errorf("datasets: %s: its first line, %s, is a header, or an edge of two nodes that no other line names: say header=1 or header=0", l.path, quoteField([]byte(l.first)))
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

func (e *edgeList) readLabels(ctx context.Context, path string) (err error) {
	if isNPY(path) {
		return e.addOrdered(path, "labels")
	}
	if isJSON(path) {
		if e.classes, err = e.readJSONLabels(ctx, path); err == nil && e.classes.multi {
			err = e.findLists(e.classes, "labels")
		}
	} else {
		err = e.readTextLabels(ctx, path)
	}
	if err != nil {
		return err
	}
	if e.classes != nil {
		for _, id := range slices.Concat(e.classes.ids, e.classes.unlabelled) {
			e.record(id, path)
			e.lines++
		}
	}
	return nil
}

// readJSONLabels reads {"id": label} or {"id": [label, …]}.
func (e *edgeList) readJSONLabels(ctx context.Context, path string) (*nodeLabels, error) {
	l := newNodeLabels(path)
	l.source = &e.ids
	err := eachMember(ctx, path, func(key string, d *json.Decoder) error {
		id, err := e.ids.key(key)
		if err != nil {
			return err
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return err
		}
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		if len(l.ids) > 0 && isList != l.multi {
			return fmt.Errorf("node %s: labels must all be lists or none", e.ids.text(id))
		}
		l.multi = isList
		labels := make([]category, len(list))
		for k, v := range list {
			if labels[k], err = categoryOf(v); err != nil {
				return fmt.Errorf("node %s: %w", e.ids.text(id), err)
			}
		}
		if isList {
			return l.addList(id, labels)
		}
		return l.add(id, labels[0])
	})
	return l, err
}

// extent holds the numbers of a file's first empty line and of its last line of data so
// far. It is 0 for none.
type extent struct{ empty, data int64 }

// grow adds the next block. It returns the empty line before a line of data, or 0. Empty
// lines may only end a file in node order: elsewhere they could stand for a node.
func (x *extent) grow(block extent) int64 {
	if x.empty == 0 {
		x.empty = block.empty
	}
	if x.data = max(x.data, block.data); x.empty > x.data {
		return 0
	}
	return x.empty
}

// findLabelLayout finds the layout of a file of labels. In a single column of labels a
// header looks like a label: maybe is then true, and resolveHeader decides.
func (e *edgeList) findLabelLayout(path string) (l *layout, maybe bool, err error) {
	l, err = findLayout(path, e.Separator, e.LabelsHeader, e.LabelsColumns, e.ids.named() && e.Nodes == "", func(first, second []string) bool {
		if max(len(first), len(second)) > 1 && e.ids.named() {
			_, node := e.ids.index[first[0]]
			return isIDWord(first[0]) || !node && (namesID(first[0]) || e.ids.given != "" || len(first) > 1 && isHeaderWord(first[1]))
		}
		if max(len(first), len(second)) > 1 {
			return !isNumber(first[0]) && (len(first) == 1 || second == nil || len(first) == len(second))
		}
		maybe = second != nil
		return maybe
	})
	if err != nil {
		return nil, false, err
	}
	if l.fields == 1 && e.ids.named() && e.Nodes == "" {
		return nil, false, fmt.Errorf("datasets: %s: labels without node ids, and the ids are names: write id,label, or say nodes=FILE with the names in the order of the labels", path)
	}
	if e.ids.named() && l.fields > 1 && l.header == 0 && e.LabelsHeader == "" {
		if _, known := e.ids.index[l.sample[0]]; !known {
			return nil, false, fmt.Errorf("datasets: %s: its first line, %s, is a header, or labels %.40q, which has no edge: say labels-header=1 or labels-header=0", path, quoteField([]byte(l.first)), l.sample[0])
		}
	}
	if l.fields == 2 && len(l.names) == 2 && !namesID(l.names[0]) && isIDWord(l.names[1]) {
		err = fmt.Errorf("datasets: %s:%d: the columns are %.40q and %.40q, want the node id first", path, l.header, l.names[0], l.names[1])
	}
	return l, maybe, err
}

// headerWords are names of a column of labels.
var headerWords = []string{"label", "labels", "class", "classes", "category", "target", "targets", "y", "kind", "type", "group", "name"}

func isHeaderWord(name string) bool { return slices.Contains(headerWords, strings.ToLower(name)) }

// resolveHeader decides whether the first line of a column of labels, which was left out
// so far, is a header. nodes is the number of nodes that the other files have.
func (l *layout) resolveHeader(labels *nodeLabels, nodes int) error {
	first := parseCategory(l.names[0])
	zero := first == category{isNumber: true} // pandas calls a column without a name 0
	numbers, names := false, false            // in the lines after the first
	for v := range labels.kinds.index {
		numbers, names = numbers || v.isNumber, names || !v.isNumber
	}
	_, again := labels.kinds.index[first]
	after := len(labels.ids) + len(labels.unlabelled)
	switch {
	case zero && names && !numbers, !first.isNumber && numbers && !names:
		return nil
	case zero && after == nodes:
		return l.headerOrLabel(nodes)
	case first.isNumber, again:
	case isHeaderWord(l.names[0]):
		return nil
	case after+1 != nodes:
		return l.headerOrLabel(nodes)
	}
	l.header, l.names = 0, nil
	return labels.addFirst(first)
}

func (l *layout) headerOrLabel(nodes int) error {
	return fmt.Errorf("datasets: %s:%d: %s is a header, or the label of node 0: say labels-header=1 or labels-header=0 (the other files have %d nodes)", l.path, l.header, quoteField([]byte(l.first)), nodes)
}

// readTextLabels reads one label a line, or id and label, or id and tasks.
func (e *edgeList) readTextLabels(ctx context.Context, path string) error {
	layout, maybe, err := e.findLabelLayout(path)
	if err != nil {
		return err
	}
	sep, width := layout.sep, layout.fields
	if width > 2 {
		if e.tasks, err = e.readRows(ctx, layout, true, true); err == nil {
			e.note(layout.describe("labels", fmt.Sprintf("node id, %d binary tasks", e.tasks.width)))
			return nil
		}
		if e.LabelsColumns == "" {
			err = fmt.Errorf("%w (columns after the id are binary tasks; labels-columns=ID,LABEL reads one label)", err)
		}
		return err
	}
	l := newNodeLabels(path)
	l.source, l.inOrder = &e.ids, width == 1
	e.classes = l
	// block holds the labels of some lines, with each name once.
	type block struct {
		extent     extent
		ids, kinds []int32 // ids is nil if the labels are in node order
		names      []string
		nodes      []string // the names of ids, unless they are numbers
	}
	var whole extent
	err = readLines(ctx, path, func(b lines) (part block, err error) {
		layout.skipHeader(&b)
		kinds := make(map[string]int32)
		var nodes localNames
		defer func() { part.nodes = nodes.names }()
		for {
			line, found := b.nextData()
			if !found {
				return part, nil
			}
			if len(line) == 0 {
				if part.extent.empty == 0 {
					part.extent.empty = b.number - 1
				}
				continue
			}
			part.extent.data = b.number - 1
			field := line
			if width == 2 {
				front, rest, more := cutField(line, sep)
				if !more {
					return part, b.fail("%s is not an id and a label", quoteField(line))
				}
				id, err := e.parseID(&nodes, front)
				if err != nil {
					return part, b.fail("%w", err)
				}
				part.ids = append(part.ids, id)
				field = rest
			}
			label := bytes.TrimSpace(unquoted(bytes.TrimSpace(field)))
			if len(label) > 0 && label[0] == '"' {
				return part, b.fail("quotes within the label %s, which are not read", quoteField(label))
			}
			if bytes.HasPrefix(label, []byte("\ufeff")) {
				return part, b.fail("a byte-order mark within the file")
			}
			kind, known := kinds[string(label)]
			if !known {
				kind = int32(len(part.names))
				part.names = append(part.names, string(label))
				kinds[part.names[kind]] = kind
			}
			part.kinds = append(part.kinds, kind)
		}
	}, func(part block) error {
		if line := whole.grow(part.extent); width == 1 && line > 0 {
			return fmt.Errorf("datasets: %s:%d: %s", path, line, noLabel)
		}
		if e.ids.named() {
			ids, err := e.ids.global(part.nodes)
			if err != nil {
				return fmt.Errorf("datasets: %s: %w", path, err)
			}
			for k, id := range part.ids {
				part.ids[k] = ids[id]
			}
		}
		labels := make([]category, len(part.names))
		for k, name := range part.names {
			labels[k] = parseCategory(name)
		}
		for k, kind := range part.kinds {
			id := int32(len(l.ids) + len(l.unlabelled))
			if width == 2 {
				id = part.ids[k]
			}
			if err := l.add(id, labels[kind]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && maybe {
		err = layout.resolveHeader(l, e.nodesSoFar())
	}
	if err != nil {
		return err
	}
	if width == 1 {
		e.ordered = append(e.ordered, orderedFile{path, len(l.ids) + len(l.unlabelled)})
	}
	columns := "one label a line, in node order"
	if width == 2 {
		columns = "node id, label"
	}
	if v, there := l.fraction(); there {
		e.note(fmt.Sprintf("each number in %s is a class of its own, such as %v; there is no regression", path, v))
	}
	e.note(layout.describe("labels", fmt.Sprintf("%s; %d nodes with one of %d labels, %d without", columns, len(l.ids), len(l.kinds.index), len(l.unlabelled))))
	return nil
}

const noLabel = "no label; write -1 or nan for a node without one"

// rowTable holds rows of numbers by node.
type rowTable struct {
	path   string
	source *nodeIDs
	width  int
	ids    []int32 // nil: rows are in node order
	values []float32
	names  []string // of the columns, from the header; nil without one
}

func (t *rowTable) rows() int { return len(t.values) / t.width }

// readRows reads rows of finite numbers, after an id if withID. If missing, a field may
// be NaN, or empty, which stands for NaN.
func (e *edgeList) readRows(ctx context.Context, l *layout, withID, missing bool) (*rowTable, error) {
	path, sep := l.path, l.sep
	t := &rowTable{path: path, source: &e.ids, width: l.fields}
	column := 1 // of the first number
	if withID {
		if t.width--; t.width == 0 {
			return nil, fmt.Errorf("datasets: %s: nothing after the id", path)
		}
		t.ids, column = []int32{}, 2
	}
	tally := newTally(path)
	var whole extent
	type part struct {
		extent extent
		ids    []int32
		values []float32
		nodes  []string // the names of ids, unless they are numbers
	}
	err := readLines(ctx, path, func(b lines) (part, error) {
		var p part
		l.skipHeader(&b)
		row := make([]float32, t.width)
		var nodes localNames
		for {
			line, found := b.nextData()
			if !found {
				p.nodes = nodes.names
				return p, nil
			}
			if len(line) == 0 {
				if p.extent.empty == 0 {
					p.extent.empty = b.number - 1
				}
				continue
			}
			p.extent.data = b.number - 1
			if withID {
				field, rest, _ := cutField(line, sep)
				id, err := e.parseID(&nodes, field)
				if err != nil {
					return p, b.fail("%w", err)
				}
				p.ids, line = append(p.ids, id), rest
			}
			count, err := parseFloats(&b, line, numbers{sep: sep, column: column, missing: missing}, row)
			if err != nil {
				return p, err
			}
			if count != t.width {
				return p, b.fail("%d numbers, want %d as in the first row", count, t.width)
			}
			p.values = append(p.values, row...)
		}
	}, func(p part) error {
		if line := whole.grow(p.extent); !withID && line > 0 {
			return fmt.Errorf("datasets: %s:%d: no numbers", path, line)
		}
		if err := tally.Add(appendGrowth * 4 * int64(len(p.ids)+len(p.values))); err != nil {
			return err
		}
		if e.ids.named() && withID {
			ids, err := e.ids.global(p.nodes)
			if err != nil {
				return fmt.Errorf("datasets: %s: %w", path, err)
			}
			for k, id := range p.ids {
				p.ids[k] = ids[id]
			}
		}
		t.ids, t.values = append(t.ids, p.ids...), append(t.values, p.values...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, id := range t.ids {
		e.record(id, path)
	}
	if !withID {
		e.record(int32(min(t.rows(), math.MaxInt32)-1), path)
		e.ordered = append(e.ordered, orderedFile{path, t.rows()})
	}
	if len(l.names) >= t.width {
		t.names = l.names[len(l.names)-t.width:]
	}
	e.lines += int64(t.rows())
	return t, nil
}

func (e *edgeList) readFeatures(ctx context.Context, path string) error {
	if isNPY(path) {
		return e.addOrdered(path, "features")
	}
	if isNPZ(path) {
		return e.addSparse(ctx, path, "features")
	}
	if isJSON(path) {
		return e.readFeatureLists(ctx, path)
	}
	named := e.ids.named()
	l, err := findLayout(path, e.Separator, e.FeaturesHeader, e.FeaturesColumns, named, func(first, _ []string) bool {
		return isIDWord(first[0]) || !named && namesID(first[0]) || !slices.ContainsFunc(first, isNumber) || named && len(first) > 1 && !slices.ContainsFunc(first[1:], isNumber)
	})
	if err != nil {
		return err
	}
	withID, nodes := l.header > 0 && namesID(l.names[0]) || named && !isNumber(l.sample[0]), e.nodesSoFar()
	if named && !withID && e.Nodes == "" {
		return fmt.Errorf("datasets: %s: features without node ids, and the ids are names: begin each row with the id, or say nodes=FILE with the names in the order of the rows", path)
	}
	if e.rows, err = e.readRows(ctx, l, withID, false); err != nil {
		return err
	}
	if e.FeaturesHeader == "" && l.startsWithNumbers() && e.rows.rows() != nodes {
		return fmt.Errorf("datasets: %s: the first line, %s, is a row, or a header without names: say features-header=0 or features-header=1 (%d rows, %d nodes in the edge list)", path, quoteField([]byte(l.first)), e.rows.rows(), nodes)
	}
	columns := fmt.Sprintf("%d numbers a line, in node order", e.rows.width)
	if withID {
		columns = fmt.Sprintf("node id, %d numbers", e.rows.width)
	}
	e.note(l.describe("features", columns))
	return nil
}

// startsWithNumbers tells whether the first line is 0, 1, 2, …, as pandas names columns
// without names.
func (l *layout) startsWithNumbers() bool {
	fields := l.split([]byte(l.first))
	for k, field := range fields {
		if field != strconv.Itoa(k) {
			return false
		}
	}
	return len(fields) > 1
}

// readFeatureLists reads {"id": [k, …]}.
func (e *edgeList) readFeatureLists(ctx context.Context, path string) (err error) {
	if e.multiHot, err = e.readJSONLabels(ctx, path); err != nil {
		return err
	}
	if !e.multiHot.multi {
		return fmt.Errorf("datasets: %s: want lists of feature numbers", path)
	}
	for _, c := range e.multiHot.kinds.sorted() {
		if !c.isNumber || c.number < 0 || c.number > math.MaxInt32 || c.number != math.Trunc(c.number) {
			return fmt.Errorf("datasets: %s: feature %q, want numbers from 0", path, c)
		}
	}
	if err := e.findLists(e.multiHot, "features"); err != nil {
		return err
	}
	for _, id := range e.multiHot.ids {
		e.record(id, path)
	}
	e.lines += int64(len(e.multiHot.ids))
	return nil
}

// findLists decides whether lists are sets or multi-hot, by the key lists if it is given,
// and makes sets of the latter.
func (e *edgeList) findLists(l *nodeLabels, what string) error {
	form := e.Lists
	if form == "" {
		var err error
		if form, err = l.listForm(); err != nil {
			return err
		}
	}
	if form == "multi-hot" {
		if err := l.fromMultiHot(); err != nil {
			return err
		}
		e.note(fmt.Sprintf("%s from %s: lists of a 0 or 1 for each of %d (lists=multi-hot)", what, l.path, len(l.kinds.index)))
		return nil
	}
	e.note(fmt.Sprintf("%s from %s: lists of the numbers or names that each node has (lists=sets)", what, l.path))
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

// noteNames says how labels with names were numbered.
func (d *Set) noteNames() {
	if d.Labels.Names != nil {
		d.Notes = append(d.Notes, fmt.Sprintf("%d kinds of labels, numbered in the order of their names", d.Labels.Outputs()))
	}
}

// labels makes binary tasks of the rows. Tasks of nodes without a row are unknown.
func (t *rowTable) labels(n int) (*graph.Labels, error) {
	if n > (SmallMatrix+CellsAnEntry*len(t.values))/t.width {
		return nil, fmt.Errorf("datasets: %s: %d rows of labels for %d nodes", t.path, t.rows(), n)
	}
	values, err := zeros(t.path+": labels", n, t.width)
	if err != nil {
		return nil, err
	}
	unknown := float32(math.NaN())
	for k := range values {
		values[k] = unknown
	}
	if err := t.place(values, n); err != nil {
		return nil, err
	}
	return taskLabels(t.path, values, t.width)
}

// matrix makes features of the rows. Every node must have one.
func (t *rowTable) matrix(n int) (*graph.Features, error) {
	if t.rows() != n {
		return nil, fmt.Errorf("datasets: %s: %d rows for %d nodes", t.path, t.rows(), n)
	}
	x := &graph.Features{Rows: n, Cols: t.width, Data: t.values}
	if t.ids != nil {
		var err error
		if x.Data, err = zeros(t.path+": features", n, t.width); err != nil {
			return nil, err
		}
		if err := t.place(x.Data, n); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// place copies each row to its node's row of the matrix to.
func (t *rowTable) place(to []float32, n int) error {
	seen := make([]bool, n)
	for k := range t.rows() {
		id := k
		if t.ids != nil {
			id = int(t.ids[k])
		}
		if seen[id] {
			return fmt.Errorf("datasets: %s: node %s is there twice", t.path, t.source.text(int32(id)))
		}
		seen[id] = true
		copy(to[id*t.width:(id+1)*t.width], t.values[k*t.width:])
	}
	return nil
}

// matrix makes sparse features of lists of feature numbers.
func (l *nodeLabels) matrix(ctx context.Context, n int) (*graph.Features, error) {
	number := make([]int32, len(l.kinds.index)) // feature number of each provisional number
	width := 0
	for c, k := range l.kinds.index {
		number[k] = int32(c.number)
		width = max(width, int(c.number)+1)
	}
	if err := l.checkOnce(n); err != nil {
		return nil, err
	}
	lists := make([]int32, n) // 1 + the place of each node's list
	for k, id := range l.ids {
		lists[id] = int32(k + 1)
	}
	var columns []int32
	return sparseFeatures(ctx, l.path, n, width, len(l.values), func(i int) ([]int32, []float32) {
		columns = columns[:0]
		if lists[i] > 0 {
			for _, v := range l.list(int(lists[i] - 1)) {
				columns = append(columns, number[v])
			}
		}
		slices.Sort(columns)
		columns = slices.Compact(columns) // a number that is there twice means 1
		return columns, nil
	})
}
