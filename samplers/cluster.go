package samplers

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
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
// A batch uses only the number of its seeds, and only if Clusters is 0. The parts are drawn again
// if they have no training node.
//
// Cost of a batch: O(degrees of its nodes). Memory: 5 bytes per node, and 8 for
// each concurrent call.
type Cluster struct {
	Laplacian *graph.Laplacian // of the whole graph; required
	Train     []int32          // training nodes; nil means all nodes
	Depth     int              // number of layers; required

	Parts    int // parts of the graph; 0 means one per 100 nodes
	Clusters int // q; 0 means enough for about as many training nodes as seeds

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
	training := n
	if s.Train != nil {
		training, s.outputs = len(s.Train), make([]bool, n)
	}
	for _, v := range s.Train {
		s.outputs[v] = true
	}
	part, err := partition.Multilevel(s.Laplacian.Adjacency, parts)
	if err != nil {
		return err
	}
	law := &clusterLaw{parts: make([][]int32, parts), clusters: s.Clusters, training: training, subgraph: &s.subgraph}
	for v, p := range part {
		law.parts[p] = append(law.parts[p], int32(v))
	}
	s.law = law
	return nil
}

// clusterLaw is the law of Cluster.
type clusterLaw struct {
	parts    [][]int32
	clusters int // q, or 0
	training int // number of training nodes
	*subgraph
}

// draw draws q parts, again if they have no output node.
func (l *clusterLaw) draw(s *subgraphScratch, seeds int, rng *rand.Rand) {
	q := l.clusters
	if q == 0 {
		q = int(math.Round(float64(seeds) * float64(len(l.parts)) / float64(l.training)))
	}
	q = min(max(q, 1), len(l.parts))
	for outputs := false; !outputs; {
		s.numbering.begin(l.laplacian, s.numbering.nodes)
		s.parts.drawUniform(rng, len(l.parts), q)
		for _, k := range s.parts.Index {
			for _, v := range l.parts[k] {
				s.numbering.add(v)
				outputs = outputs || l.outputs == nil || l.outputs[v]
			}
		}
	}
}

// weigh computes the Laplacian of A'. The loss is a mean.
func (l *clusterLaw) weigh(s *subgraphScratch, _ int, _ *graph.Laplacian, block *graph.Block, losses []float32) []float32 {
	m := &block.Matrix
	s.scales = resize(s.scales, m.Rows)
	for k := range m.Rows {
		degree := 0.0
		for _, a := range m.RowValues(k) {
			degree += float64(a)
		}
		s.scales[k], block.ColScale[k] = float32(1/degree), 1
		if l.symmetric {
			s.scales[k] = float32(1 / math.Sqrt(degree))
			block.ColScale[k] = s.scales[k]
		}
	}
	for k, scale := range s.scales {
		values := m.RowValues(k)
		for e, j := range m.Row(k) {
			values[e] = float32(float64(scale) * float64(block.ColScale[j]) * float64(values[e]))
		}
	}
	return losses
}
