package formats

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

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
	return readSet(ctx, prefix, o, func(r *reader) {
		g := &sageGraph{reader: r, ids: newNodeIDs(r), parts: make(map[int32]int), path: prefix + "-G.json"}
		g.eachMember(g.path, g.readMember)
		g.number(prefix + "-id_map.json")
		g.makeGraph()
		if path := prefix + "-feats.npy"; exists(path) {
			g.readFeatures(path)
		}
		g.readClassMap(prefix+"-class_map.json", g.order.nodes, func(key string) (node int32, known bool) {
			handle, known := g.ids.find([]byte(key))
			return g.order.node(handle), known && g.known.has(handle)
		})
		if !o.Split {
			return
		}
		g.Split = &Split{}
		for node := range g.order.nodes {
			part := &g.Split[g.parts[g.order.id(node)]]
			*part = append(*part, int32(node))
		}
	})
}

// sageGraph holds the contents of PREFIX-G.json.
type sageGraph struct {
	*reader
	path  string
	ids   nodeIDs
	nodes []int32       // handles of their ids, in the order of the file
	known idSet         // the same
	parts map[int32]int // of the split, of each id: 0 train, 1 valid, 2 test; dropped nodes have none
	links []sageLink
	edges bool                        // the links are called edges, as networkx 3.4 does
	texts struct{ nodes, links bool } // some ids are texts
	rows  map[int32]int32             // row of the features of each id
	order *nodeOrder                  // of the kept nodes, which is the order of their rows
}

// sageLink has the handles of two ids, or places in the list of nodes.
type sageLink [2]int32

// id returns the handle of an id, which the other files have as a text. It notes a text.
func (g *sageGraph) id(f *jsonFile, value any, isText *bool) int32 {
	text, ok := textOf(value)
	f.check(ok, "an id is neither a name nor a whole number")
	_, is := value.(string)
	*isText = *isText || is
	return g.ids.handle([]byte(text))
}

// readMember reads a member of the graph.
func (g *sageGraph) readMember(key string, f *jsonFile) {
	switch key {
	case "nodes":
		f.elements('[', func() { g.readNode(f) })
	case "links", "edges":
		f.check(g.links == nil, "links and edges: want one of them")
		g.links, g.edges = []sageLink{}, key == "edges"
		f.elements('[', func() { g.readLink(f) })
	default:
		f.value(new(jsontext.Value))
	}
}

func (g *sageGraph) readNode(f *jsonFile) {
	var node struct {
		ID   any   `json:"id"`
		Val  *bool `json:"val"` // nil: the node lacks it
		Test *bool `json:"test"`
	}
	f.value(&node)
	id := g.id(f, node.ID, &g.texts.nodes)
	f.check(g.known.add(id), "id %.40q is there twice", g.ids.text(id))
	g.nodes = append(g.nodes, id)
	switch {
	case node.Val == nil || node.Test == nil:
	case *node.Test:
		g.parts[id] = 2
	case *node.Val:
		g.parts[id] = 1
	default:
		g.parts[id] = 0
	}
}

func (g *sageGraph) readLink(f *jsonFile) {
	var ends struct {
		Source any `json:"source"`
		Target any `json:"target"`
	}
	f.value(&ends)
	g.links = append(g.links, sageLink{g.id(f, ends.Source, &g.texts.links), g.id(f, ends.Target, &g.texts.links)})
}

// number numbers the kept nodes in the order of their rows.
func (g *sageGraph) number(path string) {
	seen := make(map[int32]bool)
	g.rows = make(map[int32]int32)
	g.eachMember(path, func(key string, f *jsonFile) {
		f.ids = true
		row := f.node(math.MaxInt32)
		f.check(!seen[row], "row %d is there twice", row)
		seen[row] = true
		if handle, known := g.ids.find([]byte(key)); known {
			g.rows[handle] = row
		}
	})
	var kept []int32
	for _, id := range g.nodes {
		if _, isKept := g.parts[id]; isKept {
			_, there := g.rows[id]
			check(there, path, "no row for node %.40q", g.ids.text(id))
			kept = append(kept, id)
		}
	}
	check(len(kept) > 0, g.path, "no node has the marks val and test")
	slices.SortFunc(kept, func(a, b int32) int { return cmp.Compare(g.rows[a], g.rows[b]) })
	g.order = newOrder(&g.known, kept)
	g.NodeNames = g.order.nodeNames(&g.ids)
}

// ends returns the handles of the nodes that a link joins, if there are such nodes.
func (g *sageGraph) ends(link sageLink, byID bool) (ends sageLink, found bool) {
	for k, place := range link {
		if byID {
			break
		} else if place < 0 || int(place) >= len(g.nodes) {
			return link, false
		}
		link[k] = g.nodes[place]
	}
	return link, g.known.has(link[0]) && g.known.has(link[1])
}

// byID tells whether links are ids, not places.
func (g *sageGraph) byID() bool {
	if links := g.keys["links"]; links != "" || g.edges || g.texts.links {
		return links != "order" || g.texts.links
	}
	places, ids, example := true, !g.texts.nodes, ""
	for k, link := range g.links {
		place, isPlace := g.ends(link, false)
		id, isID := g.ends(link, true)
		if places, ids = places && isPlace, ids && isID; example == "" && place != id {
			example = fmt.Sprintf("link %d joins nodes %d and %d of the list, or those with the ids %s", k, link[0], link[1], g.text(link))
		}
	}
	check(!places || !ids || example == "", g.path, "%s: say links=ids (networkx 2 and later wrote the file) or links=order (links count the nodes in the order of the file, networkx 1)", example)
	return ids && !places
}

// text names the ends of a link.
func (g *sageGraph) text(link sageLink) string {
	return fmt.Sprintf("%.40q and %.40q", g.ids.text(link[0]), g.ids.text(link[1]))
}

// makeGraph makes the graph of the links between kept nodes.
func (g *sageGraph) makeGraph() {
	byID := g.byID()
	b := newBuilder(g.path, g.order.nodes, int64(len(g.links)))
	for k, link := range g.links {
		g.poll(k)
		ends, found := g.ends(link, byID)
		check(found, g.path, "link %d joins %s: want two of the %d nodes", k, g.text(link), len(g.nodes))
		if u, v := g.order.node(ends[0]), g.order.node(ends[1]); u >= 0 && v >= 0 {
			try(b.Add(u, v))
		}
	}
	g.links = nil
	g.build(b)
	if dropped := len(g.nodes) - g.order.nodes; dropped > 0 {
		g.note("%d nodes without the marks val and test dropped, with their links", dropped)
	}
}

// readFeatures reads the rows of the kept nodes.
func (g *sageGraph) readFeatures(path string) {
	data, a := numbers[float32](g.file(path), "", "nodes", "features")
	n := g.order.nodes
	last := g.rows[g.order.id(n-1)]
	check(int(last) < a.Shape[0], path, "no row %d among %d, which a node has", last, a.Shape[0])
	x := &graph.Features{Rows: n, Cols: a.Shape[1], Data: data}
	for i := range n { // rows increase, so no row is overwritten before its copy
		copy(x.Row(i), data[int(g.rows[g.order.id(i)])*x.Cols:])
	}
	x.Data = data[:x.Rows*x.Cols]
	g.setFeatures(path, x)
}
