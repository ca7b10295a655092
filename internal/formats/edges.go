package formats

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/table"
)

// EdgeList reads a table of edges and the files beside it, as docs/data.md describes them. Of
// o.Keys labels, features and nodes name the files. An edge list has no split.
func EdgeList(ctx context.Context, path string, o Options) (*Set, error) {
	return readSet(ctx, path, o, func(r *reader) {
		e := &edgeList{reader: r, ids: newNodeIDs(r), given: new(part)}
		e.checkKeys()
		e.readEdges(path)
		e.readBeside()
		e.findHeaders()
		e.findWeights()
		e.findKeys()
		e.findOrder()
		e.makeSet()
		e.makeLabels()
		e.makeFeatures()
	})
}

// edgeList holds the contents of the files before the nodes are known.
type edgeList struct {
	*reader
	ids nodeIDs

	parts  []*part // all tables: the edges, then the others; files that are no tables have no First
	edges  *part   // without First where the file has no data
	given  *part   // nodes=FILE; without File where there is none
	chunks []arcs
	dots   [2]bool // the ids of the column end in .0

	weight    int  // the column of the weights; −1: none
	attribute bool // the last column holds networkx's attributes

	nodeCount    int        // nodes=N; 0 without
	labelLists   *jsonLists // labels in JSON
	featureLists *jsonLists // features in JSON
	labelColumns []int      // of the table of labels

	order *nodeOrder
}

// arcs holds the edges of a block, by the handles of their ids; weights is nil if all are 1.
// Before addArcs the text number k of ids has the handle −1−k.
type arcs struct {
	arcs    []graph.Edge
	weights []float32
	ids     []textID
}

// textID is an id that is no number, with its hash.
type textID struct {
	text []byte
	hash uint32
}

func (e *edgeList) checkKeys() {
	for _, role := range []string{"labels", "features", "nodes"} {
		if path, key := e.keys[role], role+"-columns"; e.keys[key] != "" {
			check(path != "", key, "there is no file: give %s=FILE too", role)
			check(!isNPY(path) && !isNPZ(path) && !isJSON(path), path, "it has no columns with names: %s is for tables", key)
		}
	}
}

// readEdges reads the table of edges, without its first line.
func (e *edgeList) readEdges(path string) {
	p := e.openPart("edges", path)
	if e.edges = p; p.First == nil {
		e.note("no edges in %s", path)
		return
	}
	e.parts = append(e.parts, p)
	p.content = p.count(p.Head())
	e.findEnds(p)
	p.header = p.ownHeader(0)
	e.findWeightColumn()
	if from, number := parseID(p.example()[0]); number && p.rows > 1 && p.Width > 2 && len(p.wanted) == 0 && !p.index && e.weight < 0 && !e.attribute && p.counted(int(from)) {
		p.ask(": column 1 counts the lines, as the key of a database does: say columns=2,3 to read the ids from these, or columns=1,2 if it holds ids")
	}
	for k, j := range p.ends {
		_, number := parseNumber(p.First[j])
		dot := bytes.HasSuffix(p.First[j], []byte(".0"))
		e.dots[k] = p.counts[j].isWhole() && (dot || !number) || p.rows == 0 && dot
	}
	try(table.EachRows(e.ctx, p.File, e.parseArcs, func(part arcs) error {
		e.addArcs(len(e.chunks), part)
		return nil
	}))
}

// parseArcs reads the edges of a block.
func (e *edgeList) parseArcs(r *table.Rows) (part arcs) {
	p := e.edges
	plain := p.Width == 2 && slices.Equal(p.ends, []int{0, 1}) && !p.Parquet && e.dots == [2]bool{}
	part.arcs = make([]graph.Edge, 0, len(r.Data)/8)
	var ends [2]int32
	for {
		if plain {
			part.arcs = plainArcs(r, smallNumbers, part.arcs)
		}
		if !r.NextRow() {
			return part
		}
		for k, j := range p.ends {
			id := r.Cells[j]
			if e.dots[k] && len(id) > 0 && !bytes.HasSuffix(id, []byte(".0")) {
				r.Fault("%s: id %.40q, where the first ones end in .0", p.title(j), id)
			} else if id = wholeID(id, e.dots[k]); len(id) == 0 {
				r.Fault("%s: an empty id", p.title(j))
			} else if number, ok := numberID(id); ok {
				ends[k] = number
			} else if before := ends[k]; before >= 0 || !bytes.Equal(part.ids[^before].text, id) { // an id often follows itself
				if part.ids == nil {
					part.ids = make([]textID, 0, cap(part.arcs))
				}
				part.ids = append(part.ids, textID{id, e.ids.hashOf(id)})
				ends[k] = -int32(len(part.ids))
			}
		}
		part.arcs = append(part.arcs, graph.Edge{U: ends[0], V: ends[1]})
		if e.weight >= 0 {
			part.weights = append(part.weights, e.parseWeight(r))
		}
	}
}

// parseWeight reads the weight of a row.
func (e *edgeList) parseWeight(r *table.Rows) float32 {
	cell, there := r.Cells[e.weight], true
	if e.attribute {
		cell, there = attributeWeight(cell)
	}
	weight, _ := e.edges.number(cell) // 0 if it is none
	if !there || !(weight > 0) || weight-weight != 0 {
		r.Faults.Hint = " (weights=0 leaves the weights out)"
		r.Fault("weight %.40q, want a positive number", cell)
	}
	return float32(weight)
}

// addArcs adds the edges of a block as chunk at.
func (e *edgeList) addArcs(at int, part arcs) {
	e.take(edgeBytes*len(part.arcs) + 4*len(part.weights))
	handles := make([]int32, len(part.ids))
	for k, id := range part.ids {
		handles[k] = e.ids.hashed(id.text, id.hash)
	}
	for k := range part.arcs {
		a := &part.arcs[k]
		if a.U < 0 {
			a.U = handles[^a.U]
		}
		if a.V < 0 {
			a.V = handles[^a.V]
		}
		e.edges.set.add(a.U)
		e.edges.set.add(a.V)
	}
	part.ids = nil
	e.chunks = slices.Insert(e.chunks, at, part)
}

// findWeightColumn finds the column of the weights, or of attributes that can hold some.
func (e *edgeList) findWeightColumn() {
	p, key := e.edges, e.keys["weights"]
	e.weight = -1
	last := p.example()[p.Width-1]
	dictionary := table.IsDictionary(last)
	rest := p.others(p.ends...)
	numeric := slices.DeleteFunc(slices.Clone(rest), func(j int) bool { return !p.counts[j].numeric() })
	named := slices.IndexFunc(numeric, func(j int) bool { return bytes.EqualFold(p.First[j], []byte("weight")) && p.header != isData })
	switch {
	case dictionary && p.Sep == ' ' && p.Width > 3:
		p.ask(`: names with blanks, which separate: write the edges with nx.write_edgelist(g, "edges.txt", delimiter="\t")`)
	case key == "0":
	case len(p.wanted) > 2 && !p.inOrder:
		e.weight = p.columns(p.wanted)[2]
	case dictionary && len(rest) == 1:
		if _, there := attributeWeight(last); there || key == "1" {
			e.weight = rest[0]
		}
		e.attribute = true
	case named >= 0:
		e.weight = numeric[named]
	case key != "1":
	case len(rest) == 1:
		e.weight = rest[0]
	case len(numeric) == 1:
		e.weight = numeric[0]
	case len(rest) == 0:
		p.ask(" has no column besides the ids, so weights=1 finds no weights: leave it out")
	default:
		check(false, p.Path, "weights=1, but %.40q has %d columns of numbers besides the ids, and none is called weight: say columns=FROM,TO,WEIGHT", p.firstLine(), len(numeric))
	}
}

// ask reports the first line of a table that can be read in two ways.
func (p *part) ask(format string, args ...any) {
	check(false, fmt.Sprintf("%s:%d", p.Path, p.Line), "%.40q"+format, append([]any{p.firstLine()}, args...)...)
}

// others returns the columns that hold neither the given ids nor pandas' index.
func (p *part) others(ids ...int) (rest []int) {
	for j := range p.Width {
		if !slices.Contains(ids, j) && !(p.index && j == 0) {
			rest = append(rest, j)
		}
	}
	return rest
}

// findWeights asks whether a column holds weights, where nothing tells.
func (e *edgeList) findWeights() {
	p := e.edges
	if p.First == nil {
		return
	}
	rest := p.others(p.ends...)
	switch {
	case e.weight >= 0 || e.keys["weights"] != "" || p.header != isData || len(p.wanted) > 0:
	case len(rest) == 1 && p.counts[rest[0]].numeric():
		p.ask(": column %d can be weights: weights=1 reads them, weights=0 leaves them out", rest[0]+1)
	case len(rest) > 1 && p.Sep == ' ' && !slices.ContainsFunc(rest, func(j int) bool { return p.counts[j][numberCells] > 0 }):
		p.ask(": names with blanks, or more columns: say columns=1,2 to read the first two")
	}
	what := fmt.Sprintf("ids in %s and %s", p.title(p.ends[0]), p.title(p.ends[1]))
	switch {
	case e.weight >= 0 && e.attribute:
		what += ", weights in networkx's attribute weight"
	case e.weight >= 0:
		what += ", weights in " + p.title(e.weight)
	}
	for _, j := range rest {
		if j != e.weight {
			what += fmt.Sprintf(", left out: %s (such as %.40q)", p.title(j), p.example()[j])
		}
	}
	e.describe(p, what)
}

// attributeWeight returns the value of weight in a dictionary of Python.
func attributeWeight(cell []byte) (value []byte, there bool) {
	for _, key := range []string{"'weight':", "\"weight\":"} {
		if _, after, found := bytes.Cut(cell, []byte(key)); found {
			value, _, _ = bytes.Cut(after, []byte{','})
			return bytes.Trim(value, " }"), true
		}
	}
	return cell, false
}

// readBeside reads the files beside the edges.
func (e *edgeList) readBeside() {
	if text := e.keys["nodes"]; isNumber(text) {
		n, good := parseID([]byte(text))
		check(good && n > 0, "nodes="+text, "want a file, or a number of nodes in [1, 2³¹−1)")
		e.nodeCount = int(n)
	} else if isNPY(text) {
		e.given = e.keyed("nodes", text, e.file(text).names(""))
		e.note("nodes from %s: an array of %d ids, in the order of the nodes", text, len(e.given.ids))
	} else if text != "" {
		e.given = e.readTable("nodes", text, false)
	}
	path := e.keys["features"]
	features := list(path)
	if exists(path) {
		features = []string{path}
	}
	several := len(features) > 1
	for _, path := range features {
		switch {
		case isNPY(path):
			e.file(path).dense("", "nodes")
		case isNPZ(path):
			e.sparseFile(path).sparse("", -1)
		case isJSON(path):
			e.featureLists = e.readKeyed("features", path)
			check(e.featureLists.areLists, path, "want lists of feature numbers")
		default:
			e.readTable("features", path, several)
			continue
		}
		check(!several, path, "several files of features must be tables")
		if e.Features != nil {
			e.addArray(path, "features", e.Features.Rows)
		}
	}
	columns := e.keys["features-columns"]
	for k, name := range list(columns) {
		having := slices.DeleteFunc(e.tables("features"), func(p *part) bool { return !slices.Contains(p.wanted, name) })
		check(!several || k == 0 && columns[0] != ',' || len(having) == 1, "features-columns", "column %d, %q, is in %d of the %d files of features, want one", k+1, name, len(having), len(features))
	}
	switch path := e.keys["labels"]; {
	case isNPY(path):
		e.file(path).labels("", "nodes", false)
		e.addArray(path, "labels", e.Labels.Nodes())
	case isJSON(path):
		e.labelLists = e.readKeyed("labels", path)
	case path != "":
		e.readTable("labels", path, false)
	}
}

// readTable reads a table of nodes, and the ids in the column that can hold them. Of several
// tables, each has some of the columns that the SPEC picks.
func (e *edgeList) readTable(role, path string, several bool) *part {
	p := e.openPart(role, path)
	if several {
		p.wanted = slices.DeleteFunc(p.wanted, func(name string) bool { return p.named(name) < 0 })
	}
	e.hold(p)
	e.parts = append(e.parts, p)
	if len(p.ends) > 0 {
		e.cellIDs(p, p.ends[0])
	}
	return p
}

// tables returns the tables of a role.
func (e *edgeList) tables(role string) []*part {
	return slices.DeleteFunc(slices.Clone(e.parts), func(p *part) bool { return p.role != role || p.First == nil })
}

// addArray adds an array with a row for each node.
func (e *edgeList) addArray(path, role string, rows int) {
	p := e.keyed(role, path, nil)
	p.rows, p.key = rows, -1
	e.note("%s from %s: an array of %d rows, in node order", role, path, rows)
}

// keyed adds a part of a file that is no table, with its ids if it has some.
func (e *edgeList) keyed(role, path string, ids []string) *part {
	p := &part{File: &table.File{Path: path}, role: role, header: isHeader}
	for _, id := range ids {
		p.ids = append(p.ids, e.ids.handle([]byte(id)))
		p.set.add(p.ids[len(p.ids)-1])
	}
	e.parts = append(e.parts, p)
	return p
}

// makeSet makes the graph and the names of the nodes.
func (e *edgeList) makeSet() {
	b := newBuilder(e.edges.Path, e.order.nodes, 0) // the tally has the edges
	try(parallel.Chunks(e.ctx, len(e.chunks), func(k int) error {
		arcs := e.chunks[k].arcs
		for i, a := range arcs {
			arcs[i] = graph.Edge{U: e.order.node(a.U), V: e.order.node(a.V)}
		}
		return nil
	}))
	for k, part := range e.chunks {
		try(e.ctx.Err())
		if part.weights == nil {
			try(b.AddEdges(part.arcs))
		}
		for i, w := range part.weights {
			try(b.AddWeighted(part.arcs[i].U, part.arcs[i].V, w))
		}
		e.chunks[k] = arcs{}
	}
	e.NodeNames = e.order.nodeNames(&e.ids)
	e.build(b)
}
