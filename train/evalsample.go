package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

// EvalSample is the nodes on which a model is scored: all of a part of the split, or a sample
// of its labelled nodes, drawn uniformly without replacement. Each is scored over its full
// neighbourhood, so the score of a sample differs from the whole part's by the choice of the
// nodes alone.
type EvalSample struct {
	Nodes []int32 // ascending if they are a sample
	Of    int     // labelled nodes of the part; of all nodes, len(Nodes)

	sampled bool
	ratio   bool // the estimate is a ratio of two means
}

// The numbers of the parts of a split, for NewEvalSample.
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
}

// NewEvalSample draws n of the labelled nodes, from the stream of the seed and a number for
// the part of the split. If n is 0, or at least the number of labelled nodes, the result is all
// nodes. Equal arguments give equal samples. If n is not 0, a node outside the labels is an
// error, and so is ROC AUC: it compares pairs of nodes, and neither an unbiased estimate nor its
// standard error follows from the nodes' own scores.
func NewEvalSample(metric datasets.Metric, labels *graph.Labels, nodes []int32, n int, seed, part uint64) (*EvalSample, error) {
	s := &EvalSample{Nodes: nodes, Of: len(nodes)}
	if n < 0 {
		return nil, fmt.Errorf("train: a sample of %d nodes, want at least 1, or 0 for all", n)
	}
	if n == 0 {
		return s, nil
	}
	if metric == datasets.ROCAUC {
		return nil, fmt.Errorf("train: a sample of nodes gives no unbiased estimate of rocauc, which compares pairs of nodes, and no standard error: score all nodes")
	}
	if labels == nil {
		return nil, fmt.Errorf("train: no labels to sample nodes by")
	}
	s.ratio = labels.Tasks > 0 && metric == datasets.MicroF1
	var labelled []int32
	for k, v := range nodes {
		if v < 0 || int(v) >= labels.Nodes() {
			return nil, fmt.Errorf("train: node %d to score is %d, outside [0, %d)", k, v, labels.Nodes())
		}
		known := 0
		if labels.Tasks == 0 {
			known = min(int(labels.Class[v])+1, 1)
		} else {
			for _, y := range labels.Multi[int(v)*labels.Tasks : (int(v)+1)*labels.Tasks] {
				if y == y {
					known++
				}
			}
			s.ratio = s.ratio || known > 0 && known < labels.Tasks
		}
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
	s.Nodes, s.Of, s.sampled = slices.Clone(labelled[:n]), len(labelled), true
	slices.Sort(s.Nodes)
	return s, nil
}

// Sampled reports whether the nodes are a sample.
func (s *EvalSample) Sampled() bool { return s.sampled }

// Score returns the metric of the nodes' scores, as the function Score does, with its standard
// error (Cochran 1977, Sampling Techniques, 2.6 and 6.4): for a mean ȳ of N of M nodes
//
//	√((1 − N/M) · Σ(yᵢ − ȳ)² / (N·(N−1))),
//
// and for a ratio of means R = ā/b̄ the same with (aᵢ − R·bᵢ)/b̄ in place of yᵢ − ȳ.
func (s *EvalSample) Score(metric datasets.Metric, scores []float32, labels *graph.Labels) (Estimate, error) {
	score, err := Score(metric, scores, labels, s.Nodes)
	e := Estimate{Score: score, Unbiased: true}
	if err != nil || !s.sampled {
		return e, err
	}
	e.Unbiased = !s.ratio
	n := float64(len(s.Nodes))
	var squares float64
	for _, d := range deviations(metric, scores, labels, s.Nodes, score) {
		squares += d * d
	}
	e.StandardError = math.Sqrt((1 - n/float64(s.Of)) * squares / (n * (n - 1)))
	return e, nil
}

// deviations returns each node's yᵢ − ȳ of a mean score, or (aᵢ − R·bᵢ)/b̄ of a ratio.
func deviations(metric datasets.Metric, scores []float32, labels *graph.Labels, nodes []int32, score float64) []float64 {
	deviations := make([]float64, len(nodes))
	width := labels.Outputs()
	if labels.Tasks == 0 {
		for i, v := range nodes {
			if deviations[i] = -score; predictedClass(scores[i*width:(i+1)*width]) == int(labels.Class[v]) {
				deviations[i]++
			}
		}
		return deviations
	}
	// Of each task, or of all together for micro-F1: the ratio of the sums of a and b.
	tasks, group := width, func(t int) int { return t }
	if metric == datasets.MicroF1 {
		tasks, group = 1, func(int) int { return 0 }
	}
	counts := func(i int, v int32, t int) (a, b float64) {
		y, yes := labels.Multi[int(v)*width+t], scores[i*width+t] > 0
		switch {
		case y != y:
			return 0, 0
		case metric == datasets.MicroF1:
			if yes && y == 1 {
				return 2, 2
			}
			if yes || y == 1 {
				return 0, 1
			}
			return 0, 0
		case yes == (y == 1):
			return 1, 1
		}
		return 0, 1
	}
	sumA, sumB, counted := make([]float64, tasks), make([]float64, tasks), 0.0
	for i, v := range nodes {
		for t := range width {
			a, b := counts(i, v, t)
			sumA[group(t)] += a
			sumB[group(t)] += b
		}
	}
	for _, b := range sumB {
		if b > 0 {
			counted++
		}
	}
	for i, v := range nodes {
		for t := range width {
			if g := group(t); sumB[g] > 0 {
				a, b := counts(i, v, t)
				deviations[i] += (a - sumA[g]/sumB[g]*b) / (sumB[g] / float64(len(nodes))) / counted
			}
		}
	}
	return deviations
}
