package formats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

// SAGE reads GraphSAGE's files (Hamilton, Ying & Leskovec 2017,
// arXiv:1706.02216): PREFIX-G.json, a networkx graph as nodes and links,
// PREFIX-id_map.json from ids to rows, PREFIX-class_map.json and
// PREFIX-feats.npy. As in GraphSAGE's loader, nodes that lack the marks val and
// test are dropped, and links that are numbers count nodes in the order of the
// file. The set has the split of the marks if o.Split is true.
func SAGE(ctx context.Context, prefix string, o Options) (*Set, error) {
	path := prefix + "-G.json"
	g := &sageGraph{path: path, index: make(map[string]int32), tally: newTally(path)}
	if err := g.read(ctx); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	node, n, err := g.number(ctx, prefix+"-id_map.json")
	if err != nil {
		return nil, err
	}
	d := &Set{Direction: o.Direction}
	if err := g.build(node, n, d); err != nil {
		return nil, err
	}
	if err := g.readFeatures(ctx, prefix, d); err != nil {
		return nil, err
	}
	d.Labels, err = readClassMap(ctx, prefix+"-class_map.json", n, func(key string) (int32, error) {
		k, known := g.index[key]
		if !known {
			return 0, fmt.Errorf("node %.40q is not in the graph", key)
		}
		return node[k], nil
	})
	if err != nil {
		return nil, err
	}
	d.noteNames()
	d.NodeNames = g.names(node, n)
	if o.Split {
		g.split(node, d)
	}
	return d, nil
}

// sageGraph holds the contents of PREFIX-G.json.
type sageGraph struct {
	path  string
	ids   []string // of the nodes, in the order of the file
	part  []int8   // of each node: 0 train, 1 valid, 2 test, −1 dropped
	index map[string]int32
	links []graph.Edge // between nodes by their place in the file
	named [][2]string  // between nodes by their ids
	rows  []int32      // row of the features of each kept node, increasing
	tally memory.Tally
}

// read reads the graph file. Its members may come in any order.
func (g *sageGraph) read(ctx context.Context) error {
	var nodes, links bool
	return eachMember(ctx, g.path, func(key string, d *json.Decoder) error {
		switch key {
		case "nodes":
			if err := once(&nodes, key); err != nil {
				return err
			}
			return elements(d, func(k int) error { return g.readNode(d, k) })
		case "links", "edges":
			if err := once(&links, key); err != nil {
				return err
			}
			return elements(d, func(k int) error { return g.readLink(d, k) })
		}
		return skip(d)
	})
}

func (g *sageGraph) readNode(d *json.Decoder, k int) error {
	var id json.Token
	var val, test bool
	var hasID, hasVal, hasTest bool
	err := members(d, func(key string, d *json.Decoder) (err error) {
		switch key {
		case "id":
			if err = once(&hasID, key); err == nil {
				id, err = d.Token()
			}
		case "val":
			if err = once(&hasVal, key); err == nil {
				val, err = decode[bool](d, "boolean")
			}
		case "test":
			if err = once(&hasTest, key); err == nil {
				test, err = decode[bool](d, "boolean")
			}
		default:
			return skip(d)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("node %d: %w", k, err)
	}
	name, err := sageID(id)
	if err != nil {
		return fmt.Errorf("node %d: %w", k, err)
	}
	if _, twice := g.index[name]; twice {
		return fmt.Errorf("node %d: id %.40q is there twice", k, name)
	}
	part := int8(-1)
	switch {
	case !hasVal || !hasTest:
	case test:
		part = 2
	case val:
		part = 1
	default:
		part = 0
	}
	g.index[name] = int32(k)
	g.ids, g.part = append(g.ids, name), append(g.part, part)
	const entry = 256 // bytes of a node in the slices and maps, while they grow
	return g.tally.Add(entry + int64(len(name)))
}

func (g *sageGraph) readLink(d *json.Decoder, k int) error {
	var ends [2]json.Token
	var has [2]bool
	err := members(d, func(key string, d *json.Decoder) (err error) {
		end := slices.Index([]string{"source", "target"}, key)
		if end < 0 {
			return skip(d)
		}
		if err = once(&has[end], key); err == nil {
			ends[end], err = d.Token()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("link %d: %w", k, err)
	}
	from, fromNumber := ends[0].(float64)
	to, toNumber := ends[1].(float64)
	if fromNumber && toNumber {
		if from != math.Trunc(from) || to != math.Trunc(to) || min(from, to) < 0 || max(from, to) >= math.MaxInt32 {
			return fmt.Errorf("link %d: %v to %v are not nodes", k, from, to)
		}
		g.links = append(g.links, graph.Edge{U: int32(from), V: int32(to)})
		return g.tally.Add(appendGrowth * 8)
	}
	source, err1 := sageID(ends[0])
	target, err2 := sageID(ends[1])
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("link %d: source or target is neither a number nor a name", k)
	}
	g.named = append(g.named, [2]string{source, target})
	return g.tally.Add(appendGrowth*32 + int64(len(source)+len(target)))
}

// sageID returns an id in the form of the other files' keys.
func sageID(value json.Token) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatInt(int64(v), 10), nil
		}
	}
	return "", errors.New("id is neither a name nor an integer")
}

// number numbers the kept nodes in the order of their rows. It returns the number of
// each node of the file, −1 for dropped nodes, and the count of kept nodes.
func (g *sageGraph) number(ctx context.Context, path string) (node []int32, n int, err error) {
	row := slices.Repeat([]int32{-1}, len(g.ids))
	seen := make(map[int32]bool)
	tally := newTally(path)
	err = eachMember(ctx, path, func(key string, d *json.Decoder) error {
		r, err := decodeInt32(d)
		if err != nil {
			return fmt.Errorf("node %.40q: %w", key, err)
		}
		if r < 0 || r == math.MaxInt32 || seen[r] {
			return fmt.Errorf("node %.40q: row %d is negative, too large or there twice", key, r)
		}
		seen[r] = true
		if k, known := g.index[key]; known {
			if row[k] >= 0 {
				return fmt.Errorf("node %.40q is there twice", key)
			}
			row[k] = r
		}
		const entry = 64 // bytes of a node in seen, while it grows
		return tally.Add(entry)
	})
	if err != nil {
		return nil, 0, err
	}
	var kept []int32
	for k := range g.ids {
		if g.part[k] < 0 {
			continue
		}
		if row[k] < 0 {
			return nil, 0, fmt.Errorf("datasets: %s: no row for node %.40q", path, g.ids[k])
		}
		kept = append(kept, int32(k))
	}
	slices.SortFunc(kept, func(a, b int32) int { return cmp.Compare(row[a], row[b]) })
	node = slices.Repeat([]int32{-1}, len(g.ids))
	for number, k := range kept {
		node[k] = int32(number)
		g.rows = append(g.rows, row[k])
	}
	if len(kept) == 0 {
		return nil, 0, fmt.Errorf("datasets: %s: no node has the marks val and test", g.path)
	}
	return node, len(kept), nil
}

// build makes the graph of the links between kept nodes.
func (g *sageGraph) build(node []int32, n int, d *Set) error {
	b, err := newBuilder(g.path, n)
	if err != nil {
		return err
	}
	for k, ids := range g.named {
		from, known := g.index[ids[0]]
		to, alsoKnown := g.index[ids[1]]
		if !known || !alsoKnown {
			return fmt.Errorf("datasets: %s: link %d: %.40q to %.40q: no such nodes", g.path, k, ids[0], ids[1])
		}
		g.links = append(g.links, graph.Edge{U: from, V: to})
	}
	for k, link := range g.links {
		if int(max(link.U, link.V)) >= len(node) {
			return fmt.Errorf("datasets: %s: link %d: (%d, %d) outside [0, %d)", g.path, k, link.U, link.V, len(node))
		}
		from, to := node[link.U], node[link.V]
		if from < 0 || to < 0 {
			continue
		}
		if err := b.Add(from, to); err != nil {
			return fmt.Errorf("datasets: %s: link %d: %w", g.path, k, err)
		}
	}
	g.links, g.named = nil, nil
	d.build(b)
	if dropped := len(node) - n; dropped > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d nodes without the marks val and test dropped, with their links", dropped))
	}
	return nil
}

// readFeatures reads the rows of the kept nodes.
func (g *sageGraph) readFeatures(ctx context.Context, prefix string, d *Set) error {
	path := prefix + "-feats.npy"
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	r, err := npy.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	if len(r.Shape) != 2 || r.Shape[1] == 0 {
		return fmt.Errorf("datasets: %s: shape %v, want (nodes, features)", path, r.Shape)
	}
	if last := g.rows[len(g.rows)-1]; int(last) >= r.Shape[0] {
		return fmt.Errorf("datasets: %s: no row %d among %d, which a node has", path, last, r.Shape[0])
	}
	data, err := r.Float32s(ctx)
	if err != nil {
		return err
	}
	cols := r.Shape[1]
	for i, row := range g.rows { // rows increase, so no row is overwritten before its copy
		copy(data[i*cols:(i+1)*cols], data[int(row)*cols:])
	}
	d.Features = &graph.Features{Rows: len(g.rows), Cols: cols, Data: data[:len(g.rows)*cols]}
	return checkFinite(path, d.Features)
}

// names returns the ids of the kept nodes, nil if each is its number.
func (g *sageGraph) names(node []int32, n int) *graph.Names {
	ids, named := make([]string, n), false
	for k, i := range node {
		if i >= 0 {
			ids[i] = g.ids[k]
			named = named || g.ids[k] != strconv.Itoa(int(i))
		}
	}
	if !named {
		return nil
	}
	names := new(graph.Names)
	for _, id := range ids {
		names.Append(id)
	}
	return names
}

// split sets the split from the marks of the nodes.
func (g *sageGraph) split(node []int32, d *Set) {
	d.Split = &Split{}
	parts := d.Split.parts()
	for k, i := range node {
		if i >= 0 {
			*parts[g.part[k]] = append(*parts[g.part[k]], i)
		}
	}
	for _, ids := range parts {
		slices.Sort(*ids)
	}
}
