package train

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// Score returns the metric of a model's scores; higher is better. scores is
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
func Score(metric datasets.Metric, scores []float32, labels *graph.Labels, nodes []int32) (float64, error) {
	if labels == nil {
		return 0, fmt.Errorf("train: no labels to score with")
	}
	width := labels.Outputs()
	if len(scores) != len(nodes)*width {
		return 0, fmt.Errorf("train: %d scores for %d nodes and %d outputs", len(scores), len(nodes), width)
	}
	for i, node := range nodes {
		if node < 0 || int(node) >= labels.Nodes() {
			return 0, fmt.Errorf("train: node %d to score is %d, outside [0, %d)", i, node, labels.Nodes())
		}
	}
	for k, s := range scores {
		if s != s {
			return 0, fmt.Errorf("train: score %d of node %d is %w: NaN", k%width, nodes[k/width], ErrNotFinite)
		}
	}
	if err := fits(metric, labels); err != nil {
		return 0, err
	}
	switch {
	case metric == datasets.ROCAUC:
		return rocAUC(scores, labels, nodes)
	case labels.Tasks == 0:
		return classAccuracy(scores, labels, nodes)
	case metric == datasets.MicroF1:
		return microF1(scores, labels, nodes)
	default:
		return taskAccuracy(scores, labels, nodes)
	}
}

// fits returns an error for an unknown metric, or one that is not defined for the labels.
func fits(metric datasets.Metric, labels *graph.Labels) error {
	switch {
	case metric == datasets.ROCAUC && labels.Tasks == 0 && labels.Classes != 2:
		return fmt.Errorf("train: rocauc wants binary tasks or 2 classes, not %d classes", labels.Classes)
	case metric != datasets.Accuracy && metric != datasets.MicroF1 && metric != datasets.ROCAUC:
		return fmt.Errorf("train: unknown metric %q: want %s, %s or %s", metric, datasets.Accuracy, datasets.MicroF1, datasets.ROCAUC)
	}
	return nil
}

// scorable returns the error that Score returns for the nodes with any scores, or nil.
// The nodes must be within the labels.
func scorable(metric datasets.Metric, labels *graph.Labels, nodes []int32) error {
	if err := fits(metric, labels); err != nil {
		return err
	}
	var labelled bool
	for t := range max(labels.Tasks, 1) {
		var positive, negative bool
		for _, node := range nodes {
			var known, yes bool
			if labels.Tasks == 0 {
				known, yes = labels.Class[node] >= 0, labels.Class[node] == 1
			} else {
				y := labels.Multi[int(node)*labels.Tasks+t]
				known, yes = y == y, y == 1
			}
			labelled = labelled || known
			positive, negative = positive || known && yes, negative || known && !yes
		}
		if positive && negative || labelled && metric != datasets.ROCAUC {
			return nil
		}
	}
	if metric == datasets.ROCAUC {
		return errOneSided(len(nodes))
	}
	return errUnlabelled(len(nodes))
}

func errUnlabelled(nodes int) error {
	return fmt.Errorf("train: none of %d nodes to score has a label", nodes)
}

func errOneSided(nodes int) error {
	return fmt.Errorf("train: rocauc: no task has both a positive and a negative label among the %d nodes to score", nodes)
}

func classAccuracy(scores []float32, labels *graph.Labels, nodes []int32) (float64, error) {
	var right, labelled int
	for i, node := range nodes {
		want := labels.Class[node]
		if want < 0 {
			continue
		}
		labelled++
		if predictedClass(scores[i*labels.Classes:(i+1)*labels.Classes]) == int(want) {
			right++
		}
	}
	if labelled == 0 {
		return 0, errUnlabelled(len(nodes))
	}
	return float64(right) / float64(labelled), nil
}

// predictedClass returns the class with the highest score, the first of equals.
func predictedClass(scores []float32) int {
	best := 0
	for c, s := range scores {
		if s > scores[best] {
			best = c
		}
	}
	return best
}

func taskAccuracy(scores []float32, labels *graph.Labels, nodes []int32) (float64, error) {
	var sum float64
	var tasks int
	for t := range labels.Tasks {
		var right, labelled int
		for i, node := range nodes {
			y := labels.Multi[int(node)*labels.Tasks+t]
			if y != y {
				continue
			}
			labelled++
			if (scores[i*labels.Tasks+t] > 0) == (y == 1) {
				right++
			}
		}
		if labelled > 0 {
			sum += float64(right) / float64(labelled)
			tasks++
		}
	}
	if tasks == 0 {
		return 0, errUnlabelled(len(nodes))
	}
	return sum / float64(tasks), nil
}

func microF1(scores []float32, labels *graph.Labels, nodes []int32) (float64, error) {
	var both, either, labelled int // TP; TP+FP+FN; pairs with a label
	for i, node := range nodes {
		want := labels.Multi[int(node)*labels.Tasks : (int(node)+1)*labels.Tasks]
		for t, y := range want {
			if y != y {
				continue
			}
			labelled++
			predicted, positive := scores[i*labels.Tasks+t] > 0, y == 1
			if predicted && positive {
				both++
			}
			if predicted || positive {
				either++
			}
		}
	}
	switch {
	case labelled == 0:
		return 0, errUnlabelled(len(nodes))
	case either == 0:
		return 0, nil
	}
	return 2 * float64(both) / float64(both+either), nil
}

func rocAUC(scores []float32, labels *graph.Labels, nodes []int32) (float64, error) {
	tasks := max(labels.Tasks, 1)
	areas := make([]float64, tasks)
	parallel.For(tasks, 1, func(lo, hi int) {
		ranked := make([]ranking, 0, len(nodes))
		for t := lo; t < hi; t++ {
			ranked = ranked[:0]
			for i, node := range nodes {
				if score, positive, known := taskScore(scores, labels, i, int(node), t); known {
					ranked = append(ranked, ranking{score, positive})
				}
			}
			areas[t] = area(ranked)
		}
	})
	var sum float64
	var counted int
	for _, a := range areas {
		if a >= 0 {
			sum += a
			counted++
		}
	}
	if counted == 0 {
		return 0, errOneSided(len(nodes))
	}
	return sum / float64(counted), nil
}

// taskScore returns the score and label of task t for the node in row i.
func taskScore(scores []float32, labels *graph.Labels, i, node, t int) (score float32, positive, known bool) {
	if labels.Tasks == 0 {
		class := labels.Class[node]
		if score = scores[2*i+1] - scores[2*i]; score != score {
			score = 0 // ∞ − ∞: a tie
		}
		return score, class == 1, class >= 0
	}
	y := labels.Multi[node*labels.Tasks+t]
	return scores[i*labels.Tasks+t], y == 1, y == y
}

type ranking struct {
	score    float32
	positive bool
}

// area returns the area under the ROC curve as the Mann–Whitney statistic, with
// midranks for ties, or -1 if one of the labels does not occur. It sorts ranked.
func area(ranked []ranking) float64 {
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
	if positives == 0 || negatives == 0 {
		return -1
	}
	return (rankSum - positives*(positives+1)/2) / (positives * negatives)
}

// better reports whether a validation score is strictly better than the best so far.
func better(score, best float64) bool { return score > best || math.IsNaN(best) && !math.IsNaN(score) }
