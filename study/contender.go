package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Contender is a method in a comparison: a name, and a function that makes its
// sampler of one layer, which draws the given number of nodes.
type Contender struct {
	Name string
	New  func(size int) (samplers.Sampler, error)
}

// NodesSuffix follows the name of a debiased method whose population is all nodes
// of the graph, as in the program released with the paper, instead of the
// candidates.
const NodesSuffix = "-nodes"

// ContenderByName returns the contender of that name. It knows the names in
// samplers.Methods, and the debiased methods followed by NodesSuffix, whose weights
// count all nodes. The error about an unknown name lists the known ones. A method of
// SamplesChange is an error.
func ContenderByName(name string, p *graph.Laplacian, train []int32) (Contender, error) {
	if p == nil {
		return Contender{}, fmt.Errorf("study: method %q: the Laplacian is nil", name)
	}
	if SamplesChange(name) {
		return Contender{}, fmt.Errorf("study: %s samples the change since earlier activations, so one propagation shows no error of it", name)
	}
	base, overNodes := strings.CutSuffix(name, NodesSuffix)
	if overNodes && !CountsPopulation(base) {
		return Contender{}, fmt.Errorf("study: method %q: %s has no debiased weights to count nodes with", name, base)
	}
	c := Contender{Name: name, New: func(size int) (samplers.Sampler, error) {
		// With exact input, the lowest layer of a method with a history is drawn.
		config := samplers.Config{Laplacian: p, Train: train, Layers: 1, Sizes: []int{size}, ExactInput: true}
		s, err := samplers.ByName(base, config)
		if err != nil || !overNodes {
			return s, err
		}
		l := s.(*samplers.LayerWise)
		return samplers.Configure(&samplers.LayerWise{
			Importance: l.Importance,
			Draw:       l.Draw,
			Weight:     samplers.Debiased{Population: samplers.AllNodes},
		}, config)
	}}
	_, err := c.New(1)
	return c, err
}

// Contenders returns the contenders of some names.
func Contenders(names []string, p *graph.Laplacian, train []int32) ([]Contender, error) {
	var all []Contender
	for _, name := range names {
		c, err := ContenderByName(name, p, train)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// CountsPopulation reports whether a method has debiased weights, which count a
// population. NodesSuffix may follow the names of these methods.
func CountsPopulation(method string) bool {
	return slices.Contains(LayerWiseMethods(), method) && strings.HasSuffix(method, "-debiased")
}

// SamplesChange reports whether a method samples the change of the activations since earlier
// ones. Its error depends on them, so it is no Contender. Studies measure mvs without its control.
func SamplesChange(method string) bool { return method == "ladies-cv" || method == "vrgcn" }

// LayerWiseMethods returns the names of the methods that draw a fixed number of
// nodes for each layer, in the order of samplers.Methods.
func LayerWiseMethods() []string {
	var names []string
	for _, m := range samplers.Methods() {
		if strings.HasPrefix(m.Name, "ladies") || strings.HasPrefix(m.Name, "fastgcn") {
			names = append(names, m.Name)
		}
	}
	return names
}
