package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/score"
)

// prediction is the answer about one node.
type prediction struct {
	Node          string             `json:"node,omitempty"`  // empty for a node that is not stored
	Class         *string            `json:"class,omitempty"` // the most probable one
	Tasks         []string           `json:"tasks,omitempty"` // with a probability of more than a half
	Probabilities map[string]float32 `json:"probabilities"`
}

// newNode is a node that is not stored.
type newNode struct {
	Features  json.RawMessage `json:"features"`
	Neighbors []nodeID        `json:"neighbors"`
}

// node is GET /nodes/{id}.
func (s *Server) node(r *http.Request) (any, error) {
	all, err := s.predictions(r, []nodeID{nodeID(r.PathValue("id"))}, nil)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// predict is POST /predict.
func (s *Server) predict(r *http.Request) (any, error) {
	var asked struct {
		Nodes []nodeID  `json:"nodes"`
		New   []newNode `json:"new"`
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if err := decode(text, &asked); err != nil {
		return nil, err
	}
	if n := len(asked.Nodes) + len(asked.New); n == 0 || n > s.options.Nodes {
		return nil, fmt.Errorf("%d nodes: want 1 to %d of nodes and new", n, s.options.Nodes)
	}
	all, err := s.predictions(r, asked.Nodes, asked.New)
	return map[string][]prediction{"predictions": all}, err
}

// predictions answers about nodes, and about each new node as if it alone were added, all in
// one version.
func (s *Server) predictions(r *http.Request, nodes []nodeID, added []newNode) ([]prediction, error) {
	top, outputs := 0, s.data.Labels.Outputs()
	if text := r.URL.Query().Get("top"); text != "" {
		var err error
		if top, err = strconv.Atoi(text); err != nil || top < 1 {
			return nil, fmt.Errorf("top=%.20s: want a number of classes or tasks from 1", text)
		}
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-r.Context().Done():
		return nil, errBusy
	}
	v := s.now.Load()
	var all []prediction
	if len(nodes) > 0 {
		numbers := make([]int32, len(nodes))
		for k, id := range nodes {
			var err error
			if numbers[k], err = s.find(v, id); err != nil {
				return nil, err
			}
		}
		logits, err := s.model.InferOverlay(r.Context(), v.graph, numbers)
		if err != nil {
			return nil, err
		}
		for k, node := range numbers {
			p, err := s.answer(logits[k*outputs:(k+1)*outputs], top)
			if err != nil {
				return nil, err
			}
			p.Node = s.name(v, node)
			all = append(all, p)
		}
	}
	for k, n := range added {
		logits, err := s.unstored(r, v, n)
		if err != nil {
			return nil, fmt.Errorf("new, node %d: %w", k, err)
		}
		p, err := s.answer(logits, top)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// unstored returns the logits of a node that is not stored.
func (s *Server) unstored(r *http.Request, v *version, n newNode) ([]float32, error) {
	features, err := s.data.NewFeatures(n.Features, len(n.Neighbors))
	if err != nil {
		return nil, err
	}
	node := int32(v.graph.Nodes())
	c := graph.Change{AddNodes: [][]float32{features}}
	for _, id := range n.Neighbors {
		neighbor, err := s.find(v, id)
		if err != nil {
			return nil, err
		}
		c.AddEdges = append(c.AddEdges, graph.Edge{U: node, V: neighbor})
	}
	larger, err := v.graph.Apply(&c)
	if err != nil {
		return nil, err
	}
	return s.model.InferOverlay(r.Context(), larger, []int32{node})
}

// answer turns logits into probabilities, of the top best outputs; 0: of all.
func (s *Server) answer(logits []float32, top int) (prediction, error) {
	labels := s.data.Labels
	for _, x := range logits {
		if x-x != 0 {
			return prediction{}, errors.New("the scores are not finite: the features are too large")
		}
	}
	values, order := slices.Clone(logits), make([]int, len(logits))
	score.Probabilities(values, labels)
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(logits[b], logits[a]) }) // of equal ones the first
	p := prediction{Probabilities: map[string]float32{}}
	if labels.Tasks == 0 {
		class := labels.Name(order[0])
		p.Class = &class
	}
	for rank, k := range order {
		if labels.Tasks > 0 && logits[k] > 0 {
			p.Tasks = append(p.Tasks, labels.Name(k))
		}
		if top == 0 || rank < top {
			p.Probabilities[labels.Name(k)] = values[k]
		}
	}
	return p, nil
}
