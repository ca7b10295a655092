package datasets

import "math"

// Published holds the published figures of one of the paper's data sets. A figure
// that nobody published is the zero Figure.
type Published struct {
	Name     string // as the paper prints it
	Original string // the name that Fetch downloads
	Twin     string // the SPEC of the generated data of the same size
	Metric   Metric

	Nodes    Figure
	Edges    Figure // as the source counts them: all that it lists, or each undirected edge once
	Features Figure
	Classes  Figure // not published for binary tasks
	Tasks    Figure // binary tasks
	Train    Figure // nodes
	Valid    Figure
	Test     Figure

	MeanDegree    Figure // neighbours of a node
	LargestDegree Figure
	Clustering    Figure // local clustering coefficient, averaged over the nodes
	Homophily     Figure // share of the edges that join nodes of one class

	// Test scores in per cent. FullBatch belongs to the paper's protocol: two
	// convolutions, and at most 1000 batches. OGBMLP and OGBGCN belong to OGB's: three
	// layers with batch normalisation, and no such limit. A score compares only with
	// scores of its own protocol.
	FullBatch Figure
	OGBMLP    Figure // without the graph
	OGBGCN    Figure // full batch
}

// Figure is one published number.
type Figure struct {
	Value  float64 `json:"value"`
	Within float64 `json:"within"` // the largest difference that its rounding explains
	Source string  `json:"source"`
}

// Known tells whether the number is published.
func (f Figure) Known() bool { return f.Source != "" }

// Agrees tells whether v can be the published number. Every v agrees with a figure
// that is not published.
func (f Figure) Agrees(v float64) bool {
	const slack = 1e-9 // a value in the middle of two decimals agrees with both
	return !f.Known() || math.Abs(v-f.Value) <= f.Within+slack
}

// PublishedFigures returns the figures of the paper's five data sets, in the order of
// its tables. Its Reddit is GraphSAINT's, which has a fifth of the edges of DGL's.
func PublishedFigures() []Published {
	const (
		paper = "Chen et al. 2023, summary of datasets"
		score = "Chen et al. 2023, test scores"
		ogb   = "Hu et al. 2020, arXiv:2005.00687"
		dgl   = "documentation of DGL's RedditDataset"
		// Several papers print these numbers, and none is the first.
		common = "as commonly reported"
		twice  = "2 × edges / nodes"
	)
	exact := func(v float64, source string) Figure { return Figure{Value: v, Source: source} }
	rounded := func(v, digit float64, source string) Figure { return Figure{v, digit / 2, source} }
	return []Published{
		{
			Name: "Reddit", Original: "reddit-saint", Twin: "synth:reddit", Metric: MicroF1,
			Nodes: exact(232_965, paper), Edges: exact(11_606_919, paper), Features: exact(602, paper), Classes: exact(41, paper),
			Train: exact(153_431, dgl), Valid: exact(23_831, dgl), Test: exact(55_703, dgl),
			MeanDegree: rounded(99.6, 0.1, twice), Homophily: rounded(0.756, 0.001, common),
			FullBatch: rounded(93.81, 0.01, score),
		},
		{
			// The paper prints 160,343 nodes. OGB's files hold 169,343.
			Name: "ogbn-arxiv", Original: "ogbn-arxiv", Twin: "synth:arxiv", Metric: Accuracy,
			Nodes: exact(169_343, ogb), Edges: exact(1_166_243, paper), Features: exact(128, paper), Classes: exact(40, paper),
			Train: exact(90_941, ogb), Valid: exact(29_799, ogb), Test: exact(48_603, ogb),
			MeanDegree: rounded(13.7, 0.1, paper), LargestDegree: exact(13_155, common),
			Clustering: rounded(0.226, 0.001, ogb), Homophily: rounded(0.655, 0.001, common),
			FullBatch: rounded(66.39, 0.01, score), OGBMLP: rounded(55.50, 0.01, ogb), OGBGCN: rounded(71.74, 0.01, ogb),
		},
		{
			// OGB prints a clustering coefficient of 0.098 for the whole graph, with authors,
			// institutions and fields. None is known for papers and citations alone.
			Name: "ogbn-mag", Original: "ogbn-mag", Twin: "synth:mag", Metric: Accuracy,
			Nodes: exact(736_389, paper), Edges: exact(5_396_336, paper), Features: exact(128, paper), Classes: exact(349, paper),
			Train: exact(629_571, ogb), Valid: exact(64_879, ogb), Test: exact(41_939, ogb),
			MeanDegree: rounded(14.7, 0.1, twice), Homophily: rounded(0.30, 0.01, common),
			FullBatch: rounded(29.6, 0.1, score), OGBMLP: rounded(26.92, 0.01, ogb), OGBGCN: rounded(30.43, 0.01, ogb),
		},
		{
			Name: "ogbn-proteins", Original: "ogbn-proteins", Twin: "synth:proteins", Metric: ROCAUC,
			Nodes: exact(132_534, paper), Edges: exact(39_561_252, paper), Features: exact(8, paper), Tasks: exact(112, paper),
			Train: exact(86_619, ogb), Valid: exact(21_236, ogb), Test: exact(24_679, ogb),
			MeanDegree: rounded(597.0, 0.1, paper), LargestDegree: exact(7_750, common),
			Clustering: rounded(0.280, 0.001, ogb),
			FullBatch:  rounded(65.71, 0.01, score), OGBMLP: rounded(72.04, 0.01, ogb), OGBGCN: rounded(72.51, 0.01, ogb),
		},
		{
			Name: "ogbn-products", Original: "ogbn-products", Twin: "synth:products", Metric: Accuracy,
			Nodes: exact(2_449_029, paper), Edges: exact(61_859_140, paper), Features: exact(100, paper), Classes: exact(47, paper),
			Train: exact(196_615, ogb), Valid: exact(39_323, ogb), Test: exact(2_213_091, ogb),
			MeanDegree: rounded(50.5, 0.1, paper), LargestDegree: exact(17_481, common),
			Clustering: rounded(0.411, 0.001, ogb), Homophily: rounded(0.808, 0.001, common),
			FullBatch: rounded(68.33, 0.01, score), OGBMLP: rounded(61.06, 0.01, ogb), OGBGCN: rounded(75.64, 0.01, ogb),
		},
	}
}
