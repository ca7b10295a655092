package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/gcn-layerwise/gcn/graph"
)

// version is the graph at one moment. It never changes.
type version struct {
	number int64 // of changes so far
	graph  *graph.Overlay
	added  []string // ids of the nodes that were added
}

// nodeID is the id of a node in JSON: a string or a number.
type nodeID string

// UnmarshalJSON implements json.Unmarshaler.
func (id *nodeID) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, (*string)(id))
	}
	number, err := strconv.ParseUint(string(text), 10, 64)
	*id = nodeID(strconv.FormatUint(number, 10))
	if err != nil {
		return fmt.Errorf("the id of a node is %.40s: want a string or a whole number", text)
	}
	return nil
}

// edgeEnds is an edge in JSON: two ids, and a weight if it is not 1.
type edgeEnds struct {
	u, v   nodeID
	weight float32
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *edgeEnds) UnmarshalJSON(text []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil || len(parts) < 2 || len(parts) > 3 {
		return fmt.Errorf("an edge is %.60s: want two ids, and perhaps a weight", text)
	}
	e.weight = 1
	err := errors.Join(json.Unmarshal(parts[0], &e.u), json.Unmarshal(parts[1], &e.v))
	if err == nil && len(parts) == 3 {
		err = json.Unmarshal(parts[2], &e.weight)
	}
	return err
}

// nodeChange is a node to add, or to give other features.
type nodeChange struct {
	ID       nodeID          `json:"id"`
	Features json.RawMessage `json:"features"`

	values []float32
}

// change is the body of POST /changes.
type change struct {
	AddNodes    []nodeChange `json:"add_nodes"`
	RemoveEdges []edgeEnds   `json:"remove_edges"`
	AddEdges    []edgeEnds   `json:"add_edges"`
	SetFeatures []nodeChange `json:"set_features"`
	RemoveNodes []nodeID     `json:"remove_nodes"`

	text []byte // in one line
}

// readChange reads a change, and gives its features the form of the model's.
func (s *Server) readChange(text []byte) (*change, error) {
	c := new(change)
	if err := decode(text, c); err != nil {
		return nil, err
	}
	for _, nodes := range [][]nodeChange{c.AddNodes, c.SetFeatures} {
		for k := range nodes {
			var err error
			if nodes[k].values, err = s.data.ReadFeatures(nodes[k].Features); err != nil {
				return nil, fmt.Errorf("node %.40q: %w", nodes[k].ID, err)
			}
		}
	}
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return nil, err
	}
	c.text = line.Bytes()
	return c, nil
}

// decode reads one JSON object, and nothing but it.
func decode(text []byte, to any) error {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return errors.New("want a JSON object")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(to); err != nil {
		return err
	}
	if rest := bytes.TrimSpace(text[decoder.InputOffset():]); len(rest) > 0 {
		return fmt.Errorf("after the JSON object: %.20q", rest)
	}
	return nil
}

// errNoNode is wrapped by errors about a node that is not there.
var errNoNode = errors.New("there is no such node")

// find returns the node with an id.
func (s *Server) find(v *version, id nodeID) (int32, error) {
	node, err := s.data.Node(string(id))
	if err == nil && v.graph.Has(node) {
		return node, nil
	}
	if s.data.NodeNames == nil {
		if number, err := strconv.ParseUint(string(id), 10, 31); err == nil && v.graph.Has(int32(number)) {
			return int32(number), nil
		}
	} else if numbers, known := s.added.Load(string(id)); known {
		for _, node := range numbers.([]int32) { // later versions may have more of them
			if v.graph.Has(node) && s.name(v, node) == string(id) {
				return node, nil
			}
		}
	}
	return -1, fmt.Errorf("node %.40q: %w", id, errNoNode)
}

// name returns the id of a node.
func (s *Server) name(v *version, node int32) string {
	if base := v.graph.BaseNodes(); int(node) >= base {
		return v.added[int(node)-base]
	}
	return s.data.NodeNames.At(int(node))
}

// apply returns the version after a change.
func (s *Server) apply(v *version, c *change) (*version, error) {
	next := &version{number: v.number + 1, added: v.added}
	g := new(graph.Change)
	newNodes := map[nodeID]int32{}
	for k, n := range c.AddNodes {
		node := int32(v.graph.Nodes() + k)
		if s.data.NodeNames == nil {
			if n.ID != "" && string(n.ID) != strconv.Itoa(int(node)) {
				return nil, fmt.Errorf("add_nodes: the nodes go by their numbers, and the next one is %d, not %.40q", node, n.ID)
			}
			n.ID = nodeID(strconv.Itoa(int(node)))
		} else {
			_, err := s.find(v, n.ID)
			_, twice := newNodes[n.ID]
			if err == nil || twice || n.ID == "" {
				return nil, fmt.Errorf("add_nodes: want the id of a new node, not %.40q", n.ID)
			}
		}
		newNodes[n.ID] = node
		next.added = append(next.added, string(n.ID))
		g.AddNodes = append(g.AddNodes, n.values)
	}
	find := func(id nodeID) (int32, error) {
		if node, isNew := newNodes[id]; isNew {
			return node, nil
		}
		return s.find(v, id)
	}
	edges := func(what string, ends []edgeEnds) (list []graph.Edge, err error) {
		for _, e := range ends {
			u, err := find(e.u)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", what, err)
			}
			v, err := find(e.v)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", what, err)
			}
			list = append(list, graph.Edge{U: u, V: v})
		}
		return list, nil
	}
	var err error
	if g.RemoveEdges, err = edges("remove_edges", c.RemoveEdges); err != nil {
		return nil, err
	}
	if g.AddEdges, err = edges("add_edges", c.AddEdges); err != nil {
		return nil, err
	}
	for _, e := range c.AddEdges {
		g.Weights = append(g.Weights, e.weight)
	}
	for _, n := range c.SetFeatures {
		node, err := find(n.ID)
		if err != nil {
			return nil, fmt.Errorf("set_features: %w", err)
		}
		g.SetFeatures = append(g.SetFeatures, graph.NodeFeatures{Node: node, Values: n.values})
	}
	for _, id := range c.RemoveNodes {
		node, err := find(id)
		if err != nil {
			return nil, fmt.Errorf("remove_nodes: %w", err)
		}
		g.RemoveNodes = append(g.RemoveNodes, node)
	}
	next.graph, err = v.graph.Apply(g)
	return next, err
}

// register makes the names of nodes that a change added known to find.
func (s *Server) register(v *version, c *change) {
	if s.data.NodeNames == nil {
		return
	}
	for k, n := range c.AddNodes {
		var numbers []int32
		if had, known := s.added.Load(string(n.ID)); known {
			numbers = had.([]int32)
		}
		node := int32(v.graph.Nodes() - len(c.AddNodes) + k)
		s.added.Store(string(n.ID), append(numbers[:len(numbers):len(numbers)], node))
	}
}

// replay makes a change of the log.
func (s *Server) replay(text []byte) error {
	c, err := s.readChange(text)
	if err != nil {
		return err
	}
	next, err := s.apply(s.now.Load(), c)
	if err != nil {
		return err
	}
	s.register(next, c)
	s.now.Store(next)
	return nil
}

// task is a change that waits for the committer.
type task struct {
	change *change
	done   chan<- commit
}

// commit is the outcome of a change.
type commit struct {
	version *version
	err     error // of the change
	failed  error // of the log
}

// most is the largest number of changes that one fsync puts on disk.
const most = 1024

// commitChanges applies changes in the order of their arrival, until s.tasks is closed. Changes
// that wait at the same time share an fsync. A version is visible only when the log has it.
func (s *Server) commitChanges() {
	defer close(s.ended)
	for first := range s.tasks {
		group := []task{first}
		for waiting := true; waiting && len(group) < most; {
			select {
			case t, open := <-s.tasks:
				if waiting = open; open {
					group = append(group, t)
				}
			default:
				waiting = false
			}
		}
		s.commit(group)
	}
}

func (s *Server) commit(group []task) {
	now := s.now.Load()
	var records []byte
	var applied []task
	var versions []*version
	for _, t := range group {
		next, err := s.apply(now, t.change)
		if err != nil {
			t.done <- commit{err: err}
			continue
		}
		s.register(next, t.change) // no version that is visible has these nodes
		now, records = next, record(records, t.change.text)
		applied, versions = append(applied, t), append(versions, next)
	}
	var failed error
	if s.log != nil && len(applied) > 0 {
		failed = s.log.append(records)
	}
	if failed == nil {
		s.now.Store(now)
		s.metrics.changes.Add(int64(len(applied)))
	}
	for k, t := range applied {
		t.done <- commit{version: versions[k], failed: failed}
	}
}
