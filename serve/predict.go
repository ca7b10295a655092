package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gcn-layerwise/gcn/graph"
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

	top int // number of best classes or tasks to answer; 0: all
}

// predict answers about nodes of a version, and about each new node as if it alone were added.
func (s *Server) predict(ctx context.Context, v *version, q question) (all []prediction, err error) {
	nodes, err := s.findAll(v, q.Nodes)
	if err != nil {
		return nil, err
	}
	if all, err = s.infer(ctx, v.graph, nodes, q.top); err != nil {
		return nil, err
	}
	for k, node := range nodes {
		all[k].Node = s.name(v, node)
	}
	for k, n := range q.New {
		features, err := s.data.NewFeatures(n.Features, len(n.Neighbors))
		if err != nil {
			return nil, fmt.Errorf("new, node %d: %w", k, err)
		}
		neighbors, err := s.findAll(v, n.Neighbors)
		if err != nil {
			return nil, err
		}
		larger, err := v.graph.With(features, neighbors, nil)
		if err != nil {
			return nil, err
		}
		answer, err := s.infer(ctx, larger, []int32{int32(v.graph.Nodes())}, q.top)
		if err != nil {
			return nil, err
		}
		all = append(all, answer...)
	}
	return all, nil
}

// infer returns predictions of nodes, with the top best outputs; 0: with all.
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
			if top == 0 || rank < top {
				p.Probabilities[labels.Name(k)] = values[k]
			}
		}
		all = append(all, p)
	}
	return all, nil
}
