package train

import (
	"errors"
	"fmt"
	"slices"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/internal/argument"
	"github.com/gcn-layerwise/gcn/layers"
)

// ErrModelInUse is wrapped by errors about a model that is being trained.
var ErrModelInUse = errors.New("train: the model is being trained already")

// Model is a model that this package can train: a *layers.Model, or a pointer to a struct
// that embeds one, such as *layers.GCN.
type Model interface {
	Parts() *layers.Model
}

// partsOf returns the parts of m. It is an error if a required one is missing.
func partsOf(m Model) (*layers.Model, error) {
	if argument.Nil(m) || m.Parts() == nil {
		return nil, fmt.Errorf("train: there is no model")
	}
	parts := m.Parts()
	if parts.Batch == nil || parts.Loss == nil || parts.Logits == nil {
		return nil, errors.New("train: model lacks a batch, a loss or logits")
	}
	return parts, nil
}

// parameter is a named float32 tensor of a model.
type parameter struct {
	Name   string
	Shape  []int
	node   *G.Node
	values []float32 // memory of the node's value
}

// parametersOf returns m's parameters with their values.
func parametersOf(m Model) ([]parameter, error) {
	parts, err := partsOf(m)
	if err != nil {
		return nil, err
	}
	nodes := parts.Parameters
	if nodes == nil {
		nodes = learnable(parts.Loss)
	}
	params := make([]parameter, 0, len(nodes))
	seen := map[string]bool{}
	for k, n := range nodes {
		if n == nil || n.Value() == nil {
			return nil, fmt.Errorf("train: parameter %d (%v) has no value", k, n)
		}
		dense, ok := n.Value().(*tensor.Dense)
		if !ok || dense.Dtype() != tensor.Float32 || dense.RequiresIterator() || dense.DataOrder().IsColMajor() {
			return nil, fmt.Errorf("train: parameter %q is %v, want a contiguous row-major float32 tensor", n.Name(), n.Type())
		}
		if seen[n.Name()] {
			return nil, fmt.Errorf("train: two parameters are named %q", n.Name())
		}
		seen[n.Name()] = true
		params = append(params, parameter{
			Name:   n.Name(),
			Shape:  slices.Clone(dense.Shape()),
			node:   n,
			values: dense.Float32s(),
		})
	}
	if len(params) == 0 {
		return nil, fmt.Errorf("train: the loss depends on no parameter")
	}
	return params, nil
}

// parameterCount returns the number of values of all parameters.
func parameterCount(params []parameter) int {
	n := 0
	for _, p := range params {
		n += len(p.values)
	}
	return n
}

// learnable returns the inputs of n with a float32 tensor as value, in the order in which
// they were added to the graph.
func learnable(n *G.Node) G.Nodes {
	var nodes G.Nodes
	for _, in := range n.Graph().ExactSubgraphRoots(n).Inputs() {
		if dense, ok := in.Value().(*tensor.Dense); ok && dense.Dims() > 0 && dense.Dtype() == tensor.Float32 {
			nodes = append(nodes, in)
		}
	}
	return nodes
}
