package samplers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
)

// Method is a named way to sample.
type Method struct {
	Name    string // as on the command line
	Summary string // one sentence
	Source  string // the publication
	Sizes   string // the unit of a sample size, "nodes a layer"; "" for a method without sizes
	Default []int  // sample sizes where none are given; nil where they are required, or not used

	// ExactInput says that the method is for models with exact input only.
	ExactInput bool

	// Refreshed says that the model keeps histories that it refreshes (ControlRefresh).
	Refreshed bool

	// Controlled says that the sampler needs histories of activations, Refreshed or not, which
	// attention does not have.
	Controlled bool

	// OwnOutputs says that the sampler draws the output nodes of a batch: training cannot
	// draw them by importance (train.Seeds).
	OwnOutputs bool

	// FullDropoutNoise says that the sampler has the option of this name, unless KeepSelf or
	// Config.DropoutNoise excludes it.
	FullDropoutNoise bool

	// LinearControl says that the model has layers.GCNOptions.ControlLinear, unless its parts
	// exclude it.
	LinearControl bool

	// GradientSeeds says that training draws the mini-batches by the norms of gradients
	// (train.ImportantSeeds). A sampler cannot do so: it gets the mini-batch's nodes.
	GradientSeeds bool

	// Learned says that the sampler learns from each batch, from the rows that a convolution
	// propagates (train.Adaptive): it goes with neither attention nor several batches an
	// update.
	Learned bool

	make func(Config) validSampler // a method with sizes gets one per layer
}

type validSampler interface {
	Sampler
	Validate() error
}

// Config holds the settings of a named method. A method ignores the fields that
// it does not use.
type Config struct {
	Laplacian *graph.Laplacian // required
	Train     []int32          // training nodes; nil means all nodes
	Features  *graph.Features  // of the nodes, for a sampler that learns from them; nil: it learns nothing
	Layers    int              // number of layers; required
	KeepSelf  bool             // LayerWise.KeepSelf; other methods keep a row's own term anyway
	Sizes     []int            // sample sizes, next to the output first; one per layer, or one for all

	// ExactInput says that the model has exact input (layers.ExactInput): the lowest
	// layer reads activations in place of features. Methods with a history use it.
	ExactInput bool

	// DropoutNoise is one of DropoutNoiseNames: LayerWise.FullDropoutNoise. "" means the
	// method's own.
	DropoutNoise string
}

// ByName returns the sampler of the named method. The error lists the known names
// if the name is unknown, and says which setting of the config is wrong.
func ByName(name string, config Config) (Sampler, error) {
	var names []string
	for _, m := range Methods() {
		if m.Name == name {
			return m.sampler(config)
		}
		names = append(names, m.Name)
	}
	return nil, fmt.Errorf("samplers: unknown method %q; known: %s", name, strings.Join(names, ", "))
}

func (m *Method) sampler(config Config) (Sampler, error) {
	if m.Sizes != "" {
		if len(config.Sizes) == 0 {
			config.Sizes = m.Default
		}
		sizes, err := config.layerSizes()
		if err != nil {
			return nil, err
		}
		config.Sizes = sizes
	}
	if config.DropoutNoise == "" && m.FullDropoutNoise && !config.KeepSelf {
		config.DropoutNoise = DropoutNoiseFull
	}
	s := m.make(config)
	if err := config.setDropoutNoise(m.Name, s); err != nil {
		return nil, err
	}
	if p := config.Laplacian; p != nil && p.Share != nil && !DrawsByLayer(s) {
		return nil, fmt.Errorf("samplers: %s reads rows of the whole graph, and each rank holds only a part: take a method that draws layer by layer, such as ladies, fastgcn, labor, neighbor or full, or let each rank hold the graph (--partition features)", m.Name)
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return s, nil
}

// layerSizes returns one size per layer.
func (c *Config) layerSizes() ([]int, error) {
	switch {
	case c.Layers <= 0:
		return nil, fmt.Errorf("samplers: %d layers, want at least 1", c.Layers)
	case len(c.Sizes) == c.Layers:
		return c.Sizes, checkSizes(c.Sizes)
	case len(c.Sizes) == 1:
		sizes := slices.Repeat(c.Sizes, c.Layers)
		return sizes, checkSizes(sizes)
	}
	return nil, fmt.Errorf("samplers: %d sample sizes for %d layers, want one per layer or one for all", len(c.Sizes), c.Layers)
}

const (
	sourceASGCN     = "Huang, Zhang, Rong & Huang, NeurIPS 2018, arXiv:1809.05343"
	sourceCalibrate = "Chen, Xu, Hakkani-Tur, Jin, Yang & Zhu, TMLR 2023"
	sourceCluster   = "Chiang, Liu, Si, Li, Bengio & Hsieh, KDD 2019, arXiv:1905.07953"
	sourceFastGCN   = "Chen, Ma & Xiao, ICLR 2018, arXiv:1801.10247"
	sourceGCN       = "Kipf & Welling, ICLR 2017, arXiv:1609.02907"
	sourceGraphSAGE = "Hamilton, Ying & Leskovec, NeurIPS 2017, arXiv:1706.02216"
	sourceLABOR     = "Balin & Çatalyürek, NeurIPS 2023, arXiv:2210.13339"
	sourceLADIES    = "Zou, Hu, Wang, Jiang, Sun & Gu, NeurIPS 2019, arXiv:1911.07323"
	sourceMVS       = "Cong, Forsati, Kandemir & Mahdavi, KDD 2020, arXiv:2006.13866"
	sourceSAINT     = "Zeng, Zhou, Srivastava, Kannan & Prasanna, ICLR 2020, arXiv:1907.04931"
	sourceVRGCN     = "Chen, Zhu & Song, ICML 2018, arXiv:1710.10568"
)

// Methods returns the named methods in the order in which commands list them.
func Methods() []Method {
	methods := []Method{{
		Name:    "full",
		Summary: "every neighbour of every node: exact, and as large as the graph allows",
		Source:  sourceGCN,
		make: func(c Config) validSampler {
			return &Full{Laplacian: c.Laplacian, Depth: c.Layers}
		},
	}}
	methods = append(methods, layerWiseMethods()...)
	methods = append(methods, Method{
		Name:       "ladies-cv",
		Summary:    "ladies-flat-debiased on the change since activations that are refreshed now and then; features propagated exactly",
		Source:     "this program, after " + sourceVRGCN,
		Sizes:      "nodes a layer",
		ExactInput: true,
		Refreshed:  true,
		Controlled: true,

		FullDropoutNoise: true,
		LinearControl:    true,
		make: func(c Config) validSampler {
			return &LayerWise{Laplacian: c.Laplacian, Sizes: c.Sizes, Importance: LADIES{Flat: true}, Weight: Debiased{}, Control: ControlRefresh, Train: c.Train, ExactInput: true, KeepSelf: c.KeepSelf}
		},
	}, Method{
		Name:          "mvs",
		Summary:       "as ladies-cv, nodes by ‖QP^[i]‖²; mini-batches of training nodes by the norms of their last gradients",
		Source:        sourceMVS,
		Sizes:         "nodes a layer",
		ExactInput:    true,
		Refreshed:     true,
		Controlled:    true,
		GradientSeeds: true,
		make: func(c Config) validSampler {
			return &LayerWise{Laplacian: c.Laplacian, Sizes: c.Sizes, Importance: LADIES{}, Weight: Debiased{}, Control: ControlRefresh, Train: c.Train, ExactInput: true, KeepSelf: c.KeepSelf}
		},
	}, Method{
		Name:    "as-gcn",
		Summary: "layer-wise with replacement, p ∝ ‖QP^[i]‖·(|x_i·w| + 1), weights 1/(s p); w is learned from the features",
		Source:  sourceASGCN,
		Sizes:   "nodes a layer, repeats counted",
		Learned: true,
		make: func(c Config) validSampler {
			return &ASGCN{Laplacian: c.Laplacian, Features: c.Features, Sizes: c.Sizes}
		},
	}, Method{
		Name:    "neighbor",
		Summary: "each node k of its d neighbours, uniformly without replacement, weights d/k",
		Source:  sourceGraphSAGE,
		Sizes:   "neighbours a node",
		Default: []int{2},
		make: func(c Config) validSampler {
			return &Neighbor{Laplacian: c.Laplacian, Sizes: c.Sizes}
		},
	}, neighborMethod("-debiased", "P_ij²", false), neighborMethod("-flat-debiased", "|P_ij|", true), Method{
		Name:    "vrgcn",
		Summary: "neighbor on the change since each node's last activations, which are kept, and added exactly",
		Source:  sourceVRGCN,
		Sizes:   "neighbours a node",
		Default: []int{2},

		Controlled: true,
		make: func(c Config) validSampler {
			return &VRGCN{Laplacian: c.Laplacian, Sizes: c.Sizes, ExactInput: c.ExactInput}
		},
	})
	methods = append(methods, saintMethods()...)
	return append(methods, Method{
		Name:    "saint-node-normalized",
		Summary: "training subgraph, each node on its own with π ∝ ‖P^[v]‖², entries divided by π, row sums at most 1",
		Source:  sourceMVS,

		OwnOutputs: true,
		make: func(c Config) validSampler {
			return &NormalizedSAINT{Laplacian: c.Laplacian, Train: c.Train, Depth: c.Layers}
		},
	}, Method{
		Name:    "cluster",
		Summary: "random clusters with the edges between them, and the Laplacian of that subgraph",
		Source:  sourceCluster,

		OwnOutputs: true,
		make: func(c Config) validSampler {
			return &Cluster{Laplacian: c.Laplacian, Train: c.Train, Depth: c.Layers}
		},
	}, Method{
		Name:    "poisson-ladies",
		Summary: "layer-wise, each node on its own with π = min(1, c‖QP^[i]‖²), weights 1/π",
		Source:  sourceLABOR,
		Sizes:   "nodes a layer, on average",
		make: func(c Config) validSampler {
			return &LayerWise{Laplacian: c.Laplacian, Sizes: c.Sizes, Importance: LADIES{}, Draw: Poisson{}, Weight: HorvitzThompson{}, KeepSelf: c.KeepSelf}
		},
	}, Method{
		Name:    "labor",
		Summary: "each node about k neighbours, all by the same random numbers, weights 1/π",
		Source:  sourceLABOR,
		Sizes:   "neighbours a node, on average",
		Default: []int{2},
		make: func(c Config) validSampler {
			return &Labor{Laplacian: c.Laplacian, Sizes: c.Sizes}
		},
	})
}

// layerWiseMethods returns LADIES and FastGCN, each plain, flat, debiased and
// both.
func layerWiseMethods() []Method {
	var methods []Method
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
				make: func(c Config) validSampler {
					return &LayerWise{Laplacian: c.Laplacian, Sizes: c.Sizes, Importance: importance, Weight: weight, KeepSelf: c.KeepSelf}
				},
			})
		}
	}
	return methods
}

// neighborMethod returns node-wise importance sampling with debiased weights. law is
// the probability of neighbour j of node i, up to a factor.
func neighborMethod(suffix, law string, flat bool) Method {
	return Method{
		Name:    "neighbor" + suffix,
		Summary: fmt.Sprintf("each node k of its neighbours, p ∝ %s, without replacement, debiased weights", law),
		Source:  sourceCalibrate,
		Sizes:   "neighbours a node",
		Default: []int{2},
		make: func(c Config) validSampler {
			return &Neighbor{Laplacian: c.Laplacian, Sizes: c.Sizes, Importance: LADIES{Flat: flat}, Weight: Debiased{}}
		},
	}
}

// saintMethods returns GraphSAINT with each of its laws.
func saintMethods() []Method {
	var methods []Method
	for _, u := range []struct {
		name, summary string
		units         Units
	}{
		{"node", "of nodes with p ∝ ‖P^[v]‖²", RandomNodes{}},
		{"edge", "of edges with p ∝ 1/d_u + 1/d_v", RandomEdges{}},
		{"walk", "of random walks of 2 steps", RandomWalks{}},
	} {
		methods = append(methods, Method{
			Name:    "saint-" + u.name,
			Summary: "training subgraph " + u.summary + ", entries and loss divided by their probabilities",
			Source:  sourceSAINT,

			OwnOutputs: true,
			make: func(c Config) validSampler {
				return &SAINT{Laplacian: c.Laplacian, Train: c.Train, Depth: c.Layers, Units: u.units}
			},
		})
	}
	return methods
}
