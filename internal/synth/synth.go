// Package synth generates data sets from a seed: graphs of communities, with features,
// labels and splits that follow them.
//
//	Model ─▶ Source ─┬─▶ Graph, or Edges in pieces
//	                 ├─▶ Features in pieces
//	                 └─▶ Labels and a split
//
// Equal models give equal bits for any number of cores, whole or in pieces.
package synth

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/splitmix"
)

// Model holds the parameters of one generated data set. Its graph is a block
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
type Model struct {
	Name    string
	Summary string

	Nodes    int
	Edges    int64 // undirected
	Features int
	Classes  int // classes, or binary tasks if Groups > 0
	Train    int // training nodes
	Valid    int
	Test     int    // 0: all nodes in neither Train nor Valid; else the others have no labels
	Metric   string // accuracy, micro-f1 or rocauc
	Groups   int    // with binary tasks; 0: one for each class

	Degree     degreeLaw
	Inside     float64 // share of a node's expected edges within its community
	Density    float64 // probability of an edge between two nodes of a community
	Homophily  float64 // share of edges within a group
	Skew       float64 // Zipf exponent of the sizes of the groups
	Noise      float64 // share of communities with the features of a random group
	Separation float64 // length of a group's mean, in deviations of a node's noise
	Offset     float64 // deviation of a community's offset, in deviations of a node's noise
	Seed       uint64
}

// Models returns the data sets of synth:. All but demo are twins: they have the
// counts of the real data set of that name (Hu et al. 2020, arXiv:2005.00687, and
// GraphSAINT's Reddit), and its published figures as far as there are any.
// `gcn reproduce twins` compares them. papers100M has the counts only: it is too large for
// the trials that fit the scores.
func Models() (all []Model) {
	if err := json.Unmarshal(models, &all); err != nil {
		panic(err) // the file is part of the program
	}
	return all
}

//go:embed models.json
var models []byte

// Resize changes the number of nodes and, in proportion, the numbers of edges and of
// the nodes of each part of the split.
func (m *Model) Resize(nodes int) {
	scale := float64(nodes) / float64(m.Nodes)
	scaled := func(n int) int { return int(math.Round(float64(n) * scale)) }
	m.Edges = int64(scaled(int(m.Edges)))
	m.Train = max(scaled(m.Train), 1)
	m.Valid = min(scaled(m.Valid), nodes-m.Train)
	if m.Test > 0 { // 0 would mean all other nodes
		m.Test = min(max(scaled(m.Test), 1), nodes-m.Train-m.Valid)
	}
	m.Nodes = nodes
}

// Bytes returns the memory that a graph, labels, a split and features take while they are
// generated; -1 if an int64 does not hold it.
func (m *Model) Bytes() int64 {
	// A chunk of the builder takes 2 MiB. A node takes 115 bytes: communities, degree, offsets, running
	// sums, class, split. An edge takes 16: 4 in the builder, 8 in both rows of the matrix,
	// and 4 for their numbers while they are sorted.
	width, groups, tasks := float64(m.Features), float64(m.groupCount()), float64(m.tasks())
	bytes := 2<<20 + (115+5*width+4*tasks)*float64(m.Nodes) + 16*float64(m.Edges) + 2*4*groups*width + 8*groups*tasks
	if bytes >= math.MaxInt64 {
		return -1
	}
	return int64(bytes)
}

// TableBytes returns the memory that generating in pieces takes, without the pieces.
func (m *Model) TableBytes() int64 {
	return int64(m.Nodes) * int64(72+4*m.tasks()) // communities, degrees, running sums, offsets
}

// tasks returns the number of binary tasks, 0 with classes.
func (m *Model) tasks() int {
	if m.Groups > 0 {
		return m.Classes
	}
	return 0
}

// Source generates the data set of a model. It holds the communities. Its methods may be
// called in any order, or not at all.
type Source struct {
	Model
	c *communities
}

// Source returns the source of a model that does not change any more. Cost: O(nodes), and
// 12 bytes a node.
func (m *Model) Source() *Source { return &Source{*m, m.drawCommunities()} }

// Note says in a sentence what was generated.
func (s *Source) Note() string {
	return fmt.Sprintf("synthetic: %d communities in %d groups, homophily %v, noise %v, seed %d",
		s.c.count(), s.groupCount(), s.Homophily, s.Noise, s.Seed)
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

// chunkNodes is the number of nodes that share a stream. Each chunk has its own
// streams, so that the result does not depend on the number of cores.
const chunkNodes = 2048

// eachChunk calls f, on all cores, for the chunks of the nodes lo … hi−1, with the generator of the
// purpose and the range of nodes of each. lo is the first node of a chunk.
func (m *Model) eachChunk(ctx context.Context, purpose, lo, hi int, f func(random *rand.Rand, lo, hi int) error) error {
	return parallel.Chunks(ctx, (hi-lo+chunkNodes-1)/chunkNodes, func(k int) error {
		return f(m.random(purpose, lo/chunkNodes+k), lo+k*chunkNodes, min(lo+(k+1)*chunkNodes, hi))
	})
}

// random returns the generator of one purpose and chunk.
func (m *Model) random(purpose, chunk int) *rand.Rand {
	return rand.New(rand.NewPCG(splitmix.Hash(m.Seed^splitmix.Hash(uint64(purpose))), splitmix.Hash(uint64(chunk)+1)))
}

// shuffle puts the values in random order.
func shuffle[T any](values []T, random *rand.Rand) {
	random.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
}

// groupCount returns the number of groups.
func (m *Model) groupCount() int { return cmp.Or(m.Groups, m.Classes) }

// zipf returns the cumulative distribution of the sizes of the groups.
func (m *Model) zipf() []float64 {
	cumulative := make([]float64, m.groupCount())
	var sum float64
	for c := range cumulative {
		sum += math.Pow(float64(c+1), -m.Skew)
		cumulative[c] = sum
	}
	for c := range cumulative {
		cumulative[c] /= sum
	}
	return cumulative
}

// pick returns the first index whose cumulative probability exceeds u.
func pick(cumulative []float64, u float64) int32 {
	return int32(sort.Search(len(cumulative)-1, func(k int) bool { return cumulative[k] > u }))
}

// means returns the means of the groups, each a vector of length separation.
func (m *Model) means() []float32 {
	width := m.Features
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
		scale := float32(m.Separation / math.Sqrt(norm2))
		for j := range mean {
			mean[j] *= scale
		}
	}
	return means
}

// Features yields the rows of all nodes, about size features at a time. Each piece is in the memory
// of the one before it.
func (s *Source) Features(ctx context.Context, size int, yield func(rows []float32) error) error {
	width, means, shown := s.Model.Features, s.means(), s.shownGroups()
	offset := float32(s.Offset)
	scale := float32(1 / math.Sqrt(float64(width)*(1+s.Offset*s.Offset))) // rows have about unit length, like word vectors
	piece := min(max(size/(chunkNodes*width), 1)*chunkNodes, s.Nodes)
	buffer := make([]float32, piece*width)
	var offsets []float32 // of all communities, if the features of all nodes are in memory
	if piece == s.Nodes {
		offsets = make([]float32, s.c.count()*width)
		parallel.For(s.c.count(), 256, func(lo, hi int) {
			for k := lo; k < hi; k++ {
				s.drawOffset(offsets[k*width:(k+1)*width], k)
			}
		})
	}
	for first := 0; first < s.Nodes; first += piece {
		last := min(first+piece, s.Nodes)
		err := s.eachChunk(ctx, streamFeatures, first, last, func(random *rand.Rand, lo, hi int) error {
			for i := lo; i < hi; i++ {
				community := int(s.c.of[i])
				row := buffer[(i-first)*width:][:width]
				mean := means[int(shown[community])*width:]
				if offsets != nil {
					copy(row, offsets[community*width:])
				} else {
					s.drawOffset(row, community)
				}
				for j, v := range row {
					row[j] = scale * (mean[j] + offset*v + float32(random.NormFloat64()))
				}
			}
			return nil
		})
		if err == nil {
			err = yield(buffer[:(last-first)*width])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// drawOffset sets row to the offset that the nodes of a community share.
func (s *Source) drawOffset(row []float32, community int) {
	random := s.random(streamOffsets, community)
	for j := range row {
		row[j] = float32(random.NormFloat64())
	}
}

// shownGroups returns the group whose mean the features of each community have: its
// own, or for a share of them (Noise) a random one.
func (s *Source) shownGroups() []int32 {
	cumulative, random := s.zipf(), s.random(streamShown, 0)
	shown := slices.Clone(s.c.group)
	for k := range shown {
		other := pick(cumulative, random.Float64())
		if random.Float64() < s.Noise {
			shown[k] = other
		}
	}
	return shown
}

// Labels returns the labels, and the training, validation and test nodes.
func (s *Source) Labels(ctx context.Context) (*graph.Labels, [3][]int32, error) {
	split := s.drawSplit()
	if s.Groups > 0 {
		y, err := s.taskLabels(ctx)
		return y, split, err
	}
	y := &graph.Labels{Classes: s.Classes, Class: slices.Repeat([]int32{-1}, s.Nodes)}
	for _, part := range split { // it has all nodes, unless Test says otherwise
		for _, i := range part {
			y.Class[i] = s.c.group[s.c.of[i]]
		}
	}
	return y, split, ctx.Err()
}

// taskLabels draws binary labels. The logit of task t for a node of group z is
// base_t + ⟨a_t, u_z⟩ with random normal a_t. u_z is the direction of the group's mean, so
// the features predict the tasks through it. Bases around −2 make positives rare, as
// in protein function prediction.
func (s *Source) taskLabels(ctx context.Context) (*graph.Labels, error) {
	tasks, groups, width, means := s.Classes, s.groupCount(), s.Model.Features, s.means()
	positive := make([]float64, groups*tasks) // probabilities
	random := s.random(streamTasks, 0)
	direction := make([]float64, width)
	for t := range tasks {
		base := -2 + random.NormFloat64()
		for j := range direction {
			direction[j] = random.NormFloat64() / s.Separation
		}
		for z := range groups {
			logit := base
			for j, v := range means[z*width : (z+1)*width] {
				logit += direction[j] * float64(v)
			}
			positive[z*tasks+t] = 1 / (1 + math.Exp(-logit))
		}
	}
	y := &graph.Labels{Tasks: tasks, Multi: make([]float32, s.Nodes*tasks)}
	return y, s.eachChunk(ctx, streamLabels, 0, s.Nodes, func(random *rand.Rand, lo, hi int) error {
		for i := lo; i < hi; i++ {
			of := positive[int(s.c.group[s.c.of[i]])*tasks:]
			row := y.Multi[i*tasks : (i+1)*tasks]
			for t := range row {
				if random.Float64() < of[t] {
					row[t] = 1
				}
			}
		}
		return nil
	})
}

// drawSplit draws a random split of exact sizes. Ids increase within a part.
func (m *Model) drawSplit() [3][]int32 {
	ids := make([]int32, m.Nodes)
	for i := range ids {
		ids[i] = int32(i)
	}
	if m.Test > 0 {
		ids = RandomSplit(ids, m.Train+m.Valid+m.Test, 0, m.random(streamLabelled, 0))[0]
	}
	return RandomSplit(ids, m.Train, m.Valid, m.random(streamSplit, 0))
}

// RandomSplit draws a random split of nodes: train of them, valid of them, and the rest for testing.
// They keep their order within a part.
func RandomSplit(nodes []int32, train, valid int, random *rand.Rand) (parts [3][]int32) {
	part := slices.Repeat([]uint8{2}, len(nodes))
	copy(part, slices.Repeat([]uint8{1}, train+valid)) // by rounding, one more than there are
	clear(part[:min(train, len(part))])
	shuffle(part, random)
	for k, p := range part {
		parts[p] = append(parts[p], nodes[k])
	}
	return parts
}
