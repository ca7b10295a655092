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

	// LinearControl says that the model has layers.GCNOptions.ControlLinear, unless its parts
	// exclude it.
	LinearControl bool

	// GradientSeeds says that training draws the mini-batches by the norms of gradients
	// (train.Options.Seeds). A sampler cannot do so: it gets the mini-batch's nodes.
	GradientSeeds bool

	Sampler Sampler // without the settings of a Config; a caller may set its parts
}

// Controlled reports whether the sampler needs histories of activations, which attention does
// not have. The zero Method has no such part, here and below.
func (m Method) Controlled() bool {
	s, is := m.Sampler.(*Neighbor)
	return is && s.Control != ControlNone || m.layerWise().Control != ControlNone
}

// Refreshed reports whether the model refreshes these histories (ControlRefresh).
func (m Method) Refreshed() bool { return m.layerWise().Control == ControlRefresh }

// OwnOutputs reports whether the sampler draws the output nodes of a batch: training cannot
// draw them by importance (train.Options.Seeds).
func (m Method) OwnOutputs() bool {
	_, is := m.Sampler.(*Subgraph)
	return is
}

// Learned reports whether the sampler learns from each batch, from the rows that a convolution
// propagates (train.Adaptive): it goes with neither attention nor several batches an update.
func (m Method) Learned() bool {
	_, is := m.Sampler.(interface{ Parameters() int })
	return is
}

// layerWise returns the sampler, or an empty one for a method of another kind.
func (m Method) layerWise() *LayerWise {
	if s, is := m.Sampler.(*LayerWise); is {
		return s
	}
	return new(LayerWise)
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
}

// ByName returns the sampler of the named method, prepared. The error lists the known names
// if the name is unknown, and says which setting of the config is wrong.
func ByName(name string, config Config) (Sampler, error) {
	var names []string
	for _, m := range Methods() {
		if m.Name == name {
			if len(config.Sizes) == 0 {
				config.Sizes = m.Default
			}
			return Configure(m.Sampler, config)
		}
		names = append(names, m.Name)
	}
	return nil, fmt.Errorf("samplers: unknown method %q; known: %s", name, strings.Join(names, ", "))
}

// Configure sets the fields of s, a LayerWise or Neighbor, that config has, and prepares it. Its
// other fields stay, such as Importance, Draw and Weight. The error says which setting of
// the config is wrong, or names parts that do not go together.
func Configure(s Sampler, config Config) (Sampler, error) {
	if err := config.apply(s); err != nil {
		return nil, err
	}
	if _, layered := s.(LayerSampler); !layered && config.Laplacian != nil && config.Laplacian.Share != nil {
		return nil, fmt.Errorf("samplers: this method reads rows of the whole graph, and each rank holds only a part: take a method that draws layer by layer, such as ladies, fastgcn, labor, neighbor or full, or let each rank hold the graph (--partition features)")
	}
	return s, Prepare(s)
}

// apply sets the fields of s that c has.
func (c *Config) apply(s Sampler) error {
	sizes, err := c.layerSizes() // the error is not one of a sampler without sizes
	switch s := s.(type) {
	case *LayerWise:
		s.Laplacian, s.Train, s.Sizes, s.KeepSelf = c.Laplacian, c.Train, sizes, c.KeepSelf
		s.ExactInput = s.ExactInput || c.ExactInput
		s.FullDropoutNoise = s.FullDropoutNoise && !c.KeepSelf
	case *Neighbor:
		s.Laplacian, s.Sizes, s.ExactInput = c.Laplacian, sizes, c.ExactInput
	case *ASGCN:
		s.Laplacian, s.Sizes, s.Features = c.Laplacian, sizes, c.Features
	case *Labor:
		s.Laplacian, s.Sizes = c.Laplacian, sizes
	case *Full:
		s.Laplacian, s.Depth, err = c.Laplacian, c.Layers, nil
	case *Subgraph:
		s.Laplacian, s.Depth, s.Train, err = c.Laplacian, c.Layers, c.Train, nil
	}
	return err
}

// layerSizes returns one size per layer.
func (c *Config) layerSizes() ([]int, error) {
	switch {
	case c.Layers <= 0:
		return nil, fmt.Errorf("samplers: %d layers, want at least 1", c.Layers)
	case len(c.Sizes) == c.Layers:
		return c.Sizes, nil
	case len(c.Sizes) == 1:
		return slices.Repeat(c.Sizes, c.Layers), nil
	}
	return nil, fmt.Errorf("samplers: %d sample sizes for %d layers, want one per layer or one for all", len(c.Sizes), c.Layers)
}

const (
	sourceCalibrate = "Chen, Xu, Hakkani-Tur, Jin, Yang & Zhu, TMLR 2023"
	sourceLABOR     = "Balin & Çatalyürek, NeurIPS 2023, arXiv:2210.13339"
	sourceMVS       = "Cong, Forsati, Kandemir & Mahdavi, KDD 2020, arXiv:2006.13866"
	sourceVRGCN     = "Chen, Zhu & Song, ICML 2018, arXiv:1710.10568"

	nodesALayer     = "nodes a layer"
	neighboursANode = "neighbours a node"
)

// Methods returns the named methods in the order in which commands list them.
func Methods() []Method {
	cv := method("ladies-cv", "ladies-flat-debiased on the change since activations that are refreshed now and then; features propagated exactly",
		"this program, after "+sourceVRGCN, nodesALayer, &LayerWise{Weight: Debiased{}, Control: ControlRefresh, ExactInput: true, FullDropoutNoise: true})
	cv.ExactInput, cv.LinearControl, cv.Default = true, true, []int{1024}
	mvs := method("mvs", "as ladies-cv, nodes by ‖QP^[i]‖²; mini-batches of training nodes by the norms of their last gradients",
		sourceMVS, nodesALayer, &LayerWise{Importance: LADIES{}, Weight: Debiased{}, Control: ControlRefresh, ExactInput: true})
	mvs.ExactInput, mvs.GradientSeeds = true, true
	return []Method{
		method("full", "every neighbour of every node: exact, and as large as the graph allows", "Kipf & Welling, ICLR 2017, arXiv:1609.02907", "", &Full{}),
		layerWise("ladies", "‖QP^[i]‖²", "Zou, Hu, Wang, Jiang, Sun & Gu, NeurIPS 2019, arXiv:1911.07323", LADIES{}, Naive{}),
		layerWise("ladies-flat", "‖QP^[i]‖", sourceCalibrate, LADIES{Flat: true}, Naive{}),
		layerWise("ladies-debiased", "‖QP^[i]‖²", sourceCalibrate, LADIES{}, Debiased{}),
		layerWise("ladies-flat-debiased", "‖QP^[i]‖", sourceCalibrate, LADIES{Flat: true}, Debiased{}),
		layerWise("fastgcn", "‖P^[i]‖²", "Chen, Ma & Xiao, ICLR 2018, arXiv:1801.10247", FastGCN{}, Naive{}),
		layerWise("fastgcn-flat", "‖P^[i]‖", sourceCalibrate, FastGCN{Flat: true}, Naive{}),
		layerWise("fastgcn-debiased", "‖P^[i]‖²", sourceCalibrate, FastGCN{}, Debiased{}),
		layerWise("fastgcn-flat-debiased", "‖P^[i]‖", sourceCalibrate, FastGCN{Flat: true}, Debiased{}),
		cv,
		mvs,
		method("as-gcn", "layer-wise with replacement, p ∝ ‖QP^[i]‖·(|x_i·w| + 1), weights 1/(s p); w is learned from the features",
			"Huang, Zhang, Rong & Huang, NeurIPS 2018, arXiv:1809.05343", "nodes a layer, repeats counted", &ASGCN{}),
		method("neighbor", "each node k of its d neighbours, uniformly without replacement, weights d/k",
			"Hamilton, Ying & Leskovec, NeurIPS 2017, arXiv:1706.02216", neighboursANode, &Neighbor{}),
		method("neighbor-debiased", "each node k of its neighbours, p ∝ P_ij², without replacement, debiased weights",
			sourceCalibrate, neighboursANode, &Neighbor{Importance: LADIES{}, Weight: Debiased{}}),
		method("neighbor-flat-debiased", "each node k of its neighbours, p ∝ |P_ij|, without replacement, debiased weights",
			sourceCalibrate, neighboursANode, &Neighbor{Importance: LADIES{Flat: true}, Weight: Debiased{}}),
		method("vrgcn", "neighbor on the change since each node's last activations, which are kept, and added exactly",
			sourceVRGCN, neighboursANode, &Neighbor{Control: ControlRolling}),
		saint("node", "of nodes with p ∝ ‖P^[v]‖²", RandomNodes{}),
		saint("edge", "of edges with p ∝ 1/d_u + 1/d_v", RandomWalks{Length: 1}),
		saint("walk", "of random walks of 2 steps", RandomWalks{}),
		method("saint-node-normalized", "training subgraph, each node on its own with π ∝ ‖P^[v]‖², entries divided by π, row sums at most 1",
			sourceMVS, "", &Subgraph{Units: IndependentNodes{}}),
		method("cluster", "random clusters with the edges between them, and the Laplacian of that subgraph",
			"Chiang, Liu, Si, Li, Bengio & Hsieh, KDD 2019, arXiv:1905.07953", "", &Subgraph{Units: Clusters{}}),
		method("poisson-ladies", "layer-wise, each node on its own with π = min(1, c‖QP^[i]‖²), weights 1/π",
			sourceLABOR, "nodes a layer, on average", &LayerWise{Importance: LADIES{}, Draw: Poisson{}}),
		method("labor", "each node about k neighbours, all by the same random numbers, weights 1/π",
			sourceLABOR, "neighbours a node, on average", &Labor{}),
	}
}

// method returns a method. By default each node draws two neighbours; other sizes are required.
func method(name, summary, source, sizes string, s Sampler) Method {
	m := Method{Name: name, Summary: summary, Source: source, Sizes: sizes, Sampler: s}
	if strings.HasPrefix(sizes, neighboursANode) {
		m.Default = []int{2}
	}
	return m
}

// layerWise returns LADIES or FastGCN: nodes drawn with p ∝ law, without replacement.
func layerWise(name, law, source string, importance Importance, weight Weight) Method {
	weights := "debiased weights"
	if weight == (Naive{}) {
		weights = "weights 1/(s p), biased"
	}
	summary := fmt.Sprintf("layer-wise, p ∝ %s, without replacement, %s", law, weights)
	return method(name, summary, source, nodesALayer, &LayerWise{Importance: importance, Weight: weight})
}

// saint returns GraphSAINT with one of its laws.
func saint(name, units string, law Units) Method {
	return method("saint-"+name, "training subgraph "+units+", entries and loss divided by their probabilities",
		"Zeng, Zhou, Srivastava, Kannan & Prasanna, ICLR 2020, arXiv:1907.04931", "", &Subgraph{Units: law})
}
