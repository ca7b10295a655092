package samplers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/partition"
)

// Cluster is Cluster-GCN with several clusters per batch (Chiang, Liu, Si, Li,
// Bengio & Hsieh 2019, arXiv:1905.07953, "stochastic multiple partitions"). It
// splits the graph once into parts with few edges between them, by size-constrained label
// propagation on several levels (Meyerhenke, Sanders & Schulz 2014, arXiv:1402.3281). A batch
// draws q parts with equal probabilities, without replacement, and takes all edges among
// their nodes, also edges between different parts. Every layer propagates over
//
//	P̃ = D̃'^-½ (A'+I) D̃'^-½,
//
// the Laplacian of the batch's subgraph A', as in the paper; it is row-stochastic
// if Laplacian is. The output nodes are the training nodes of the batch, and the
// loss is their mean.
//
// Biased, E[P̃H] ≠ PH: nothing compensates for the edges that leave the batch. The
// bias falls as the batch keeps more edges. A batch of all parts is the full
// batch, exactly.
//
// Cost of a batch: O(degrees of its nodes). Memory: 5 bytes per node, and 8 for
// each concurrent call.
type Cluster struct {
	Laplacian *graph.Laplacian // of the whole graph; required
	Train     []int32          // training nodes; nil means all nodes
	Depth     int              // number of layers; required

	Parts    int // parts of the graph; 0 means one per 100 nodes
	Clusters int // q; 0 means enough for about as many training nodes as seeds

	train   []bool // of each node: whether it is a training node
	outputs int    // number of training nodes
	parts   [][]int32
	subgraph
}

var (
	_ Preparer   = (*Cluster)(nil)
	_ OwnOutputs = (*Cluster)(nil)
)

// Layers returns Depth.
func (s *Cluster) Layers() int { return s.Depth }

// Prepare implements Preparer. It splits the graph, which takes seconds on a large one.
func (s *Cluster) Prepare() error { return s.once(s.setUp) }

func (s *Cluster) setUp() error {
	if err := s.useAll("Cluster", s.Laplacian, s.Depth, s.Train); err != nil {
		return err
	}
	n := s.all
	parts := cmp.Or(s.Parts, max(1, n/100))
	if parts < 0 || parts > n || s.Clusters < 0 {
		return fmt.Errorf("samplers: Cluster with %d parts of a graph of %d nodes, %d in a batch: want at most one part per node, and none below 0", parts, n, s.Clusters)
	}
	if err := s.takeForm(); err != nil {
		return err
	}
	s.train, s.outputs = slices.Repeat([]bool{s.Train == nil}, n), n
	if s.Train != nil {
		s.outputs = len(s.Train)
	}
	for _, v := range s.Train {
		s.train[v] = true
	}
	part, err := partition.Multilevel(s.Laplacian.Adjacency, parts)
	if err != nil {
		return err
	}
	s.parts = make([][]int32, parts)
	for v, p := range part {
		s.parts[p] = append(s.parts[p], int32(v))
	}
	return nil
}

// Sample implements Sampler. It uses only the number of seeds, which must be
// distinct nodes, and only if Clusters is 0. It draws again if no part drawn has a
// training node.
func (s *Cluster) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *MiniBatch) error {
	scratch, err := s.begin(ctx, seeds)
	if err != nil {
		return err
	}
	defer s.put(scratch)
	q := s.Clusters
	if q == 0 {
		q = int(math.Round(float64(len(seeds)) * float64(len(s.parts)) / float64(s.outputs)))
	}
	q = min(max(q, 1), len(s.parts))
	for !s.draw(scratch, q, rng) {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	batch.Reset(2)
	square, top := batch.Blocks[0], batch.Blocks[1]
	s.fill(scratch, square)
	s.normalize(scratch, square)
	s.keepTraining(scratch, square, top)
	batch.stack(s.Depth)
	return nil
}

// draw numbers the nodes of q parts, and reports whether one is a training node.
func (s *Cluster) draw(scratch *subgraphScratch, q int, rng *rand.Rand) (outputs bool) {
	ids := &scratch.numbering
	ids.begin(s.Laplacian, ids.nodes)
	scratch.parts.drawUniform(rng, len(s.parts), q)
	for _, k := range scratch.parts.Index {
		for _, v := range s.parts[k] {
			ids.add(v)
			outputs = outputs || s.train[v]
		}
	}
	return outputs
}

// normalize makes block, which has the entries of A'+I, the Laplacian of A'.
func (s *Cluster) normalize(scratch *subgraphScratch, block *graph.Block) {
	m := &block.Matrix
	scratch.scales = resize(scratch.scales, m.Rows)
	scales := scratch.scales
	for k := range m.Rows {
		degree := 0.0
		for _, a := range m.RowValues(k) {
			degree += float64(a)
		}
		if s.symmetric {
			scales[k] = float32(1 / math.Sqrt(degree))
			block.ColScale[k] = scales[k]
		} else {
			scales[k], block.ColScale[k] = float32(1/degree), 1
		}
	}
	for k := range m.Rows {
		values, scale := m.RowValues(k), float64(scales[k])
		for e, l := range m.Row(k) {
			values[e] = float32(scale * float64(block.ColScale[l]) * float64(values[e]))
		}
	}
	block.Finish()
}

// keepTraining fills top with the rows of square that belong to training nodes.
func (s *Cluster) keepTraining(scratch *subgraphScratch, square, top *graph.Block) {
	top.Src = append(top.Src[:0], square.Src...)
	top.ColScale = append(top.ColScale[:0], square.ColScale...)
	top.Dst, scratch.training = top.Dst[:0], scratch.training[:0]
	for k, v := range square.Src {
		if s.train[v] {
			top.Dst, scratch.training = append(top.Dst, v), append(scratch.training, int32(k))
		}
	}
	kernel.SelectRows(&top.Matrix, &square.Matrix, scratch.training)
	top.Finish()
}
