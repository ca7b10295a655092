package samplers

const (
	sourceGraphSAGE = "Hamilton, Ying & Leskovec, NeurIPS 2017, arXiv:1706.02216"
	sourceVRGCN     = "Chen, Zhu & Song, ICML 2018, arXiv:1710.10568"
)

// nodeWiseMethods returns the methods that draw for each node on its own.
func nodeWiseMethods() []Method {
	return []Method{{
		Name:    "neighbor",
		Summary: "each node k of its d neighbours, uniformly without replacement, weights d/k",
		Source:  sourceGraphSAGE,
		Sizes:   "neighbours a node",
		Default: []int{2},
		make: func(c Config) (Sampler, error) {
			sizes, err := c.neighbors()
			if err != nil {
				return nil, err
			}
			s := &Neighbor{Laplacian: c.Laplacian, Sizes: sizes}
			return s, s.Validate()
		},
	}, {
		Name:    "vrgcn",
		Summary: "neighbor on the change since each node's last activations, which are kept, and added exactly",
		Source:  sourceVRGCN,
		Sizes:   "neighbours a node",
		Default: []int{2},
		make: func(c Config) (Sampler, error) {
			sizes, err := c.neighbors()
			if err != nil {
				return nil, err
			}
			s := &VRGCN{Laplacian: c.Laplacian, Sizes: sizes}
			return s, s.Validate()
		},
	}}
}

// neighbors returns one number of neighbours a layer, 2 where none is given.
func (c Config) neighbors() ([]int, error) {
	if len(c.Sizes) == 0 {
		c.Sizes = []int{2}
	}
	return c.layerSizes()
}
