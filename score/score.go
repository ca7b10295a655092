package score

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// ErrNotFinite is wrapped by errors about numbers that overflowed.
var ErrNotFinite = errors.New("not finite")

// Of returns the metric of a model's scores; higher is better. scores is
// (len(nodes), labels.Outputs()), row-major; row i belongs to nodes[i]. For classes the
// prediction is the class with the highest score, the first of equals; for binary tasks
// it is "yes" if the score is positive. Scores may be logits.
//
//   - accuracy: the share of labelled nodes with a right prediction; for binary tasks
//     the mean of the tasks' shares, as in OGB's evaluator.
//   - micro-f1: 2TP/(2TP+FP+FN) over all labelled (node, task) pairs, 0 if all three
//     are 0; for classes it equals accuracy.
//   - rocauc: the area under the ROC curve by midranks (a tie counts half), the mean
//     over the tasks that have both labels, as in OGB's evaluator. Two classes count as
//     one task, whose score is the difference of the two scores.
//
// Unknown labels (class -1, NaN) are skipped. It is an error if no label is known, if
// a score is NaN (ErrNotFinite), if a node is outside the labels, or if the metric does not fit the
// labels. Cost: O(scores), and for rocauc O(tasks·n·log n).
func Of(metric datasets.Metric, scores []float32, labels *graph.Labels, nodes []int32) (float64, error) {
	e, err := (&Sample{Nodes: nodes, Of: len(nodes)}).Score(metric, scores, labels)
	return e.Score, err
}

// scored holds a model's scores of some nodes, and their labels. Row i of scores belongs to nodes[i].
type scored struct {
	metric  datasets.Metric
	scores  []float32
	labels  *graph.Labels
	nodes   []int32
	classes []int32 // the predicted class of each node; nil for binary tasks
}

// check returns the errors that Of describes.
func (s *scored) check() error {
	if err := checkRows("scores", s.scores, s.labels, s.nodes); err != nil {
		return err
	}
	for k, x := range s.scores {
		if x != x {
			width := s.labels.Outputs()
			return fmt.Errorf("score %d of node %d is %w: NaN", k%width, s.nodes[k/width], ErrNotFinite)
		}
	}
	return Scorable(s.metric, s.labels, s.nodes)
}

// checkRows returns an error if there is not a row of values for each node, of the width of
// the labels.
func checkRows(what string, values []float32, labels *graph.Labels, nodes []int32) error {
	if labels == nil {
		return fmt.Errorf("score: there are no labels")
	}
	if width := labels.Outputs(); len(values) != len(nodes)*width {
		return fmt.Errorf("score: %d %s for %d nodes and %d outputs", len(values), what, len(nodes), width)
	}
	return checkNodes(labels, nodes)
}

func checkNodes(labels *graph.Labels, nodes []int32) error {
	for i, v := range nodes {
		if v < 0 || int(v) >= labels.Nodes() {
			return fmt.Errorf("score: node %d to score is %d, outside [0, %d)", i, v, labels.Nodes())
		}
	}
	return nil
}

// Scorable returns the error that Of returns for the nodes with any scores, or nil.
// The nodes must be within the labels.
func Scorable(metric datasets.Metric, labels *graph.Labels, nodes []int32) error {
	switch metric {
	case datasets.Accuracy, datasets.MicroF1:
		if !slices.ContainsFunc(nodes, func(v int32) bool { return labels.Known(int(v)) }) {
			return errUnlabelled(len(nodes))
		}
		return nil
	case datasets.ROCAUC:
	default:
		return fmt.Errorf("score: unknown metric %q: want %s, %s or %s", metric, datasets.Accuracy, datasets.MicroF1, datasets.ROCAUC)
	}
	if labels.Tasks == 0 && labels.Classes != 2 {
		return fmt.Errorf("score: rocauc wants binary tasks or 2 classes, not %d classes", labels.Classes)
	}
	for t := range tasksOf(labels) {
		is := func(want bool) func(int32) bool {
			return func(v int32) bool { yes, known := label(labels, v, t); return known && yes == want }
		}
		if slices.ContainsFunc(nodes, is(true)) && slices.ContainsFunc(nodes, is(false)) {
			return nil
		}
	}
	return fmt.Errorf("score: rocauc: no task has both a positive and a negative label among the %d nodes to score", len(nodes))
}

func errUnlabelled(nodes int) error {
	return fmt.Errorf("score: none of %d nodes to score has a label", nodes)
}

// tasksOf returns the number of labels of a node: classes are one.
func tasksOf(y *graph.Labels) int { return max(y.Tasks, 1) }

// label returns the label of task t of a node. For classes it tells class 1 from the others.
func label(y *graph.Labels, node int32, t int) (yes, known bool) {
	if y.Tasks == 0 {
		return y.Class[node] == 1, y.Class[node] >= 0
	}
	v := y.Multi[int(node)*y.Tasks+t]
	return v == 1, v == v
}

// ratio is a part of a metric, which is the mean of Σa/Σb over its parts. But for rocauc the sums
// are whole numbers.
type ratio struct{ a, b float64 }

// count returns what task t of nodes[i] adds to its part: 1 to b, and 1 to a if the prediction
// is right. For the micro-F1 of tasks a is 2TP, and b is 2TP+FP+FN.
func (s *scored) count(i, t int) ratio {
	yes, known := label(s.labels, s.nodes[i], t)
	var right, pairs bool
	if s.classes != nil {
		right = s.classes[i] == s.labels.Class[s.nodes[i]]
	} else {
		right, pairs = (s.scores[i*s.labels.Tasks+t] > 0) == yes, s.metric == datasets.MicroF1
	}
	switch {
	case !known, pairs && right && !yes:
		return ratio{0, 0}
	case !right:
		return ratio{0, 1}
	case pairs:
		return ratio{2, 2}
	}
	return ratio{1, 1}
}

// ratios returns the parts of the metric: one a task, but a single one of micro-F1. Task t
// belongs to part t modulo their number.
func (s *scored) ratios() []ratio {
	if s.metric == datasets.ROCAUC {
		return areas(s.scores, s.labels, s.nodes)
	}
	parts := make([]ratio, tasksOf(s.labels))
	if s.metric == datasets.MicroF1 {
		parts = parts[:1]
	}
	for i := range s.nodes {
		for t := range tasksOf(s.labels) {
			c, part := s.count(i, t), &parts[t%len(parts)]
			part.a, part.b = part.a+c.a, part.b+c.b
		}
	}
	return parts
}

// mean returns the mean of the parts that have a denominator, 0 if there is none, and their number.
func mean(parts []ratio) (mean, used float64) {
	for _, p := range parts {
		if p.b > 0 {
			mean += p.a / p.b
			used++
		}
	}
	return mean / max(used, 1), used
}

// predictedClass returns the class with the highest score, the first of equals.
func predictedClass(scores []float32) int {
	best := 0
	highest := float32(math.Inf(-1))
	for c, s := range scores {
		if s > highest {
			best, highest = c, s
		}
	}
	return best
}

// areas returns the parts of rocauc, for nodes that are scorable.
func areas(scores []float32, labels *graph.Labels, nodes []int32) []ratio {
	parts := make([]ratio, tasksOf(labels))
	parallel.For(len(parts), 1, func(lo, hi int) {
		ranked := make([]ranking, 0, len(nodes))
		for t := lo; t < hi; t++ {
			ranked = ranked[:0]
			for i, v := range nodes {
				if positive, known := label(labels, v, t); known {
					ranked = append(ranked, ranking{taskScore(scores, labels, i, t), positive})
				}
			}
			parts[t] = area(ranked)
		}
	})
	return parts
}

// taskScore returns the score of task t in row i. Two classes are one task.
func taskScore(scores []float32, labels *graph.Labels, i, t int) float32 {
	if labels.Tasks > 0 {
		return scores[i*labels.Tasks+t]
	}
	if s := scores[2*i+1] - scores[2*i]; s == s {
		return s
	}
	return 0 // ∞ − ∞: a tie
}

type ranking struct {
	score    float32
	positive bool
}

// area returns the area under the ROC curve as the Mann–Whitney statistic, with
// midranks for ties, over the number of pairs, which is 0 if one of the labels does not
// occur. It sorts ranked.
func area(ranked []ranking) ratio {
	slices.SortFunc(ranked, func(a, b ranking) int { return cmp.Compare(a.score, b.score) })
	var rankSum, positives float64 // sum of the positives' ranks, from 1; their number
	for lo := 0; lo < len(ranked); {
		hi, tied := lo, 0
		for hi < len(ranked) && ranked[hi].score == ranked[lo].score {
			if ranked[hi].positive {
				tied++
			}
			hi++
		}
		rankSum += float64(tied) * float64(lo+hi+1) / 2
		positives += float64(tied)
		lo = hi
	}
	negatives := float64(len(ranked)) - positives
	return ratio{rankSum - positives*(positives+1)/2, positives * negatives}
}
