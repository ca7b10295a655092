package samplers

const (
	sourceSAINT   = "Zeng, Zhou, Srivastava, Kannan & Prasanna, ICLR 2020, arXiv:1907.04931"
	sourceCluster = "Chiang, Liu, Si, Li, Bengio & Hsieh, KDD 2019, arXiv:1905.07953"
)

// subgraphMethods returns the methods whose layers share one subgraph.
func subgraphMethods() []Method {
	var methods []Method
	for _, m := range []struct {
		name, units string
		law         Units
	}{
		{"node", "of nodes with p ∝ ‖P^[v]‖²", RandomNodes{}},
		{"edge", "of edges with p ∝ 1/d_u + 1/d_v", RandomEdges{}},
		{"walk", "of random walks of 2 steps", RandomWalks{}},
	} {
		methods = append(methods, Method{
			Name:    "saint-" + m.name,
			Summary: "training subgraph " + m.units + ", entries and loss divided by their probabilities",
			Source:  sourceSAINT,
			make: func(c Config) (Sampler, error) {
				s := &SAINT{Laplacian: c.Laplacian, Train: c.Train, Depth: c.Layers, Units: m.law}
				return s, s.Validate()
			},
		})
	}
	return append(methods, Method{
		Name:    "cluster",
		Summary: "random clusters with the edges between them, normalised anew",
		Source:  sourceCluster,
		make: func(c Config) (Sampler, error) {
			s := &Cluster{Laplacian: c.Laplacian, Train: c.Train, Depth: c.Layers}
			return s, s.Validate()
		},
	})
}
