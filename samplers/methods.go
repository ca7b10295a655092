package samplers

import (
	"fmt"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
)

// Method is a named way to sample.
type Method struct {
	Name    string // as on the command line
	Summary string // one sentence
	Source  string // where it is published
	Sizes   string // what a sample size counts: "nodes a layer", or "" where sizes are not used
	Default []int  // sample sizes where none are given; nil where one must be, or none is used

	make func(Config) (Sampler, error)
}

// Config is what a named method needs. Fields that a method has no use for are
// ignored.
type Config struct {
	Laplacian *graph.Laplacian // required
	Train     []int32          // training nodes; nil means all nodes
	Layers    int              // number of layers; required
	Sizes     []int            // sample sizes, next to the output first; one a layer, or one for all
}

// ByName returns the sampler that a method's name stands for. The error lists
// the names where the name is none of them, and says what is wrong with the
// config.
func ByName(name string, config Config) (Sampler, error) {
	for _, m := range Methods() {
		if m.Name == name {
			return m.make(config)
		}
	}
	var names []string
	for _, m := range Methods() {
		names = append(names, m.Name)
	}
	return nil, fmt.Errorf("samplers: unknown method %q; known: %s", name, strings.Join(names, ", "))
}

const (
	sourceCalibrate = "Chen, Xu, Hakkani-Tur, Jin, Yang & Zhu, TMLR 2023"
	sourceFastGCN   = "Chen, Ma & Xiao, ICLR 2018, arXiv:1801.10247"
	sourceLADIES    = "Zou, Hu, Wang, Jiang, Sun & Gu, NeurIPS 2019, arXiv:1911.07323"
	sourceLABOR     = "Balin & Çatalyürek, NeurIPS 2023, arXiv:2210.13339"
	sourceGCN       = "Kipf & Welling, ICLR 2017, arXiv:1609.02907"
)

// Methods returns the named methods, in the order in which to list them.
func Methods() []Method {
	methods := []Method{{
		Name:    "full",
		Summary: "every neighbour of every node: exact, and as large as the graph allows",
		Source:  sourceGCN,
		make:    newFull,
	}}
	for _, family := range []struct {
		name, squared, flat, source string
		importance                  func(flat bool) Importance
	}{
		{"ladies", "‖QP^[i]‖²", "‖QP^[i]‖", sourceLADIES, func(flat bool) Importance { return LADIES{Flat: flat} }},
		{"fastgcn", "‖P^[i]‖²", "‖P^[i]‖", sourceFastGCN, func(flat bool) Importance { return FastGCN{Flat: flat} }},
	} {
		for _, variant := range []struct {
			suffix         string
			flat, debiased bool
		}{{"", false, false}, {"-flat", true, false}, {"-debiased", false, true}, {"-flat-debiased", true, true}} {
			law, source := family.squared, family.source
			if variant.flat {
				law = family.flat
			}
			weights, weight := "weights 1/(s p), biased", Weight(Naive{})
			if variant.debiased {
				weights, weight = "debiased weights", Debiased{}
			}
			if variant.suffix != "" {
				source = sourceCalibrate
			}
			importance := family.importance(variant.flat)
			methods = append(methods, Method{
				Name:    family.name + variant.suffix,
				Summary: fmt.Sprintf("layer-wise, p ∝ %s, without replacement, %s", law, weights),
				Source:  source,
				Sizes:   "nodes a layer",
				make: func(c Config) (Sampler, error) {
					return newLayerWise(c, importance, weight)
				},
			})
		}
	}
	methods = append(methods, nodeWiseMethods()...)
	methods = append(methods, subgraphMethods()...)
	return append(methods, Method{
		Name:    "poisson-ladies",
		Summary: "layer-wise, each node on its own with π = min(1, c‖QP^[i]‖²), weights 1/π",
		Source:  sourceLABOR,
		Sizes:   "nodes a layer, on average",
		make:    newPoissonLADIES,
	}, Method{
		Name:    "labor",
		Summary: "each node about k neighbours, all by the same random numbers, weights 1/π",
		Source:  sourceLABOR,
		Sizes:   "neighbours a node, on average",
		Default: []int{2},
		make:    newLabor,
	})
}

func newPoissonLADIES(c Config) (Sampler, error) {
	sizes, err := c.layerSizes()
	if err != nil {
		return nil, err
	}
	s := &LayerWise{Laplacian: c.Laplacian, Sizes: sizes, Importance: LADIES{}, Draw: Poisson{}, Weight: HorvitzThompson{}}
	return s, s.Validate()
}

func newLabor(c Config) (Sampler, error) {
	sizes, err := c.neighbors()
	if err != nil {
		return nil, err
	}
	s := &Labor{Laplacian: c.Laplacian, Sizes: sizes}
	return s, s.Validate()
}

func newFull(c Config) (Sampler, error) {
	s := &Full{Laplacian: c.Laplacian, Depth: c.Layers}
	return s, s.Validate()
}

func newLayerWise(c Config, importance Importance, weight Weight) (Sampler, error) {
	sizes, err := c.layerSizes()
	if err != nil {
		return nil, err
	}
	s := &LayerWise{Laplacian: c.Laplacian, Sizes: sizes, Importance: importance, Weight: weight}
	return s, s.Validate()
}

// layerSizes returns one size a layer.
func (c *Config) layerSizes() ([]int, error) {
	switch {
	case c.Layers <= 0:
		return nil, fmt.Errorf("samplers: %d layers, want at least 1", c.Layers)
	case len(c.Sizes) == c.Layers:
		return c.Sizes, checkSizes(c.Sizes)
	case len(c.Sizes) == 1:
		sizes := make([]int, c.Layers)
		for l := range sizes {
			sizes[l] = c.Sizes[0]
		}
		return sizes, checkSizes(sizes)
	}
	return nil, fmt.Errorf("samplers: %d sample sizes for %d layers, want one a layer or one for all", len(c.Sizes), c.Layers)
}
