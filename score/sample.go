package score

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Sample is the nodes on which a model is scored: all of a part of the split, or a sample
// of its labelled nodes, drawn uniformly without replacement. Each is scored over its full
// neighbourhood, so the score of a sample differs from the whole part's by the choice of the
// nodes alone.
type Sample struct {
	Nodes []int32 // ascending if they are a sample
	Of    int     // labelled nodes of the part; of all nodes, len(Nodes)

	ratio bool // the estimate is a ratio of two means
}

// The numbers of the parts of a split, for NewSample.
const (
	TrainPart uint64 = iota
	ValidPart
	TestPart
)

// Estimate is a score with its uncertainty.
type Estimate struct {
	Score float64

	// StandardError is the standard error from the choice of the nodes, estimated from the same
	// sample, with the correction for a finite population. It is 0 if all nodes were scored, and
	// NaN if there is a single node.
	StandardError float64

	// Unbiased says that the mean of Score over all samples is the score of all nodes.
	// Otherwise Score is consistent: its bias falls as 1/nodes.
	Unbiased bool

	// Predicted is the number of nodes predicted as each class; nil for binary tasks.
	Predicted []int
}

// NewSample draws n of the labelled nodes, from the stream of the seed and a number for
// the part of the split. If n is 0, or at least the number of labelled nodes, the result is all
// nodes. Equal arguments give equal samples. If n is not 0, a node outside the labels is an
// error, and so is ROC AUC: it compares pairs of nodes, and neither an unbiased estimate nor its
// standard error follows from the nodes' own scores.
func NewSample(metric datasets.Metric, labels *graph.Labels, nodes []int32, n int, seed, part uint64) (*Sample, error) {
	s := &Sample{Nodes: nodes, Of: len(nodes)}
	switch {
	case n < 0:
		return nil, fmt.Errorf("score: a sample of %d nodes, want at least 1, or 0 for all", n)
	case n == 0:
		return s, nil
	case metric == datasets.ROCAUC:
		return nil, fmt.Errorf("score: a sample of nodes gives no unbiased estimate of rocauc, which compares pairs of nodes, and no standard error: score all nodes")
	case labels == nil:
		return nil, fmt.Errorf("score: no labels to sample nodes by")
	}
	if err := checkNodes(labels, nodes); err != nil {
		return nil, err
	}
	s.ratio = labels.Tasks > 0 && metric == datasets.MicroF1
	var labelled []int32
	for _, v := range nodes {
		known := 0
		for t := range tasksOf(labels) {
			if _, is := label(labels, v, t); is {
				known++
			}
		}
		s.ratio = s.ratio || known > 0 && known < tasksOf(labels)
		if known > 0 {
			labelled = append(labelled, v)
		}
	}
	if n >= len(labelled) {
		return s, nil
	}
	random := rand.New(samplers.NewSource(seed, math.MaxUint64, part))
	for k := range n {
		other := k + random.IntN(len(labelled)-k)
		labelled[k], labelled[other] = labelled[other], labelled[k]
	}
	s.Nodes, s.Of = slices.Clone(labelled[:n]), len(labelled)
	slices.Sort(s.Nodes)
	return s, nil
}

// Sampled reports whether the nodes are a sample.
func (s *Sample) Sampled() bool { return len(s.Nodes) < s.Of }

// Score returns the metric of the nodes' scores, as Of does, with its standard
// error (Cochran 1977, Sampling Techniques, 2.6 and 6.4): for a mean ȳ of N of M nodes
//
//	√((1 − N/M) · Σ(yᵢ − ȳ)² / (N·(N−1))),
//
// and for a ratio of means R = ā/b̄ the same with (aᵢ − R·bᵢ)/b̄ in place of yᵢ − ȳ.
func (s *Sample) Score(metric datasets.Metric, scores []float32, labels *graph.Labels) (Estimate, error) {
	of := scored{metric: metric, scores: scores, labels: labels, nodes: s.Nodes}
	if err := of.check(); err != nil {
		return Estimate{}, err
	}
	e := Estimate{Unbiased: !s.Sampled() || !s.ratio}
	if width := labels.Classes; width > 0 {
		e.Predicted, of.classes = make([]int, width), make([]int32, len(s.Nodes))
		parallel.For(len(s.Nodes), 1024, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				of.classes[i] = int32(predictedClass(scores[i*width:][:width]))
			}
		})
		for _, c := range of.classes {
			e.Predicted[c]++
		}
	}
	e.Score, _ = mean(of.ratios())
	if !s.Sampled() {
		return e, nil
	}
	n := float64(len(s.Nodes))
	var squares float64
	for _, d := range of.deviations() {
		squares += d * d
	}
	e.StandardError = math.Sqrt((1 - n/float64(s.Of)) * squares / (n * (n - 1)))
	return e, nil
}

// deviations returns each node's (aᵢ − R·bᵢ)/b̄, the mean over the parts of the metric. It is
// yᵢ − ȳ if all labels are known.
func (s *scored) deviations() []float64 {
	parts := s.ratios()
	_, used := mean(parts)
	deviations := make([]float64, len(s.nodes))
	for i := range s.nodes {
		for t := range tasksOf(s.labels) {
			if p := parts[t%len(parts)]; p.b > 0 {
				c := s.count(i, t)
				deviations[i] += (c.a - p.a/p.b*c.b) / (p.b / float64(len(s.nodes))) / used
			}
		}
	}
	return deviations
}
