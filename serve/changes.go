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

// version is the graph at one moment. It never changes.
type version struct {
	number int64 // of changes so far
	graph  *graph.Overlay
	added  []string // ids of the nodes after the base's
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
	if err != nil || len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, nil) || e.u == e.v || !(e.weight > 0) {
		return fmt.Errorf("an edge is %.60s: want two ids that differ, and perhaps a positive weight", text)
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

// apply returns the version after a change, and makes the ids of its nodes known to find.
func (s *Server) apply(v *version, c *change) (next *version, failed error) {
	var g graph.Change
	first, added := v.graph.Nodes(), map[nodeID]int32{}
	next = &version{number: v.number + 1, added: v.added}
	for k, n := range c.AddNodes {
		id, number := n.ID, nodeID(strconv.Itoa(first+k))
		if s.data.NodeNames == nil {
			id = cmp.Or(id, number)
		}
		_, err := s.find(v, id)
		if _, twice := added[id]; err == nil || twice || id == "" || s.data.NodeNames == nil && id != number {
			return nil, fmt.Errorf("add_nodes: want the id of a new node, not %.40q; the next number is %s", id, number)
		}
		added[id] = int32(first + k)
		next.added, g.AddNodes = append(next.added, string(id)), append(g.AddNodes, n.values)
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
	for _, e := range c.RemoveEdges {
		g.RemoveEdges = append(g.RemoveEdges, graph.Edge{U: find("remove_edges", e.u), V: find("remove_edges", e.v)})
	}
	for _, e := range c.AddEdges {
		g.AddEdges = append(g.AddEdges, graph.Edge{U: find("add_edges", e.u), V: find("add_edges", e.v)})
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
		next.graph, failed = v.graph.Apply(&g)
	}
	if failed != nil {
		return nil, failed
	}
	for id, node := range added {
		s.added.Store(id, append(s.numbers(id), node))
	}
	return next, nil
}

// replay makes a change of the log, before the log is open.
func (s *Server) replay(text []byte) error {
	c, err := s.readChange(text)
	if err == nil {
		_, err = s.commit(c)
	}
	return err
}

// task is a change that waits.
type task struct {
	change *change
	made   *version // that shows it, if err is nil
	err    error
}

// commit makes a change and returns the version that shows it. Changes that wait at the same time
// share an fsync: the first of them makes all. A version is visible only when the log has it.
func (s *Server) commit(c *change) (*version, error) {
	t := &task{change: c}
	s.tasks <- t
	s.writing.Lock()
	defer s.writing.Unlock()
	if t.made != nil || t.err != nil {
		return t.made, t.err
	}
	var group []*task
	var records []byte
	versions := []*version{s.now.Load()}
	for len(s.tasks) > 0 {
		t := <-s.tasks
		next, err := versions[len(group)], s.log.broken
		if t.err = errUnavailable; err == nil { // should apply panic
			next, err = s.apply(next, t.change)
		}
		if err != nil {
			t.err = err
			continue
		}
		records = record(records, t.change.text)
		group, versions = append(group, t), append(versions, next)
	}
	err := s.log.append(records)
	if err == nil {
		s.now.Store(versions[len(group)])
	}
	for k, t := range group {
		t.made, t.err = versions[k+1], err
	}
	return t.made, t.err
}
