package datasets

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/splitmix"
)

// synthModel holds the parameters of one generated data set. Its graph is a block
// two-level Erdős–Rényi graph (Seshadhri, Kolda & Pinar 2012, arXiv:1112.3644) whose
// second level is a degree-corrected block model (Karrer & Newman 2011, arXiv:1008.3926):
//
//   - Every node has an expected degree from a heavy-tailed law. Nodes of like degree
//     form small communities. Within a community every pair of nodes is joined with
//     probability density. These edges make the triangles.
//   - Every community belongs to a group. The other edges join nodes in proportion to
//     the rest of their expected degrees: a share of them within a group, so that the
//     graph has the homophily asked for, the others anywhere.
//   - A group is a class, and all nodes of a community have its label. With binary
//     tasks a group gives the tasks' probabilities; see taskLabels.
//   - The features of a node are the mean of its group, plus the offset of its
//     community, plus noise of its own. A share of the communities (noise) has the
//     features of a random group instead. So a model without the graph errs by all
//     three, and averages over neighbours err by the offsets and by that share.
type synthModel struct {
	name    string
	summary string

	nodes    int
	edges    int64 // undirected
	features int
	classes  int // classes, or binary tasks if groups > 0
	train    int // training nodes
	valid    int
	test     int // 0: all nodes in neither train nor valid; else the others have no labels
	metric   Metric
	groups   int // with binary tasks; 0: one for each class

	degree     degreeLaw
	inside     float64 // share of a node's expected edges within its community
	density    float64 // probability of an edge between two nodes of a community
	homophily  float64 // share of edges within a group
	skew       float64 // Zipf exponent of the sizes of the groups
	noise      float64 // share of communities with the features of a random group
	separation float64 // length of a group's mean, in deviations of a node's noise
	offset     float64 // deviation of a community's offset, in deviations of a node's noise
	seed       uint64
}

// synthModels returns the data sets of synth:. All but demo are twins: they have the
// counts of the real data set of that name (Hu et al. 2020, arXiv:2005.00687, and
// GraphSAINT's Reddit), and its published figures as far as there are any.
// `gcn reproduce twins` compares them. papers100M has the counts only: it is too large for
// the trials that fit the scores.
func synthModels() []synthModel {
	return []synthModel{
		{
			name: "demo", summary: "20,000 nodes in 10 classes; trains in seconds",
			nodes: 20_000, edges: 150_000, features: 64, classes: 10, train: 10_000, valid: 4_000, metric: Accuracy,
			degree: degreeLaw{floor: 2, tail: 2.5}, inside: 0.5, density: 0.6, homophily: 0.75, skew: 0.6,
			noise: 0.15, separation: 3, offset: 0.5, seed: 1,
		},
		{
			name: "arxiv", summary: "the size of ogbn-arxiv: 169,343 nodes, 1,166,243 edges, 40 classes",
			nodes: 169_343, edges: 1_166_243, features: 128, classes: 40, train: 90_941, valid: 29_799, metric: Accuracy,
			degree: degreeLaw{floor: 1, tail: 1.77}, inside: 0.61, density: 0.75, homophily: 0.655, skew: 1,
			noise: 0.25, separation: 3.4, offset: 0.8, seed: 1,
		},
		{
			name: "reddit", summary: "the size of GraphSAINT's Reddit: 232,965 nodes, 11,606,919 edges, 41 classes",
			nodes: 232_965, edges: 11_606_919, features: 602, classes: 41, train: 153_431, valid: 23_831, metric: MicroF1,
			degree: degreeLaw{floor: 1, tail: 2.74}, inside: 0.5, density: 0.6, homophily: 0.756, skew: 0.8,
			noise: 0.12, separation: 3, offset: 0.5, seed: 1,
		},
		{
			name: "proteins", summary: "the size of ogbn-proteins: 132,534 nodes, 39,561,252 edges, 112 binary tasks",
			nodes: 132_534, edges: 39_561_252, features: 8, classes: 112, train: 86_619, valid: 21_236, metric: ROCAUC, groups: 64,
			degree: degreeLaw{floor: 1, tail: 130}, inside: 0.605, density: 0.74, homophily: 0.65, skew: 0.6,
			noise: 0.25, separation: 2, offset: 0.5, seed: 1,
		},
		{
			name: "mag", summary: "the size of ogbn-mag's papers and citations: 736,389 nodes, 5,396,336 edges, 349 classes",
			nodes: 736_389, edges: 5_396_336, features: 128, classes: 349, train: 629_571, valid: 64_879, metric: Accuracy,
			degree: degreeLaw{floor: 1, tail: 2.22}, inside: 0.25, density: 0.5, homophily: 0.3, skew: 0.9,
			noise: 0, separation: 1.84, offset: 0.1, seed: 1,
		},
		{
			name: "products", summary: "the size of ogbn-products: 2,449,029 nodes, 61,859,140 edges, 47 classes",
			nodes: 2_449_029, edges: 61_859_140, features: 100, classes: 47, train: 196_615, valid: 39_323, metric: Accuracy,
			degree: degreeLaw{floor: 1, tail: 2.96}, inside: 0.735, density: 0.78, homophily: 0.808, skew: 1,
			noise: 0.31, separation: 5, offset: 1, seed: 1,
		},
		{
			name: "papers100M", summary: "the size of ogbn-papers100M: 111,059,956 nodes, 1,615,685,872 edges, 172 classes, 1.5 M nodes with labels",
			nodes: 111_059_956, edges: 1_615_685_872, features: 128, classes: 172, train: 1_207_179, valid: 125_265, test: 214_338, metric: Accuracy,
			degree: degreeLaw{floor: 1, tail: 2.15}, inside: 0.4, density: 0.55, homophily: 0.57, skew: 0.9,
			noise: 0.25, separation: 3.2, offset: 0.8, seed: 1,
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
	if m.noise, err = spec.Float("noise", m.noise, 0, 1); err != nil {
		return nil, err
	}
	return m, nil
}

// resize changes the number of nodes and, in proportion, the numbers of edges and of
// the nodes of each part of the split.
func (m *synthModel) resize(nodes int) {
	if nodes == m.nodes {
		return
	}
	scale := float64(nodes) / float64(m.nodes)
	m.edges = int64(math.Round(float64(m.edges) * scale))
	m.train = max(int(math.Round(float64(m.train)*scale)), 1)
	m.valid = min(int(math.Round(float64(m.valid)*scale)), nodes-m.train)
	if m.test > 0 { // 0 would mean all other nodes
		m.test = min(max(int(math.Round(float64(m.test)*scale)), 1), nodes-m.train-m.valid)
	}
	m.nodes = nodes
}

// Streams of random numbers, one for each purpose: a change in one part's draws does
// not change the other parts.
const (
	streamOrder = iota + 1
	streamGroups
	streamInside
	streamRounding
	streamEdges
	streamMeans
	streamShown
	streamOffsets
	streamFeatures
	streamLabels
	streamTasks
	streamSplit
	streamLabelled
)

// synthChunk is the number of nodes that share a stream. Each chunk has its own
// streams, so that the result does not depend on the number of cores.
const synthChunk = 2048

// chunks returns the number of chunks.
func (m *synthModel) chunks() int { return (m.nodes + synthChunk - 1) / synthChunk }

// random returns the generator of one purpose and chunk.
func (m *synthModel) random(purpose, chunk int) *rand.Rand {
	return rand.New(rand.NewPCG(splitmix.Hash(m.seed^splitmix.Hash(uint64(purpose))), splitmix.Hash(uint64(chunk)+1)))
}

// eachNode calls f, on all cores, for ranges [lo, hi) that cover the nodes, with the
// range's generator.
func (m *synthModel) eachNode(ctx context.Context, purpose int, f func(lo, hi int, random *rand.Rand)) error {
	return parallel.Chunks(ctx, m.chunks(), func(chunk int) error {
		lo := chunk * synthChunk
		f(lo, min(lo+synthChunk, m.nodes), m.random(purpose, chunk))
		return nil
	})
}

func (m *synthModel) generate(ctx context.Context) (*Data, error) {
	if err := m.checkMemory(int64(m.nodes)); err != nil {
		return nil, fmt.Errorf("%w; gcn datasets convert makes a store of it in less", err)
	}
	d, c, err := m.generateBare(ctx)
	if err != nil {
		return nil, err
	}
	d.Features, err = m.drawFeatures(ctx, c)
	return d, err
}

// checkMemory reports a data set that does not fit in memory with the features of
// that many rows.
func (m *synthModel) checkMemory(rows int64) error {
	return memory.Check(fmt.Sprintf("datasets: synth:%s of %d nodes and %d edges", m.name, m.nodes, m.edges), m.bytes(rows))
}

// bytes returns the memory that generating takes with the features of that many rows;
// -1 if it is more than an int64 holds.
func (m *synthModel) bytes(rows int64) int64 {
	const (
		node = 115 // communities, degree, offsets, running sums, class, split
		edge = 12  // in the lower triangle, and in both directions
	)
	nodes, width, groups, tasks := int64(m.nodes), int64(m.features), int64(m.groupCount()), int64(0)
	if m.groups > 0 {
		tasks = int64(m.classes)
	}
	var bytes int64
	for _, part := range []int64{
		memory.Product(nodes, node), memory.Product(m.edges, edge),
		memory.Product(rows, width, 4), memory.Product(nodes, tasks, 4),
		memory.Product(groups, width, 2, 4), memory.Product(groups, tasks, 8),
	} {
		if bytes += part; part < 0 || bytes < 0 {
			return -1
		}
	}
	return bytes
}

// tableBytes returns the memory that generating takes without edges and features; -1 if it
// is more than an int64 holds.
func (m *synthModel) tableBytes() int64 {
	const node = 72 // communities, degrees, running sums, offsets
	tasks := int64(0)
	if m.groups > 0 {
		tasks = int64(m.classes)
	}
	return memory.Product(int64(m.nodes), node+4*tasks)
}

// generateBare generates everything except the features. It returns the communities
// too, from which the features are drawn.
func (m *synthModel) generateBare(ctx context.Context) (*Data, *communities, error) {
	c := m.drawCommunities()
	adjacency, err := m.drawGraph(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	d, err := m.bare(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	d.Graph = adjacency
	return d, c, nil
}

// bare generates everything except the graph and the features.
func (m *synthModel) bare(ctx context.Context, c *communities) (*Data, error) {
	labels, err := m.drawLabels(ctx, c)
	if err != nil {
		return nil, err
	}
	split, err := m.drawSplit(ctx)
	if err != nil {
		return nil, err
	}
	if m.test > 0 {
		labels.Class = onlyLabelled(labels.Class, split)
	}
	return &Data{
		simple: true,
		Labels: labels,
		Split:  split,
		Metric: m.metric,
		Notes: []string{fmt.Sprintf("synthetic: %d communities in %d groups, homophily %v, noise %v, seed %d",
			c.count(), m.groupCount(), m.homophily, m.noise, m.seed)},
	}, nil
}

// onlyLabelled returns the classes of the nodes of a split, and -1 for the others.
func onlyLabelled(classes []int32, split Split) []int32 {
	known := slices.Repeat([]int32{-1}, len(classes))
	for _, ids := range split.parts() {
		for _, i := range ids {
			known[i] = classes[i]
		}
	}
	return known
}

// groupCount returns the number of groups.
func (m *synthModel) groupCount() int {
	if m.groups > 0 {
		return m.groups
	}
	return m.classes
}

// zipf returns the cumulative distribution of the sizes of the groups.
func (m *synthModel) zipf() []float64 {
	cumulative := make([]float64, m.groupCount())
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

// means returns the means of the groups, each a vector of length separation.
func (m *synthModel) means() []float32 {
	width := m.features
	means := make([]float32, m.groupCount()*width)
	random := m.random(streamMeans, 0)
	for c := range m.groupCount() {
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

func (m *synthModel) drawFeatures(ctx context.Context, c *communities) (*graph.Features, error) {
	width, draw := m.features, m.featureRows(c)
	x := &graph.Features{Rows: m.nodes, Cols: width, Data: make([]float32, m.nodes*width)}
	const share = 256 // communities
	err := parallel.Chunks(ctx, (c.count()+share-1)/share, func(chunk int) error {
		for k := chunk * share; k < min((chunk+1)*share, c.count()); k++ {
			members := c.members(k)
			first := x.Row(int(members[0]))
			m.drawOffset(first, k)
			for _, i := range members[1:] {
				copy(x.Row(int(i)), first)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return x, m.eachNode(ctx, streamFeatures, func(lo, hi int, random *rand.Rand) {
		draw(x.Data[lo*width:hi*width], lo, random)
	})
}

// drawOffset sets row to the offset of community k, in deviations of an offset.
func (m *synthModel) drawOffset(row []float32, k int) {
	random := m.random(streamOffsets, k)
	for j := range row {
		row[j] = float32(random.NormFloat64())
	}
}

// featureRows returns a function that makes features of the rows of consecutive nodes,
// from lo on, which hold the offsets of their communities. It is safe for concurrent use.
func (m *synthModel) featureRows(c *communities) func(rows []float32, lo int, random *rand.Rand) {
	width, means, shown := m.features, m.means(), m.shownGroups(c)
	scale := float32(1 / math.Sqrt(float64(width)*(1+m.offset*m.offset))) // rows have about unit length, like word vectors
	deviation := float32(m.offset)
	return func(rows []float32, lo int, random *rand.Rand) {
		for i := lo; len(rows) > 0; i++ {
			row, mean := rows[:width], means[int(shown[c.of[i]])*width:][:width]
			for j, v := range mean {
				row[j] = scale * (v + deviation*row[j] + float32(random.NormFloat64()))
			}
			rows = rows[width:]
		}
	}
}

// shownGroups returns the group whose mean the features of each community have: its
// own, or for a share of them (noise) a random one.
func (m *synthModel) shownGroups(c *communities) []int32 {
	cumulative, random := m.zipf(), m.random(streamShown, 0)
	shown := make([]int32, c.count())
	for k, own := range c.group {
		other, changed := pick(cumulative, random.Float64()), random.Float64() < m.noise
		shown[k] = own
		if changed {
			shown[k] = other
		}
	}
	return shown
}

func (m *synthModel) drawLabels(ctx context.Context, c *communities) (*graph.Labels, error) {
	if m.groups > 0 {
		return m.taskLabels(ctx, c)
	}
	y := &graph.Labels{Classes: m.classes, Class: make([]int32, m.nodes)}
	for i, k := range c.of {
		y.Class[i] = c.group[k]
	}
	return y, nil
}

// taskLabels draws binary labels. The logit of task t for a node of group z is
// base_t + ⟨a_t, u_z⟩ with random normal a_t. u_z is the direction of the group's mean, so
// the features predict the tasks through it. Bases around −2 make positives rare, as
// in protein function prediction.
func (m *synthModel) taskLabels(ctx context.Context, c *communities) (*graph.Labels, error) {
	tasks, groups, width, means := m.classes, m.groupCount(), m.features, m.means()
	positive := make([]float64, groups*tasks) // probabilities
	random := m.random(streamTasks, 0)
	direction := make([]float64, width)
	for t := range tasks {
		base := -2 + random.NormFloat64()
		for j := range direction {
			direction[j] = random.NormFloat64() / m.separation
		}
		for z := range groups {
			logit := base
			for j, v := range means[z*width : (z+1)*width] {
				logit += direction[j] * float64(v)
			}
			positive[z*tasks+t] = 1 / (1 + math.Exp(-logit))
		}
	}
	y := &graph.Labels{Tasks: tasks, Multi: make([]float32, m.nodes*tasks)}
	return y, m.eachNode(ctx, streamLabels, func(lo, hi int, random *rand.Rand) {
		for i := lo; i < hi; i++ {
			of := positive[int(c.group[c.of[i]])*tasks:]
			row := y.Multi[i*tasks : (i+1)*tasks]
			for t := range row {
				if random.Float64() < of[t] {
					row[t] = 1
				}
			}
		}
	})
}

// drawSplit draws a random split of exact sizes. Ids increase within a part.
func (m *synthModel) drawSplit(ctx context.Context) (Split, error) {
	if m.test == 0 {
		return dealSplit(ctx, m.nodes, m.train, m.valid, m.random(streamSplit, 0), nil)
	}
	labelled, err := dealSplit(ctx, m.nodes, m.train+m.valid+m.test, 0, m.random(streamLabelled, 0), nil)
	if err != nil {
		return Split{}, err
	}
	ids := labelled.Train
	split, err := dealSplit(ctx, len(ids), m.train, m.valid, m.random(streamSplit, 0), nil)
	for _, part := range split.parts() {
		for k, at := range part {
			part[k] = ids[at]
		}
	}
	return split, err
}
