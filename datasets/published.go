package datasets

import (
	"context"
	"math"
)

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
	Within float64 `json:"within"` // the largest difference that means the same number
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

// dgl is the source of Reddit's split, and of the graph with all edges.
const dgl = "documentation of DGL's RedditDataset"

// PublishedFigures returns the figures of the paper's five data sets, in the order of
// its tables. Its Reddit is GraphSAINT's, which has a fifth of the edges of DGL's.
func PublishedFigures() []Published {
	const (
		paper = "Chen et al. 2023, summary of datasets"
		score = "Chen et al. 2023, test scores"
		ogb   = "Hu et al. 2020, arXiv:2005.00687"
		// Several papers print these numbers, and none is the first.
		common = "as commonly reported"
		twice  = "2 × edges / nodes"
	)
	exact := func(v float64, source string) Figure { return Figure{Value: v, Source: source} }
	rounded := func(v, digit float64, source string) Figure { return Figure{v, digit / 2, source} }
	// Sources differ by some edges in 10,000: repeated edges, and self-loops.
	largest := func(v float64) Figure { return Figure{v, v / 1000, common} }
	share := func(v float64) Figure { return Figure{v, 0.006, common} }
	return []Published{
		{
			Name: "Reddit", Original: "reddit-saint", Twin: "synth:reddit", Metric: MicroF1,
			Nodes: exact(232_965, paper), Edges: exact(11_606_919, paper), Features: exact(602, paper), Classes: exact(41, paper),
			Train: exact(153_431, dgl), Valid: exact(23_831, dgl), Test: exact(55_703, dgl),
			MeanDegree: rounded(99.6, 0.1, twice), Homophily: Figure{0.756, 0.05, common}, // of DGL's Reddit, or of this one
			FullBatch: rounded(93.81, 0.01, score),
		},
		{
			// The paper prints 160,343 nodes. OGB's files hold 169,343.
			Name: "ogbn-arxiv", Original: "ogbn-arxiv", Twin: "synth:arxiv", Metric: Accuracy,
			Nodes: exact(169_343, ogb), Edges: exact(1_166_243, paper), Features: exact(128, paper), Classes: exact(40, paper),
			Train: exact(90_941, ogb), Valid: exact(29_799, ogb), Test: exact(48_603, ogb),
			MeanDegree: rounded(13.7, 0.1, paper), LargestDegree: largest(13_155),
			Clustering: rounded(0.226, 0.001, ogb), Homophily: share(0.655),
			FullBatch: rounded(66.39, 0.01, score), OGBMLP: rounded(55.50, 0.01, ogb), OGBGCN: rounded(71.74, 0.01, ogb),
		},
		{
			// OGB prints a clustering coefficient of 0.098 for the whole graph, with authors,
			// institutions and fields. None is known for papers and citations alone.
			Name: "ogbn-mag", Original: "ogbn-mag", Twin: "synth:mag", Metric: Accuracy,
			Nodes: exact(736_389, paper), Edges: exact(5_396_336, paper), Features: exact(128, paper), Classes: exact(349, paper),
			Train: exact(629_571, ogb), Valid: exact(64_879, ogb), Test: exact(41_939, ogb),
			MeanDegree: rounded(14.7, 0.1, twice), Homophily: share(0.30),
			FullBatch: rounded(29.6, 0.1, score), OGBMLP: rounded(26.92, 0.01, ogb), OGBGCN: rounded(30.43, 0.01, ogb),
		},
		{
			Name: "ogbn-proteins", Original: "ogbn-proteins", Twin: "synth:proteins", Metric: ROCAUC,
			Nodes: exact(132_534, paper), Edges: exact(39_561_252, paper), Features: exact(8, paper), Tasks: exact(112, paper),
			Train: exact(86_619, ogb), Valid: exact(21_236, ogb), Test: exact(24_679, ogb),
			MeanDegree: rounded(597.0, 0.1, paper), LargestDegree: largest(7_750),
			Clustering: rounded(0.280, 0.001, ogb),
			FullBatch:  rounded(65.71, 0.01, score), OGBMLP: rounded(72.04, 0.01, ogb), OGBGCN: rounded(72.51, 0.01, ogb),
		},
		{
			Name: "ogbn-products", Original: "ogbn-products", Twin: "synth:products", Metric: Accuracy,
			Nodes: exact(2_449_029, paper), Edges: exact(61_859_140, paper), Features: exact(100, paper), Classes: exact(47, paper),
			Train: exact(196_615, ogb), Valid: exact(39_323, ogb), Test: exact(2_213_091, ogb),
			MeanDegree: rounded(50.5, 0.1, paper), LargestDegree: largest(17_481),
			Clustering: rounded(0.411, 0.001, ogb), Homophily: share(0.808),
			FullBatch: rounded(68.33, 0.01, score), OGBMLP: rounded(61.06, 0.01, ogb), OGBGCN: rounded(75.64, 0.01, ogb),
		},
	}
}

// dglReddit returns the figures of Reddit with all edges, as DGL and PyTorch Geometric
// have it.
func dglReddit() Published {
	p := PublishedFigures()[0]
	p.Name, p.Original, p.Twin, p.FullBatch = "Reddit with all edges", "reddit", "", Figure{}
	p.Edges = Figure{Value: 114_615_892 / 2, Source: dgl + ", which counts both directions"}
	p.MeanDegree = Figure{492, 0.5, dgl}
	return p
}

// papersPublished returns the figures of ogbn-papers100M, which is none of the paper's data
// sets.
func papersPublished() Published {
	exact := func(v float64) Figure { return Figure{Value: v, Source: "Hu et al. 2020, arXiv:2005.00687"} }
	return Published{
		Name: "ogbn-papers100M", Original: "ogbn-papers100M", Metric: Accuracy,
		Nodes: exact(111_059_956), Edges: exact(1_615_685_872), Features: exact(128), Classes: exact(172),
		Train: exact(1_207_179), Valid: exact(125_265), Test: exact(214_338),
	}
}

// FindPublished returns the published figures of the data set that a SPEC means, or nil
// if there are none: of an original by its name, or of the original of a generated twin of
// full size.
func FindPublished(spec string) (p *Published, twin bool) {
	s, err := parseSpec(spec)
	if err != nil {
		return nil, false
	}
	for key := range s.Values {
		if s.Scheme != "" && key != "seed" {
			return nil, false // a twin with another size or law
		}
	}
	for _, p := range append(PublishedFigures(), dglReddit(), papersPublished()) {
		switch {
		case s.Scheme == "" && s.Path == p.Original:
			return &p, false
		case s.Scheme != "" && s.Scheme+":"+s.Path == p.Twin:
			return &p, true
		}
	}
	return nil, false
}

// Comparison is one figure of a data set beside the published one.
type Comparison struct {
	Name      string  `json:"name"`
	Published float64 `json:"published"`
	Found     float64 `json:"found"`
	Agrees    bool    `json:"agrees"`
	Source    string  `json:"source"`        // of the published figure
	SEM       float64 `json:"sem,omitempty"` // standard error of Found if it is from a sample
}

// Compare measures a data set, and compares its counts, degrees, clustering and labels
// with the published figures. Edges agree if the published number counts all edges in the
// source, or the undirected edges that are left. Scores are not compared. It costs as much
// as Clustering and EdgeHomophily together.
func (p *Published) Compare(ctx context.Context, d *Data) ([]Comparison, error) {
	homophily, err := EdgeHomophily(ctx, d)
	if err != nil {
		return nil, err
	}
	clustering, sem, err := Clustering(ctx, d.Graph)
	if err != nil {
		return nil, err
	}
	info := Describe(d)
	edges := info.Edges
	if p.Edges.Agrees(float64(info.Dropped.Given)) {
		edges = info.Dropped.Given
	}
	// Of a sample of the nodes; an original fails by chance in 1 of 15,000 samples.
	local := p.Clustering
	local.Within += 4 * sem
	sampled := map[string]float64{"clustering": sem}

	var all []Comparison
	for _, c := range []struct {
		name   string
		figure Figure
		found  float64
	}{
		{"nodes", p.Nodes, float64(info.Nodes)},
		{"edges", p.Edges, float64(edges)},
		{"features", p.Features, float64(info.Features)},
		{"classes", p.Classes, float64(info.Classes)},
		{"binary tasks", p.Tasks, float64(info.Tasks)},
		{"training nodes", p.Train, float64(info.Split.Train)},
		{"validation nodes", p.Valid, float64(info.Split.Valid)},
		{"test nodes", p.Test, float64(info.Split.Test)},
		{"mean degree", p.MeanDegree, info.Degree.Mean},
		{"largest degree", p.LargestDegree, float64(info.Degree.Max)},
		{"clustering", local, clustering},
		{"homophily", p.Homophily, homophily},
	} {
		if c.figure.Known() {
			all = append(all, Comparison{c.name, c.figure.Value, c.found, c.figure.Agrees(c.found), c.figure.Source, sampled[c.name]})
		}
	}
	return all, nil
}
