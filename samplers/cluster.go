package samplers

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/partition"
)

// Clusters makes Subgraph Cluster-GCN with several clusters per batch (Chiang, Liu, Si, Li,
// Bengio & Hsieh 2019, arXiv:1905.07953, "stochastic multiple partitions"). It
// splits the whole graph once into parts with few edges between them, by size-constrained label
// propagation on several levels (Meyerhenke, Sanders & Schulz 2014, arXiv:1402.3281). A batch
// draws q parts with equal probabilities, without replacement, and takes all edges among
// their nodes, also edges between different parts. Every layer propagates over
//
//	P̃ = D̃'^-½ (A'+I) D̃'^-½,
//
// the Laplacian of the batch's subgraph A', as in the paper; it is row-stochastic
// if Subgraph.Laplacian is. The output nodes are the training nodes of the batch, and the
// loss is their mean.
//
// Biased, E[P̃H] ≠ PH: nothing compensates for the edges that leave the batch. The
// bias falls as the batch keeps more edges. A batch of all parts is the full
// batch, exactly. The parts are drawn again if they have no training node.
//
// Memory: 5 bytes per node.
type Clusters struct {
	Parts    int // parts of the graph; 0 means one per 100 nodes
	PerBatch int // q; 0 means enough for about as many training nodes as seeds
}

func (c Clusters) law(s *Subgraph) (setLaw, error) {
	n := s.laplacian.Nodes()
	parts := cmp.Or(c.Parts, max(1, n/100))
	if parts < 0 || parts > n || c.PerBatch < 0 {
		return nil, fmt.Errorf("samplers: Clusters of %d parts of a graph of %d nodes, %d in a batch: want at most one part per node, and none below 0", parts, n, c.PerBatch)
	}
	if s.Train != nil {
		s.outputs = make([]bool, n)
	}
	for _, v := range s.Train {
		s.outputs[v] = true
	}
	l := &clusterLaw{s, make([][]int32, parts), c.PerBatch}
	part, err := partition.Multilevel(s.laplacian.Adjacency, parts)
	for v, p := range part {
		l.parts[p] = append(l.parts[p], int32(v))
	}
	return l, err
}

// clusterLaw is the law of Clusters.
type clusterLaw struct {
	s        *Subgraph
	parts    [][]int32
	perBatch int // q, or 0
}

// draw draws q parts, again if they have no output node.
func (l *clusterLaw) draw(w *workspace, seeds int, rng *rand.Rand) {
	training := cmp.Or(len(l.s.Train), l.s.laplacian.Nodes())
	q := cmp.Or(l.perBatch, int(math.Round(float64(seeds)*float64(len(l.parts))/float64(training))))
	q = min(max(q, 1), len(l.parts))
	for outputs := false; !outputs; {
		w.begin(w.laplacian, nil)
		w.sample.drawUniform(rng, len(l.parts), q)
		for _, k := range w.sample.Index {
			for _, v := range l.parts[k] {
				w.numberOrAdd(v)
				outputs = outputs || l.s.outputs == nil || l.s.outputs[v]
			}
		}
	}
}

// weigh computes the Laplacian of A'. The loss is a mean.
func (l *clusterLaw) weigh(w *workspace, _ int, block *graph.Block, losses []float32) []float32 {
	m := &block.Matrix
	rows := resize(&w.factors, m.Rows)
	for k := range rows {
		degree := 0.0
		for _, a := range m.RowValues(k) {
			degree += float64(a)
		}
		rows[k], block.ColScale[k] = float32(1/degree), 1
		if l.s.symmetric {
			rows[k] = float32(1 / math.Sqrt(degree))
			block.ColScale[k] = rows[k]
		}
	}
	for k, scale := range rows {
		values := m.RowValues(k)
		for e, j := range m.Row(k) {
			values[e] = float32(float64(scale) * float64(block.ColScale[j]) * float64(values[e]))
		}
	}
	return losses
}
