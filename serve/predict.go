package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/score"
)

// prediction is the answer about one node.
type prediction struct {
	Node          string             `json:"node,omitempty"`  // empty for a node that is not stored
	Class         string             `json:"class,omitempty"` // the most probable one
	Tasks         []string           `json:"tasks,omitempty"` // with a probability of more than a half
	Probabilities map[string]float32 `json:"probabilities"`
}

// newNode is a node that is not stored.
type newNode struct {
	Features  jsontext.Value `json:"features"`
	Neighbors []nodeID       `json:"neighbors"`
}

// question is the body of POST /predict.
type question struct {
	Nodes []nodeID  `json:"nodes"`
	New   []newNode `json:"new"`
}

// ask answers q in the version of now, about each new node as if it alone were added.
func (s *Server) ask(r *http.Request, q question) (all []prediction, err error) {
	n := len(q.Nodes) + len(q.New)
	if n == 0 || n > s.options.Nodes {
		return nil, fmt.Errorf("%d nodes: want 1 to %d of nodes and new", n, s.options.Nodes)
	}
	top := s.data.Labels.Outputs()
	if text := r.URL.Query().Get("top"); text != "" {
		if top, err = strconv.Atoi(text); err != nil || top < 1 {
			return nil, fmt.Errorf("top=%.20s: want a number of classes or tasks from 1", text)
		}
	}
	if n == 1 { // waking another core takes longer than half of one prediction
		cores := runtime.GOMAXPROCS(0)
		parallel.Reserve(cores - 1)
		defer parallel.Reserve(1 - cores)
	}
	v := s.now.Load()
	nodes, err := s.findAll(v, q.Nodes)
	if err != nil {
		return nil, err
	}
	if all, err = s.infer(r.Context(), v.graph, nodes, top); err != nil {
		return nil, err
	}
	for k, node := range nodes {
		all[k].Node = s.name(v, node)
	}
	for k, node := range q.New {
		features, err := s.data.NewFeatures(node.Features, len(node.Neighbors))
		neighbors, missing := s.findAll(v, node.Neighbors)
		if err = cmp.Or(err, missing); err != nil {
			return nil, fmt.Errorf("new, node %d: %w", k, err)
		}
		larger, err := v.graph.With(features, neighbors, nil)
		if err != nil {
			return nil, err
		}
		answer, err := s.infer(r.Context(), larger, []int32{int32(v.graph.Nodes())}, top)
		if err != nil {
			return nil, err
		}
		all = append(all, answer...)
	}
	return all, nil
}

// infer returns predictions of nodes, with the probabilities of the top best outputs.
func (s *Server) infer(ctx context.Context, o *graph.Overlay, nodes []int32, top int) (all []prediction, err error) {
	logits, err := s.model.InferOverlay(ctx, o, nodes)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(logits, func(x float32) bool { return x-x != 0 }) {
		return nil, errors.New("the scores are not finite: the features are too large")
	}
	labels, values := s.data.Labels, slices.Clone(logits)
	score.Probabilities(values, labels)
	order := make([]int, labels.Outputs())
	for n := len(order); len(logits) > 0; logits, values = logits[n:], values[n:] {
		for k := range order {
			order[k] = k
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(logits[b], logits[a]) }) // of equal ones the first
		p := prediction{Probabilities: map[string]float32{}}
		if labels.Tasks == 0 {
			p.Class = labels.Name(order[0])
		}
		for rank, k := range order {
			if labels.Tasks > 0 && logits[k] > 0 {
				p.Tasks = append(p.Tasks, labels.Name(k))
			}
			if rank < top {
				p.Probabilities[labels.Name(k)] = values[k]
			}
		}
		all = append(all, p)
	}
	return all, nil
}
