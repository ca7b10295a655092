package score

import (
	"fmt"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/finite"
)

// number is a float64 that is null in JSON if it is not finite.
type number = finite.Number

// Assessment says class by class, or task by task, how good probabilities are.
type Assessment struct {
	Rows []ClassRow `json:"per_class"`

	// Confusion[i][j] is the number of nodes of class i that are predicted as class j; nil
	// for binary tasks.
	Confusion [][]int `json:"confusion,omitempty"`

	Calibration Calibration `json:"calibration"`
}

// ClassRow is a class, or a binary task. A ratio with the denominator 0 is NaN.
type ClassRow struct {
	Name      string `json:"class"`
	Nodes     int    `json:"nodes"`     // with this label
	Predicted int    `json:"predicted"` // with this prediction
	Right     int    `json:"right"`     // with both
	Precision number `json:"precision"` // Right/Predicted
	Recall    number `json:"recall"`    // Right/Nodes
	F1        number `json:"f1"`        // 2·Right/(Nodes + Predicted)
}

// Calibration compares probabilities with frequencies in bins of equal width (Guo et al.
// 2017, arXiv:1706.04599). For classes these are the probability of the predicted class, and
// the share of right predictions. For binary tasks both are of the label 1.
type Calibration struct {
	// Error is the expected calibration error: the mean of |Frequency − Probability| over
	// the bins, weighted by Count.
	Error number           `json:"error"`
	Bins  []CalibrationBin `json:"bins"` // those that hold a prediction
}

// CalibrationBin is the predictions whose probability is in (Low, High].
type CalibrationBin struct {
	Low         number `json:"low"`
	High        number `json:"high"`
	Count       int    `json:"count"`
	Probability number `json:"probability"` // mean
	Frequency   number `json:"frequency"`
}

// calibrationBins is the number of bins of Guo et al.
const calibrationBins = 15

// Assess compares probabilities with the labels of nodes. probabilities is (len(nodes),
// labels.Outputs()), row-major: a distribution over classes, or the probability of each
// binary task. A class is predicted as by Of; a task is predicted if its probability is
// over ½. Unknown labels are skipped. It is an error if no label is known, or if a
// probability is outside [0, 1]. Cost: O(probabilities).
func Assess(probabilities []float32, labels *graph.Labels, nodes []int32) (*Assessment, error) {
	if err := checkRows("probabilities", probabilities, labels, nodes); err != nil {
		return nil, err
	}
	width := labels.Outputs()
	if err := checkProbabilities(probabilities, width, nodes); err != nil {
		return nil, err
	}
	a := &Assessment{Rows: make([]ClassRow, width)}
	for c := range a.Rows {
		if a.Rows[c].Name = labels.Name(c); labels.Tasks == 0 {
			a.Confusion = append(a.Confusion, make([]int, width))
		}
	}
	var bins bins
	for i, v := range nodes {
		for t := range tasksOf(labels) {
			yes, known := label(labels, v, t)
			if !known {
				continue
			}
			row := probabilities[i*width : (i+1)*width]
			if labels.Tasks == 0 {
				truth := labels.Class[v]
				best := predictedClass(row)
				right := best == int(truth)
				a.Confusion[truth][best]++
				a.Rows[truth].Nodes++
				a.Rows[best].add(true, right)
				bins.add(row[best], right)
				continue
			}
			if yes {
				a.Rows[t].Nodes++
			}
			a.Rows[t].add(row[t] > 0.5, yes)
			bins.add(row[t], yes)
		}
	}
	for c := range a.Rows {
		r := &a.Rows[c]
		r.Precision, r.Recall = quotient(r.Right, r.Predicted), quotient(r.Right, r.Nodes)
		r.F1 = quotient(2*r.Right, r.Nodes+r.Predicted)
	}
	if a.Calibration = bins.finish(); a.Calibration.Bins == nil {
		return nil, errUnlabelled(len(nodes))
	}
	return a, nil
}

// checkProbabilities returns an error for the first value outside [0, 1]. nodes are those of
// the rows; nil means all.
func checkProbabilities(probabilities []float32, width int, nodes []int32) error {
	for k, p := range probabilities {
		if p >= 0 && p <= 1 {
			continue
		}
		v := int32(k / width)
		if nodes != nil {
			v = nodes[v]
		}
		return fmt.Errorf("score: probability %d of node %d is %v, outside [0, 1]", k%width, v, p)
	}
	return nil
}

// add counts a prediction of the row's class, if it is one.
func (r *ClassRow) add(predicted, right bool) {
	if predicted {
		r.Predicted++
		if right {
			r.Right++
		}
	}
}

// bins are those of a Calibration; Probability and Frequency are sums until finish.
type bins [calibrationBins]CalibrationBin

// add counts a prediction in the bin of its probability.
func (b *bins) add(p float32, right bool) {
	bin := &b[max(0, min(int(math.Ceil(float64(p)*calibrationBins))-1, calibrationBins-1))]
	bin.Count++
	bin.Probability += number(p)
	if right {
		bin.Frequency++
	}
}

// finish returns the calibration; its Bins are empty if there is no prediction.
func (b *bins) finish() (c Calibration) {
	var total, sum float64
	for k, bin := range b {
		if bin.Count == 0 {
			continue
		}
		n := number(bin.Count)
		total += float64(n)
		sum += math.Abs(float64(bin.Frequency - bin.Probability))
		bin.Low, bin.High = number(k)/calibrationBins, number(k+1)/calibrationBins
		bin.Probability, bin.Frequency = bin.Probability/n, bin.Frequency/n
		c.Bins = append(c.Bins, bin)
	}
	c.Error = number(sum / total)
	return c
}

func quotient(a, b int) number { return number(float64(a) / float64(b)) }

// Probabilities turns logits, (nodes, classes or tasks) row-major, into probabilities in place:
// softmax over the classes of y, or the sigmoid of each task.
func Probabilities(logits []float32, y *graph.Labels) {
	if y.Tasks > 0 {
		for i, s := range logits {
			logits[i] = float32(1 / (1 + math.Exp(-float64(s))))
		}
		return
	}
	for ; y.Classes > 0 && len(logits) > 0; logits = logits[y.Classes:] {
		row := logits[:y.Classes]
		largest := float64(slices.Max(row))
		var sum float64
		for _, s := range row {
			sum += math.Exp(float64(s) - largest)
		}
		for c, s := range row {
			row[c] = float32(math.Exp(float64(s)-largest) / sum)
		}
	}
}
