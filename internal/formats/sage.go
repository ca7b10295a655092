package formats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gcn-layerwise/gcn/graph"
)

// SAGE reads GraphSAGE's files (Hamilton, Ying & Leskovec 2017,
// arXiv:1706.02216): PREFIX-G.json, a networkx graph as nodes and links,
// PREFIX-id_map.json from ids to rows, PREFIX-class_map.json and
// PREFIX-feats.npy. As in GraphSAGE's loader, nodes that lack the marks val and
// test are dropped. The set has the split of the marks if o.Split is true.
//
// Links that are numbers are places in the list of nodes, as networkx 1 wrote them, or ids, as
// networkx 2 does. The file tells which if it has edges in place of links, if only one of the
// two exists for all links, or if both are the same nodes. Otherwise the key links must.
func SAGE(ctx context.Context, prefix string, o Options) (*Set, error) {
	path := prefix + "-G.json"
	g := &sageGraph{reader: newReader(ctx, prefix, o), path: path, place: make(map[int32]int32)}
	g.ids = newNodeIDs(g.reader)
	g.eachMember(g.path, func(key string, d *json.Decoder) error {
		switch key {
		case "nodes":
			return elements(d, '[', func(k int) error { return g.readNode(d, k) })
		case "links", "edges":
			if g.links != nil {
				return errors.New("links and edges: want one of them")
			}
			g.links, g.edges = []sageLink{}, key == "edges"
			return elements(d, '[', func(k int) error { return g.readLink(d, k) })
		}
		return d.Decode(new(json.RawMessage))
	})
	g.number(prefix + "-id_map.json")
	g.makeGraph()
	if exists(prefix + "-feats.npy") {
		g.readFeatures(prefix + "-feats.npy")
	}
	g.readClassMap(prefix+"-class_map.json", len(g.rows), func(key string) (int32, error) {
		k, known := g.find(key)
		if !known {
			return 0, fmt.Errorf("node %.40q is not in the graph", key)
		}
		return g.node[k], nil
	})
	if g.err == nil {
		g.names()
	}
	return g.end()
}

// sageGraph holds the contents of PREFIX-G.json. A node has its place in the file, and a
// number in the graph if it is kept.
type sageGraph struct {
	*reader
	path  string
	ids   nodeIDs
	nodes []int32         // the handles of the nodes' ids, in the order of the file
	place map[int32]int32 // of each handle: the place of its node
	part  []int8          // of each node: 0 train, 1 valid, 2 test, −1 dropped
	isInt []bool          // of each node: its id is a number
	links []sageLink
	edges bool    // the links are called edges, as networkx 3.4 does
	node  []int32 // number of each node, −1 if dropped
	rows  []int32 // row of the features of each kept node, increasing
}

// sageLink has the handles of two ids, or of two places in the list of nodes.
type sageLink struct {
	ends    [2]int32
	numbers bool // both are numbers
}

// find returns the place of the node with an id.
func (g *sageGraph) find(id string) (at int32, known bool) {
	handle, known := g.ids.find([]byte(id))
	if known {
		at, known = g.place[handle]
	}
	return at, known
}

func (g *sageGraph) readNode(d *json.Decoder, k int) error {
	var node struct {
		ID        any
		Val, Test json.RawMessage
	}
	handle, isInt, err := int32(0), false, d.Decode(&node)
	if err == nil {
		handle, isInt, err = g.id(node.ID)
	}
	if err != nil {
		return fmt.Errorf("node %d: %w", k, err)
	}
	if _, twice := g.place[handle]; twice {
		return fmt.Errorf("node %d: id %.40q is there twice", k, g.ids.text(handle))
	}
	part := int8(0)
	marks := []string{"", "false", "true"} // "": the node lacks it
	switch val, test := slices.Index(marks, string(node.Val)), slices.Index(marks, string(node.Test)); {
	case val < 0 || test < 0:
		return fmt.Errorf("node %d: val or test is not a boolean", k)
	case val == 0 || test == 0:
		part = -1
	case test == 2:
		part = 2
	case val == 2:
		part = 1
	}
	g.place[handle] = int32(k)
	g.nodes, g.part, g.isInt = append(g.nodes, handle), append(g.part, part), append(g.isInt, isInt)
	return nil
}

func (g *sageGraph) readLink(d *json.Decoder, k int) error {
	var ends struct{ Source, Target any }
	if err := d.Decode(&ends); err != nil {
		return fmt.Errorf("link %d: %w", k, err)
	}
	link := sageLink{numbers: true}
	for end, value := range []any{ends.Source, ends.Target} {
		handle, isInt, err := g.id(value)
		if err != nil {
			return fmt.Errorf("link %d: source or target: %w", k, err)
		}
		link.ends[end], link.numbers = handle, link.numbers && isInt
	}
	g.links = append(g.links, link)
	return nil
}

// id returns the handle of an id, which the other files have as a text.
func (g *sageGraph) id(value any) (handle int32, isInt bool, err error) {
	switch v := value.(type) {
	case string:
		return g.ids.handle([]byte(v)), false, g.err
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return g.ids.handle(strconv.AppendInt(nil, int64(v), 10)), true, g.err
		}
	}
	return 0, false, errors.New("an id is neither a name nor a whole number")
}

// number numbers the kept nodes in the order of their rows.
func (g *sageGraph) number(path string) {
	row := slices.Repeat([]int32{-1}, len(g.nodes))
	seen := make(map[int32]bool)
	g.eachMember(path, func(key string, d *json.Decoder) error {
		r, err := decodeNode(d, math.MaxInt32)
		if err == nil && seen[r] {
			err = fmt.Errorf("row %d is there twice", r)
		}
		if err != nil {
			return fmt.Errorf("node %.40q: %w", key, err)
		}
		seen[r] = true
		if k, known := g.find(key); known {
			row[k] = r
		}
		return nil
	})
	var kept []int32
	for k, part := range g.part {
		if part >= 0 {
			g.check(row[k] >= 0, path, "no row for node %.40q", g.ids.text(g.nodes[k]))
			kept = append(kept, int32(k))
		}
	}
	g.check(len(kept) > 0, g.path, "no node has the marks val and test")
	slices.SortFunc(kept, func(a, b int32) int { return cmp.Compare(row[a], row[b]) })
	g.node = slices.Repeat([]int32{-1}, len(g.nodes))
	for number, k := range kept {
		g.node[k] = int32(number)
		g.rows = append(g.rows, row[k])
	}
}

// byID tells whether the links that are numbers are ids, not places.
func (g *sageGraph) byID() bool {
	links := g.keys["links"]
	if links != "" || g.edges {
		return links != "order"
	}
	places, ids, example := true, true, ""
	for k, link := range g.links {
		for _, v := range link.ends {
			if !link.numbers {
				continue
			}
			at, known := g.place[v]
			places, ids = places && v >= 0 && int(v) < len(g.nodes), ids && known && g.isInt[at]
			if example == "" && known && at != v {
				example = fmt.Sprintf("link %d names %s, which is the id of node %d of the list", k, g.ids.text(v), at)
			}
		}
	}
	g.check(!places || !ids || example == "", g.path, "%s: say links=ids (networkx 2 and later wrote the file) or links=order (links count the nodes in the order of the file, networkx 1)", example)
	return ids && !places
}

// makeGraph makes the graph of the links between kept nodes.
func (g *sageGraph) makeGraph() {
	byID := g.byID()
	var kept [][2]int32
	for k, link := range g.links {
		var ends [2]int32
		for end, v := range link.ends {
			at, known := g.place[v]
			if link.numbers && !byID {
				at, known = v, v >= 0 && int(v) < len(g.nodes)
				g.check(known, g.path, "link %d: (%s, %s) outside [0, %d)", k, g.ids.text(link.ends[0]), g.ids.text(link.ends[1]), len(g.nodes))
			}
			if !g.check(known, g.path, "link %d: no node has the id %.40q", k, g.ids.text(v)) {
				return
			}
			ends[end] = g.node[at]
		}
		if ends[0] >= 0 && ends[1] >= 0 {
			kept = append(kept, ends)
		}
	}
	g.links = nil
	g.pairs(g.path, len(g.rows), len(kept), nil, func(k int) (int32, int32) { return kept[k][0], kept[k][1] })
	if dropped := len(g.nodes) - len(g.rows); dropped > 0 {
		g.note("%d nodes without the marks val and test dropped, with their links", dropped)
	}
}

// readFeatures reads the rows of the kept nodes.
func (g *sageGraph) readFeatures(path string) {
	data, a := numbers[float32](g.file(path), "", "nodes", "features")
	if g.err != nil {
		return
	}
	last := g.rows[len(g.rows)-1]
	if !g.check(int(last) < a.Shape[0], path, "no row %d among %d, which a node has", last, a.Shape[0]) {
		return
	}
	x := &graph.Features{Rows: len(g.rows), Cols: a.Shape[1], Data: data}
	for i, row := range g.rows { // rows increase, so no row is overwritten before its copy
		copy(x.Row(i), data[int(row)*x.Cols:])
	}
	x.Data = data[:x.Rows*x.Cols]
	g.checkFinite(path, 0, x.Cols, x.Data)
	g.Features = x
}

// names gives the kept nodes their ids, unless each is its number, and makes the split of the
// marks.
func (g *sageGraph) names() {
	ids, split := make([]string, len(g.rows)), &Split{}
	for k, i := range g.node {
		if i >= 0 {
			ids[i] = g.ids.text(g.nodes[k])
			to := split.parts()[g.part[k]]
			*to = append(*to, i)
		}
	}
	for _, part := range split.parts() {
		slices.Sort(*part)
	}
	if g.o.Split {
		g.Split = split
	}
	g.nameNodes(ids)
}

// nameNodes gives the nodes their ids, unless each is its number.
func (r *reader) nameNodes(ids []string) {
	names, named := new(graph.Names), false
	for i, id := range ids {
		names.Append(id)
		named = named || id != strconv.Itoa(i)
	}
	if named {
		r.NodeNames = names
	}
}
