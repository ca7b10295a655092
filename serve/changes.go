package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/gcn-layerwise/gcn/graph"
)

// version is the graph at one moment. It never changes, unless its graph is a draft.
type version struct {
	number int64 // of changes so far
	graph  *graph.Overlay
	added  []string // ids of the nodes after the base's
	broken error    // the draft is of no use
}

// nodeID is the id of a node in JSON: a string or a number.
type nodeID string

// UnmarshalJSON implements json.Unmarshaler.
func (id *nodeID) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, (*string)(id))
	}
	if _, err := strconv.ParseUint(string(text), 10, 64); err != nil {
		return fmt.Errorf("the id of a node is %.40s: want a string or a whole number", text)
	}
	*id = nodeID(text)
	return nil
}

// edgeEnds is an edge in JSON: two ids, and a weight if it is not 1.
type edgeEnds struct {
	u, v   nodeID
	weight float32
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *edgeEnds) UnmarshalJSON(text []byte) error {
	e.weight = 1
	parts := []any{&e.u, &e.v, &e.weight}
	err := json.Unmarshal(text, &parts)
	if err != nil || len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, nil) || !(e.weight > 0) {
		return fmt.Errorf("an edge is %.60s: want two ids, and perhaps a positive weight", text)
	}
	return nil
}

// nodeChange is a node to add, or to give other features.
type nodeChange struct {
	ID       nodeID         `json:"id"`
	Features jsontext.Value `json:"features"`

	values []float32
}

// change is the body of POST /changes.
type change struct {
	AddNodes    []nodeChange `json:"add_nodes"`
	RemoveEdges []edgeEnds   `json:"remove_edges"`
	AddEdges    []edgeEnds   `json:"add_edges"`
	SetFeatures []nodeChange `json:"set_features"`
	RemoveNodes []nodeID     `json:"remove_nodes"`

	text jsontext.Value // in one line

	made struct {
		Version int64    `json:"version"`
		Added   []string `json:"added,omitempty"` // ids of the new nodes
	}
	err error // why it is not made
}

// decode reads one JSON object, and nothing but it. A field twice is an error. An error names the field.
func decode(text []byte, to any) error {
	if kind := jsontext.Value(text).Kind(); kind != '{' {
		return errors.New("want a JSON object")
	}
	err := jsonv2.Unmarshal(text, to, jsonv2.RejectUnknownMembers(true))
	if wrong, ok := errors.AsType[*jsonv2.SemanticError](err); ok {
		err = fmt.Errorf("field %q: %w", wrong.JSONPointer, cmp.Or(wrong.Err, errors.New("the value has the wrong kind")))
	}
	return err
}

// readChange reads a change, and gives its features the form of the model's.
func (s *Server) readChange(text []byte) (c *change, err error) {
	c = &change{text: text}
	if err = decode(text, c); err != nil {
		return nil, err
	}
	for _, nodes := range [][]nodeChange{c.AddNodes, c.SetFeatures} {
		for k := range nodes {
			if nodes[k].values, err = s.data.ReadFeatures(nodes[k].Features); err != nil {
				return nil, fmt.Errorf("node %.40q: %w", nodes[k].ID, err)
			}
		}
	}
	return c, c.text.Compact()
}

// errNoNode is wrapped by errors about a node that is not there.
var errNoNode = errors.New("there is no such node")

// find returns the node with an id.
func (s *Server) find(v *version, id nodeID) (int32, error) {
	node, err := s.data.Node(string(id))
	if err == nil && v.graph.Has(node) {
		return node, nil
	}
	for _, node := range s.numbers(id) { // later versions may have more of them
		if v.graph.Has(node) && s.name(v, node) == string(id) {
			return node, nil
		}
	}
	return -1, fmt.Errorf("node %.40q: %w", id, errNoNode)
}

func (s *Server) findAll(v *version, ids []nodeID) (nodes []int32, err error) {
	nodes = make([]int32, len(ids))
	for k, id := range ids {
		if nodes[k], err = s.find(v, id); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// numbers returns the numbers of an id of added nodes, in the order of adding. A number counts in a
// version where its node has the id.
func (s *Server) numbers(id nodeID) []int32 {
	numbers, _ := s.added.Load(id)
	list, _ := numbers.([]int32)
	return list
}

// name returns the id of a node.
func (s *Server) name(v *version, node int32) string {
	if k := int(node) - s.data.Nodes(); k >= 0 {
		return v.added[k]
	}
	return s.data.NodeNames.At(int(node))
}

// draft returns the next version, for apply.
func (s *Server) draft() *version {
	next := *s.now.Load()
	next.graph = next.graph.Draft()
	return &next
}

// apply makes a change in a draft, and the ids of its nodes known to find.
func (s *Server) apply(v *version, c *change) (failed error) {
	var g graph.Change
	first, added := v.graph.Nodes(), map[nodeID]int32{}
	for k, n := range c.AddNodes {
		id, number := n.ID, nodeID(strconv.Itoa(first+k))
		if s.data.NodeNames == nil {
			id = cmp.Or(id, number)
		}
		_, err := s.find(v, id)
		if _, twice := added[id]; err == nil || twice || id == "" || s.data.NodeNames == nil && id != number {
			return fmt.Errorf("add_nodes: want the id of a new node, not %.40q; the next number is %s", id, number)
		}
		added[id] = int32(first + k)
		c.made.Added, g.AddNodes = append(c.made.Added, string(id)), append(g.AddNodes, n.values)
	}
	find := func(field string, id nodeID) int32 {
		node, isNew := added[id]
		if !isNew && failed == nil {
			if node, failed = s.find(v, id); failed != nil {
				failed = fmt.Errorf("%s: %w", field, failed)
			}
		}
		return node
	}
	edges := func(field string, list []edgeEnds) (edges []graph.Edge) {
		for _, e := range list {
			edge := graph.Edge{U: find(field, e.u), V: find(field, e.v)}
			if edge.U == edge.V {
				failed = cmp.Or(failed, fmt.Errorf("%s: [%.40q, %.40q]: want two nodes that differ", field, e.u, e.v))
			}
			edges = append(edges, edge)
		}
		return edges
	}
	g.RemoveEdges, g.AddEdges = edges("remove_edges", c.RemoveEdges), edges("add_edges", c.AddEdges)
	for _, e := range c.AddEdges {
		g.Weights = append(g.Weights, e.weight)
	}
	for _, n := range c.SetFeatures {
		g.SetFeatures = append(g.SetFeatures, graph.NodeFeatures{Node: find("set_features", n.ID), Values: n.values})
	}
	removed := map[int32]bool{}
	for _, id := range c.RemoveNodes {
		node := find("remove_nodes", id)
		if removed[node] {
			failed = cmp.Or(failed, fmt.Errorf("remove_nodes: node %.40q is there twice", id))
		}
		removed[node], g.RemoveNodes = true, append(g.RemoveNodes, node)
	}
	if failed == nil {
		if failed = v.graph.Change(&g); failed != nil {
			v.broken = fmt.Errorf("%w: another change of the same moment failed", errUnavailable)
		}
	}
	if failed != nil {
		return failed
	}
	for id, node := range added {
		s.added.Store(id, append(s.numbers(id), node))
	}
	v.number, v.added = v.number+1, append(v.added, c.made.Added...)
	c.made.Version = v.number
	return nil
}

// commit makes a change. Changes that wait at the same time share a version and an fsync: the first
// of them makes all. A version is visible only when the log has it.
func (s *Server) commit(c *change) error {
	s.tasks <- c
	s.writing.Lock()
	defer s.writing.Unlock()
	if c.made.Version > 0 || c.err != nil {
		return c.err
	}
	var group []*change
	var records []byte
	next := s.draft()
	for len(s.tasks) > 0 {
		c := <-s.tasks
		err := cmp.Or(s.log.broken, next.broken)
		if c.err = errUnavailable; err == nil { // should apply panic
			err = s.apply(next, c)
		}
		if err != nil {
			c.err = err
			continue
		}
		records, group = record(records, c.text), append(group, c)
	}
	err := cmp.Or(next.broken, next.graph.Finish())
	if err == nil {
		err = s.log.append(records)
	}
	if err == nil {
		s.now.Store(next)
	}
	for _, c := range group {
		c.err = err
	}
	return c.err
}
