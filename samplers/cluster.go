package samplers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

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

	// TrainingGraph removes all nodes but the training nodes from the graph, as the
	// paper does in its inductive setting.
	TrainingGraph bool

	// KeepEntries propagates over the entries of P instead of the Laplacian of the
	// batch's subgraph.
	KeepEntries bool

	prepare preparation
	plan    clusterPlan
	scratch scratchPool[clusterScratch]
}

var _ Describer = (*Cluster)(nil)

// clusterPlan is the split graph.
type clusterPlan struct {
	graph       *subgraph
	symmetric   bool
	train       []bool // per local node: whether it is a training node; nil: all are
	outputs     int    // number of training nodes
	ptr         []int32
	nodes       []int32 // local nodes of part k: nodes[ptr[k]:ptr[k+1]]
	parts       int     // number of parts that are not empty
	partitioner string
	cut         int64 // edges between parts
}

// clusterScratch is the memory of one call.
type clusterScratch struct {
	subgraphScratch
	picks    picks
	rowScale []float32 // of each node drawn
	rows     []int32
}

// Layers returns Depth.
func (s *Cluster) Layers() int { return s.Depth }

// Validate returns an error if a field is missing or out of range. The first
// call splits the graph, which takes seconds on a large one.
func (s *Cluster) Validate() error {
	return s.prepare.do(s.setUp)
}

func (s *Cluster) setUp() (err error) {
	plan := &s.plan
	if err := cmp.Or(checkDeep("Cluster", s.Laplacian, s.Depth), checkUndirected("Cluster", s.Laplacian)); err != nil {
		return err
	}
	if s.Parts < 0 || s.Clusters < 0 {
		return fmt.Errorf("samplers: Cluster with %d parts, %d in a batch, want at least 0", s.Parts, s.Clusters)
	}
	if !s.KeepEntries {
		if plan.symmetric, err = isSymmetric(s.Laplacian); err != nil {
			return err
		}
	}
	if s.Train == nil || s.TrainingGraph {
		if plan.graph, err = newSubgraph(s.Laplacian, s.Train); err != nil {
			return err
		}
		plan.outputs = plan.graph.laplacian.Nodes()
	} else {
		number, err := numberNodes(s.Laplacian, s.Train)
		if err != nil {
			return err
		}
		plan.graph = &subgraph{laplacian: s.Laplacian}
		plan.outputs = len(s.Train)
		plan.train = make([]bool, len(number))
		for _, i := range s.Train {
			plan.train[i] = true
		}
	}
	return plan.split(s.Partitioner, s.Parts)
}

// split splits the graph, and sets ptr, nodes, parts, partitioner and cut.
func (plan *clusterPlan) split(partitioner Partitioner, parts int) error {
	adjacency := plan.graph.laplacian.Adjacency
	n := adjacency.Rows
	if n == 0 {
		return errors.New("samplers: Cluster on a graph without nodes")
	}
	if parts == 0 {
		parts = max(1, n/100)
	}
	if parts > n {
		return fmt.Errorf("samplers: Cluster with %d parts of a graph of %d nodes, want at most one part per node", parts, n)
	}
	if partitioner == nil {
		partitioner = Multilevel{}
	}
	plan.partitioner = partitioner.Name()
	part, err := partitioner.Partition(adjacency, parts)
	if err != nil {
		return err
	}
	if len(part) != n {
		return fmt.Errorf("samplers: partitioner %s returns the parts of %d nodes, want %d", partitioner.Name(), len(part), n)
	}
	sizes := make([]int32, parts)
	for v, p := range part {
		if p < 0 || int(p) >= parts {
			return fmt.Errorf("samplers: partitioner %s puts node %d into part %d, outside [0, %d)", partitioner.Name(), v, p, parts)
		}
		sizes[p]++
	}
	plan.ptr = []int32{0}
	starts := make([]int32, parts)
	var sum int32
	for p, size := range sizes {
		starts[p] = sum
		if sum += size; size > 0 {
			plan.ptr = append(plan.ptr, sum)
		}
	}
	plan.parts = len(plan.ptr) - 1
	plan.nodes = make([]int32, n)
	for v, p := range part {
		plan.nodes[starts[p]] = int32(v)
		starts[p]++
	}
	plan.cut = partition.Cut(adjacency, part)
	return nil
}

// Describe describes the split.
func (s *Cluster) Describe() string {
	plan := &s.plan
	if s.Validate() != nil {
		return ""
	}
	edges := plan.graph.laplacian.Adjacency.NNZ() / 2
	return fmt.Sprintf("%d parts of %d nodes by %s, %.1f %% of %d edges between parts",
		plan.parts, plan.graph.laplacian.Nodes(), plan.partitioner, 100*float64(plan.cut)/math.Max(1, float64(edges)), edges)
}

// String returns the settings that decide which batches are drawn, the
// partitioner included.
func (s *Cluster) String() string {
	return fmt.Sprintf("Cluster{Depth:%d Train:%d Clusters:%d TrainingGraph:%t KeepEntries:%t; %s}",
		s.Depth, len(s.Train), s.Clusters, s.TrainingGraph, s.KeepEntries, s.Describe())
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
		q = int(math.Round(float64(len(seeds)) * float64(plan.parts) / float64(plan.outputs)))
	}
	q = min(max(q, 1), plan.parts)
	ids := &scratch.numbering
	for outputs := false; !outputs; {
		if err := ctx.Err(); err != nil {
			return err
		}
		ids.begin(plan.graph.laplacian, scratch.locals)
		outputs = plan.draw(scratch, q, rng)
		scratch.locals = ids.nodes
	}

	batch.Reset(2)
	square, top := batch.Blocks[0], batch.Blocks[1]
	s.fill(scratch, square)
	batch.Blocks = batch.Blocks[:0]
	for range s.Depth - 1 {
		batch.Blocks = append(batch.Blocks, square)
	}
	if plan.train == nil {
		top = square
	} else {
		plan.keepTraining(scratch, square, top)
	}
	batch.Blocks = append(batch.Blocks, top)
	return nil
}

// draw numbers the nodes of q parts, and reports whether one is a training node.
func (plan *clusterPlan) draw(scratch *clusterScratch, q int, rng *rand.Rand) bool {
	outputs := plan.train == nil
	scratch.picks.draw(rng, plan.parts, q, false)
	for _, k := range scratch.picks.index {
		for _, v := range plan.nodes[plan.ptr[k]:plan.ptr[k+1]] {
			scratch.numbering.numberOrAdd(v)
			outputs = outputs || plan.train[v]
		}
	}
	return outputs
}

// fill fills block: the nodes drawn are its input and its output nodes.
func (s *Cluster) fill(scratch *clusterScratch, block *graph.Block) {
	ids, plan := &scratch.numbering, &s.plan
	p := plan.graph.laplacian
	adjacency := p.Adjacency
	block.Src = resize(block.Src, len(ids.nodes))
	for k, v := range ids.nodes {
		block.Src[k] = plan.graph.node(v)
	}
	inside := &scratch.inside
	inside.fill(p.Nodes(), ids.nodes)
	defer inside.clear(ids.nodes)
	m := startBlock(block, block.Src)
	m.Idx, m.Val = m.Idx[:0], m.Val[:0]
	rows := resize(scratch.rowScale, len(ids.nodes))
	scratch.rowScale = rows
	for k, v := range ids.nodes {
		degree := 1.0
		m.Idx, m.Val = append(m.Idx, int32(k)), append(m.Val, 1)
		values := adjacency.RowValues(int(v))
		for c, u := range adjacency.Row(int(v)) {
			if !inside.has(u) {
				continue
			}
			l := ids.number(u)
			a := float32(1)
			if values != nil {
				a = values[c]
			}
			degree += float64(a)
			m.Idx, m.Val = append(m.Idx, l), append(m.Val, a)
		}
		m.Ptr[k+1] = int64(len(m.Idx))
		switch {
		case s.KeepEntries:
			rows[k] = p.RowScale[v]
		case plan.symmetric:
			rows[k] = float32(1 / math.Sqrt(degree))
		default:
			rows[k] = float32(1 / degree)
		}
	}
	block.ColScale = resize(block.ColScale, len(ids.nodes))
	for l, v := range ids.nodes {
		switch {
		case s.KeepEntries:
			block.ColScale[l] = p.ColScale[v]
		case plan.symmetric:
			block.ColScale[l] = rows[l]
		default:
			block.ColScale[l] = 1
		}
	}
	for k := range ids.nodes {
		for e := m.Ptr[k]; e < m.Ptr[k+1]; e++ {
			m.Val[e] = float32(float64(rows[k]) * float64(block.ColScale[m.Idx[e]]) * float64(m.Val[e]))
		}
	}
	block.Finish()
}

// keepTraining fills top with the rows of square that belong to training nodes.
func (plan *clusterPlan) keepTraining(scratch *clusterScratch, square, top *graph.Block) {
	scratch.rows = scratch.rows[:0]
	top.Dst = top.Dst[:0]
	for k, v := range scratch.numbering.nodes {
		if plan.train[v] {
			scratch.rows = append(scratch.rows, int32(k))
			top.Dst = append(top.Dst, square.Src[k])
		}
	}
	top.Src = append(top.Src[:0], square.Src...)
	top.ColScale = append(top.ColScale[:0], square.ColScale...)
	m := &top.Matrix
	m.Rows, m.Cols = len(top.Dst), len(top.Src)
	m.Ptr = append(m.Ptr[:0], 0)
	m.Idx, m.Val = m.Idx[:0], m.Val[:0]
	for _, k := range scratch.rows {
		m.Idx = append(m.Idx, square.Matrix.Row(int(k))...)
		m.Val = append(m.Val, square.Matrix.RowValues(int(k))...)
		m.Ptr = append(m.Ptr, int64(len(m.Idx)))
	}
	top.Finish()
}
