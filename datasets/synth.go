package datasets

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/splitmix"
)

// synthModel holds the parameters of one synthetic data set: a degree-corrected
// stochastic block model (Karrer & Newman 2011, arXiv:1008.3926). Features and labels
// depend on its communities.
//
// Every node i has a community z_i, of Zipf-distributed size, and an expected
// degree θ_i from a heavy-tailed law. The expected number of edges between i and j is
// proportional to θ_i·θ_j, with a larger factor within a community. Features are the
// community's mean plus normal noise. The label is the community, except for a share
// of the nodes (noise) with a random label. That share limits the accuracy of any
// model. For binary tasks see taskLabels.
type synthModel struct {
	name    string
	summary string

	nodes    int
	edges    int64 // undirected
	features int
	classes  int // classes, or binary tasks if communities > 0
	train    int // training nodes; nodes in neither train nor valid are for testing
	valid    int
	metric   Metric

	communities int     // 0: one for each class; otherwise classes counts binary tasks
	homophily   float64 // share of edges within a community
	noise       float64 // share of random labels (classes), or deviation of the logits' noise (tasks)
	separation  float64 // length of a community's mean, in standard deviations of the features' noise
	skew        float64 // Zipf exponent of the community sizes
	degree      degreeLaw
	seed        uint64
}

// synthModels returns the data sets of synth:. All but demo have the counts of the
// real data set of that name (Hu et al. 2020, arXiv:2005.00687, and GraphSAINT's
// Reddit), so that costs measured on them carry over.
func synthModels() []synthModel {
	return []synthModel{
		{
			name: "demo", summary: "20,000 nodes in 10 classes; trains in seconds",
			nodes: 20_000, edges: 150_000, features: 64, classes: 10, train: 10_000, valid: 4_000, metric: Accuracy,
			homophily: 0.75, noise: 0.12, separation: 3, skew: 0.6, degree: degreeLaw{floor: 2, tail: 2.5, top: 1_000}, seed: 1,
		},
		{
			name: "arxiv", summary: "the size of ogbn-arxiv: 169,343 nodes, 1,166,243 edges, 40 classes",
			nodes: 169_343, edges: 1_166_243, features: 128, classes: 40, train: 90_941, valid: 29_799, metric: Accuracy,
			homophily: 0.8, noise: 0.25, separation: 3.5, skew: 1, degree: degreeLaw{floor: 2, tail: 2, top: 13_000}, seed: 1,
		},
		{
			name: "reddit", summary: "the size of GraphSAINT's Reddit: 232,965 nodes, 11,606,919 edges, 41 classes",
			nodes: 232_965, edges: 11_606_919, features: 602, classes: 41, train: 153_431, valid: 23_831, metric: MicroF1,
			homophily: 0.8, noise: 0.05, separation: 3.5, skew: 0.8, degree: degreeLaw{floor: 2, tail: 1.8, top: 20_000}, seed: 1,
		},
		{
			name: "proteins", summary: "the size of ogbn-proteins: 132,534 nodes, 39,561,252 edges, 112 binary tasks",
			nodes: 132_534, edges: 39_561_252, features: 8, classes: 112, train: 86_619, valid: 21_236, metric: ROCAUC,
			communities: 64, homophily: 0.6, noise: 1, separation: 2, skew: 0.6, degree: degreeLaw{floor: 1, tail: 3, top: 7_750}, seed: 1,
		},
		{
			name: "mag", summary: "the size of ogbn-mag's papers and citations: 736,389 nodes, 5,396,336 edges, 349 classes",
			nodes: 736_389, edges: 5_396_336, features: 128, classes: 349, train: 629_571, valid: 64_879, metric: Accuracy,
			homophily: 0.75, noise: 0.5, separation: 3.5, skew: 0.9, degree: degreeLaw{floor: 2, tail: 2.2, top: 10_000}, seed: 1,
		},
		{
			name: "products", summary: "the size of ogbn-products: 2,449,029 nodes, 61,859,140 edges, 47 classes",
			nodes: 2_449_029, edges: 61_859_140, features: 100, classes: 47, train: 196_615, valid: 39_323, metric: Accuracy,
			homophily: 0.85, noise: 0.15, separation: 3, skew: 1, degree: degreeLaw{floor: 2, tail: 2.5, top: 17_500}, seed: 1,
		},
	}
}

func synthScheme() Scheme {
	return Scheme{
		Name: "synth", Path: "NAME", builtin: true,
		Summary: "generated from a seed, no files: communities that edges, features and labels follow",
		Keys:    []string{"nodes", "edges", "features", "classes", "seed", "homophily", "noise"},
		Open: func(ctx context.Context, spec *Spec) (*Data, error) {
			m, err := synthFromSpec(spec)
			if err != nil {
				return nil, err
			}
			return m.generate(ctx)
		},
	}
}

func synthFromSpec(spec *Spec) (*synthModel, error) {
	var m *synthModel
	var names []string
	for _, known := range synthModels() {
		if known.name == spec.Path {
			m = &known
		}
		names = append(names, known.name)
	}
	if m == nil {
		return nil, fmt.Errorf("datasets: %q: unknown synthetic data set %q; want one of %s", spec, spec.Path, strings.Join(names, ", "))
	}
	nodes, err := spec.Int("nodes", int64(m.nodes), 1, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	m.resize(int(nodes))
	most := nodes * (nodes - 1) / 2
	if m.edges, err = spec.Int("edges", min(m.edges, most), 0, most); err != nil {
		return nil, err
	}
	features, err := spec.Int("features", int64(m.features), 1, 1<<16)
	if err != nil {
		return nil, err
	}
	classes, err := spec.Int("classes", int64(m.classes), 1, 1<<16)
	if err != nil {
		return nil, err
	}
	m.features, m.classes = int(features), int(classes)
	if m.seed, err = spec.Seed("seed", m.seed); err != nil {
		return nil, err
	}
	if m.homophily, err = spec.Float("homophily", m.homophily, 0, 1); err != nil {
		return nil, err
	}
	mostNoise := 1.0
	if m.communities > 0 {
		mostNoise = 100
	}
	if m.noise, err = spec.Float("noise", m.noise, 0, mostNoise); err != nil {
		return nil, err
	}
	return m, nil
}

// resize changes the number of nodes and, in proportion, the numbers of edges and of
// training and validation nodes.
func (m *synthModel) resize(nodes int) {
	if nodes == m.nodes {
		return
	}
	scale := float64(nodes) / float64(m.nodes)
	m.edges = int64(math.Round(float64(m.edges) * scale))
	m.train = max(int(math.Round(float64(m.train)*scale)), 1)
	m.valid = min(int(math.Round(float64(m.valid)*scale)), nodes-m.train)
	m.nodes = nodes
}

// Streams of random numbers, one for each purpose: a change in one part's draws does
// not change the other parts.
const (
	streamCommunity = iota + 1
	streamDegree
	streamRounding
	streamEdges
	streamMeans
	streamFeatures
	streamLabels
	streamTasks
	streamSplit
)

// synthChunk is the number of nodes that share a stream. Each chunk has its own
// streams, so that the result does not depend on the number of cores.
const synthChunk = 2048

// random returns the generator of one purpose and chunk.
func (m *synthModel) random(purpose, chunk int) *rand.Rand {
	return rand.New(rand.NewPCG(splitmix.Hash(m.seed^splitmix.Hash(uint64(purpose))), splitmix.Hash(uint64(chunk)+1)))
}

// eachNode calls f, on all cores, for ranges [lo, hi) that cover the nodes, with the
// range's generator.
func (m *synthModel) eachNode(ctx context.Context, purpose int, f func(lo, hi int, random *rand.Rand)) error {
	return parallel.Chunks(ctx, (m.nodes+synthChunk-1)/synthChunk, func(chunk int) error {
		lo := chunk * synthChunk
		f(lo, min(lo+synthChunk, m.nodes), m.random(purpose, chunk))
		return nil
	})
}

func (m *synthModel) generate(ctx context.Context) (*Data, error) {
	if err := m.checkMemory(int64(m.nodes)); err != nil {
		return nil, err
	}
	d, community, err := m.generateBare(ctx)
	if err != nil {
		return nil, err
	}
	d.Features, err = m.drawFeatures(ctx, community)
	return d, err
}

// checkMemory reports a data set that does not fit in memory with the features of
// that many rows.
func (m *synthModel) checkMemory(rows int64) error {
	const (
		node = 80 // community, degree, offsets, running sums, class, split
		edge = 12 // in the lower triangle, and in both directions
	)
	nodes, width, groups, tasks := int64(m.nodes), int64(m.features), int64(m.groups()), int64(0)
	if m.communities > 0 {
		tasks = int64(m.classes)
	}
	var bytes int64
	for _, part := range []int64{
		memory.Product(nodes, node), memory.Product(m.edges, edge),
		memory.Product(rows, width, 4), memory.Product(nodes, tasks, 4),
		memory.Product(groups, width, 2, 4), memory.Product(groups, tasks, 8),
	} {
		if bytes += part; part < 0 || bytes < 0 {
			bytes = -1
			break
		}
	}
	return memory.Check(fmt.Sprintf("datasets: synth:%s of %d nodes and %d edges", m.name, m.nodes, m.edges), bytes)
}

// generateBare generates everything except the features. It returns the communities
// too, from which the features are drawn.
func (m *synthModel) generateBare(ctx context.Context) (*Data, []int32, error) {
	community, err := m.drawCommunities(ctx)
	if err != nil {
		return nil, nil, err
	}
	adjacency, err := m.drawGraph(ctx, community)
	if err != nil {
		return nil, nil, err
	}
	labels, err := m.drawLabels(ctx, community)
	if err != nil {
		return nil, nil, err
	}
	split, err := m.drawSplit(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &Data{
		Graph:  adjacency,
		simple: true,
		Labels: labels,
		Split:  split,
		Metric: m.metric,
		Notes: []string{fmt.Sprintf("synthetic: degree-corrected stochastic block model of %d communities, homophily %v, noise %v, seed %d",
			m.groups(), m.homophily, m.noise, m.seed)},
	}, community, nil
}

// groups returns the number of communities.
func (m *synthModel) groups() int {
	if m.communities > 0 {
		return m.communities
	}
	return m.classes
}

func (m *synthModel) drawCommunities(ctx context.Context) ([]int32, error) {
	cumulative := m.zipf()
	community := make([]int32, m.nodes)
	return community, m.eachNode(ctx, streamCommunity, func(lo, hi int, random *rand.Rand) {
		for i := lo; i < hi; i++ {
			community[i] = pick(cumulative, random.Float64())
		}
	})
}

// zipf returns the cumulative distribution of the community sizes.
func (m *synthModel) zipf() []float64 {
	cumulative := make([]float64, m.groups())
	var sum float64
	for c := range cumulative {
		sum += math.Pow(float64(c+1), -m.skew)
		cumulative[c] = sum
	}
	for c := range cumulative {
		cumulative[c] /= sum
	}
	return cumulative
}

// pick returns the first index whose cumulative probability exceeds u.
func pick(cumulative []float64, u float64) int32 {
	lo, hi := 0, len(cumulative)-1
	for lo < hi {
		if mid := (lo + hi) / 2; cumulative[mid] > u {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return int32(lo)
}

// means returns the communities' means, each a vector of length separation.
func (m *synthModel) means() []float32 {
	width := m.features
	means := make([]float32, m.groups()*width)
	random := m.random(streamMeans, 0)
	for c := range m.groups() {
		mean := means[c*width : (c+1)*width]
		var norm2 float64
		for j := range mean {
			v := random.NormFloat64()
			mean[j] = float32(v)
			norm2 += v * v
		}
		if scale := float32(m.separation / math.Sqrt(norm2)); norm2 > 0 {
			for j := range mean {
				mean[j] *= scale
			}
		}
	}
	return means
}

func (m *synthModel) drawFeatures(ctx context.Context, community []int32) (*graph.Features, error) {
	width, draw := m.features, m.featureRows(community)
	x := &graph.Features{Rows: m.nodes, Cols: width, Data: make([]float32, m.nodes*width)}
	return x, m.eachNode(ctx, streamFeatures, func(lo, hi int, random *rand.Rand) {
		draw(x.Data[lo*width:hi*width], lo, random)
	})
}

// featureRows returns a function that fills rows with the features of consecutive
// nodes, from lo on.
func (m *synthModel) featureRows(community []int32) func(rows []float32, lo int, random *rand.Rand) {
	width, means := m.features, m.means()
	scale := float32(1 / math.Sqrt(float64(width))) // rows have about unit length, like word vectors
	return func(rows []float32, lo int, random *rand.Rand) {
		for i := lo; len(rows) > 0; i++ {
			c := int(community[i])
			mean := means[c*width : (c+1)*width]
			for j := range mean {
				rows[j] = scale * (mean[j] + float32(random.NormFloat64()))
			}
			rows = rows[width:]
		}
	}
}

func (m *synthModel) drawLabels(ctx context.Context, community []int32) (*graph.Labels, error) {
	if m.communities > 0 {
		return m.taskLabels(ctx, community)
	}
	cumulative := m.zipf()
	y := &graph.Labels{Classes: m.classes, Class: make([]int32, m.nodes)}
	return y, m.eachNode(ctx, streamLabels, func(lo, hi int, random *rand.Rand) {
		for i := lo; i < hi; i++ {
			y.Class[i] = community[i]
			if random.Float64() < m.noise {
				y.Class[i] = pick(cumulative, random.Float64())
			}
		}
	})
}

// taskLabels draws binary labels. The logit of task t for a node of community z is
// base_t + 2·⟨a_t, u_z⟩ + noise·ε. u_z is the direction of the community's mean, so
// the features predict the tasks through it. Bases around −2 make positives rare, as
// in protein function prediction.
func (m *synthModel) taskLabels(ctx context.Context, community []int32) (*graph.Labels, error) {
	tasks, groups, width, means := m.classes, m.groups(), m.features, m.means()
	logits := make([]float64, groups*tasks)
	random := m.random(streamTasks, 0)
	direction := make([]float64, width)
	for t := range tasks {
		base := -2 + random.NormFloat64()
		for j := range direction {
			direction[j] = 2 * random.NormFloat64() / m.separation
		}
		for z := range groups {
			logit := base
			for j, v := range means[z*width : (z+1)*width] {
				logit += direction[j] * float64(v)
			}
			logits[z*tasks+t] = logit
		}
	}
	y := &graph.Labels{Tasks: tasks, Multi: make([]float32, m.nodes*tasks)}
	return y, m.eachNode(ctx, streamLabels, func(lo, hi int, random *rand.Rand) {
		for i := lo; i < hi; i++ {
			of := logits[int(community[i])*tasks:]
			row := y.Multi[i*tasks : (i+1)*tasks]
			for t := range row {
				logit := of[t] + m.noise*random.NormFloat64()
				if random.Float64() < 1/(1+math.Exp(-logit)) {
					row[t] = 1
				}
			}
		}
	})
}

// drawSplit draws a random split of exact sizes. Ids increase within a part.
func (m *synthModel) drawSplit(ctx context.Context) (Split, error) {
	return dealSplit(ctx, m.nodes, m.train, m.valid, m.random(streamSplit, 0), nil)
}
