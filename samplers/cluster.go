package samplers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/partition"
)

// Cluster is Cluster-GCN with several clusters per batch (Chiang, Liu, Si, Li,
// Bengio & Hsieh 2019, arXiv:1905.07953, "stochastic multiple partitions"). It
// splits the graph once into parts with few edges between them. A batch draws q
// parts with equal probabilities, without replacement, and takes all edges among
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
// Cost of a batch: O(degrees of its nodes). Memory: 5 bytes per node, and 16 for
// each concurrent call. The fields must not change after the first call of
// Sample; Sample may be called concurrently.
type Cluster struct {
	Laplacian *graph.Laplacian // of the whole graph; required
	Train     []int32          // training nodes; nil means all nodes
	Depth     int              // number of layers; required

	Parts       int         // parts of the graph; 0 means one per 100 nodes
	Clusters    int         // q; 0 means enough for about as many training nodes as seeds
	Partitioner Partitioner // nil means Multilevel{}

	prepare preparation
	plan    clusterPlan
	scratch scratchPool[clusterScratch]
}

var _ Describer = (*Cluster)(nil)

// clusterPlan is the split graph.
type clusterPlan struct {
	symmetric bool
	train     []bool // of each node: whether it is a training node; nil: all are
	outputs   int    // number of training nodes
	parts     [][]int32
	cut       int64 // edges between parts
}

// clusterScratch is the memory of one call.
type clusterScratch struct {
	subgraphScratch
	picks  picks
	scales []float32 // of each row
}

// Layers returns Depth.
func (s *Cluster) Layers() int { return s.Depth }

// Validate returns an error if a field is missing or out of range. The first
// call splits the graph, which takes seconds on a large one.
func (s *Cluster) Validate() error { return s.prepare.do(s.setUp) }

func (s *Cluster) setUp() (err error) {
	plan := &s.plan
	if err := cmp.Or(checkDeep("Cluster", s.Laplacian, s.Depth), checkUndirected("Cluster", s.Laplacian)); err != nil {
		return err
	}
	n := s.Laplacian.Nodes()
	parts := cmp.Or(s.Parts, max(1, n/100))
	if parts < 0 || parts > n || s.Clusters < 0 {
		return fmt.Errorf("samplers: Cluster with %d parts of a graph of %d nodes, %d in a batch: want at most one part per node, and none below 0", parts, n, s.Clusters)
	}
	if plan.symmetric, err = isSymmetric(s.Laplacian); err != nil {
		return err
	}
	if plan.outputs = n; s.Train != nil {
		if _, err := numberNodes(s.Laplacian, s.Train); err != nil {
			return err
		}
		plan.outputs, plan.train = len(s.Train), make([]bool, n)
		for _, i := range s.Train {
			plan.train[i] = true
		}
	}
	return plan.split(s.Laplacian.Adjacency, s.partitioner(), parts)
}

func (s *Cluster) partitioner() Partitioner {
	if s.Partitioner == nil {
		return Multilevel{}
	}
	return s.Partitioner
}

// split splits the graph into the given number of parts, and leaves empty ones out.
func (plan *clusterPlan) split(adjacency *graph.CSR, partitioner Partitioner, parts int) error {
	part, err := partitioner.Partition(adjacency, parts)
	if err != nil {
		return err
	}
	if len(part) != adjacency.Rows {
		return fmt.Errorf("samplers: partitioner %s returns the parts of %d nodes, want %d", partitioner.Name(), len(part), adjacency.Rows)
	}
	all := make([][]int32, parts)
	for v, p := range part {
		if p < 0 || int(p) >= parts {
			return fmt.Errorf("samplers: partitioner %s puts node %d into part %d, outside [0, %d)", partitioner.Name(), v, p, parts)
		}
		all[p] = append(all[p], int32(v))
	}
	plan.parts = slices.DeleteFunc(all, func(nodes []int32) bool { return len(nodes) == 0 })
	plan.cut = partition.Cut(adjacency, part)
	return nil
}

// Describe describes the split.
func (s *Cluster) Describe() string {
	if s.Validate() != nil {
		return ""
	}
	edges := s.Laplacian.Adjacency.NNZ() / 2
	return fmt.Sprintf("%d parts of %d nodes by %s, %.1f %% of %d edges between parts",
		len(s.plan.parts), s.Laplacian.Nodes(), s.partitioner().Name(), 100*float64(s.plan.cut)/math.Max(1, float64(edges)), edges)
}

// Sample implements Sampler. It uses only the number of seeds, which must be
// distinct nodes, and only if Clusters is 0. It draws again if no part drawn has a
// training node.
func (s *Cluster) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *MiniBatch) error {
	if err := s.Validate(); err != nil {
		return err
	}
	scratch := s.scratch.get()
	defer s.scratch.put(scratch)
	if err := scratch.seeds.checkSeeds(s.Laplacian, seeds); err != nil {
		return err
	}
	plan := &s.plan
	q := s.Clusters
	if q == 0 {
		q = int(math.Round(float64(len(seeds)) * float64(len(plan.parts)) / float64(plan.outputs)))
	}
	q = min(max(q, 1), len(plan.parts))
	for outputs := false; !outputs; {
		if err := ctx.Err(); err != nil {
			return err
		}
		outputs = plan.draw(scratch, s.Laplacian, q, rng)
	}
	batch.Reset(2)
	square, top := batch.Blocks[0], batch.Blocks[1]
	s.fill(scratch, square)
	if plan.train == nil {
		top = square
	} else {
		plan.keepTraining(square, top)
	}
	batch.Blocks = batch.Blocks[:0]
	for range s.Depth - 1 {
		batch.Blocks = append(batch.Blocks, square)
	}
	batch.Blocks = append(batch.Blocks, top)
	return nil
}

// draw numbers the nodes of q parts, and reports whether one is a training node.
func (plan *clusterPlan) draw(scratch *clusterScratch, p *graph.Laplacian, q int, rng *rand.Rand) bool {
	ids := &scratch.numbering
	ids.begin(p, ids.nodes)
	outputs := plan.train == nil
	scratch.picks.draw(rng, len(plan.parts), q, false)
	for _, k := range scratch.picks.index {
		for _, v := range plan.parts[k] {
			ids.numberOrAdd(v)
			outputs = outputs || plan.train[v]
		}
	}
	return outputs
}

// fill fills block with the Laplacian of the subgraph of the nodes drawn, which are its
// input and its output nodes.
func (s *Cluster) fill(scratch *clusterScratch, block *graph.Block) {
	ids, adjacency := &scratch.numbering, s.Laplacian.Adjacency
	block.Src = append(block.Src[:0], ids.nodes...)
	inside := &scratch.inside
	inside.fill(s.Laplacian.Nodes(), ids.nodes)
	defer inside.clear(ids.nodes)
	m := startBlock(block, block.Src)
	m.Idx, m.Val = m.Idx[:0], m.Val[:0]
	scratch.scales, block.ColScale = resize(scratch.scales, len(ids.nodes)), resize(block.ColScale, len(ids.nodes))
	scales := scratch.scales
	for k, v := range ids.nodes { // A'+I
		degree := 1.0
		m.Idx, m.Val = append(m.Idx, int32(k)), append(m.Val, 1)
		values := adjacency.RowValues(int(v))
		for c, u := range adjacency.Row(int(v)) {
			if !inside.has(u) {
				continue
			}
			l, a := ids.number(u), float32(1)
			if values != nil {
				a = values[c]
			}
			degree += float64(a)
			m.Idx, m.Val = append(m.Idx, l), append(m.Val, a)
		}
		m.Ptr[k+1] = int64(len(m.Idx))
		if s.plan.symmetric {
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
func (plan *clusterPlan) keepTraining(square, top *graph.Block) {
	top.Src = append(top.Src[:0], square.Src...)
	top.ColScale = append(top.ColScale[:0], square.ColScale...)
	m := &top.Matrix
	top.Dst, m.Ptr, m.Idx, m.Val = top.Dst[:0], append(m.Ptr[:0], 0), m.Idx[:0], m.Val[:0]
	for k, v := range square.Src {
		if plan.train[v] {
			top.Dst = append(top.Dst, v)
			m.Idx = append(m.Idx, square.Matrix.Row(k)...)
			m.Val = append(m.Val, square.Matrix.RowValues(k)...)
			m.Ptr = append(m.Ptr, int64(len(m.Idx)))
		}
	}
	m.Rows, m.Cols = len(top.Dst), len(top.Src)
	top.Finish()
}
