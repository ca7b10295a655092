package train

import (
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/graph"
)

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
// binary task. A class is predicted as by Score; a task is predicted if its probability is
// over ½. Unknown labels are skipped. It is an error if no label is known, or if a
// probability is outside [0, 1]. Cost: O(probabilities).
func Assess(probabilities []float32, labels *graph.Labels, nodes []int32) (*Assessment, error) {
	if labels == nil {
		return nil, fmt.Errorf("train: no labels to assess with")
	}
	width := labels.Outputs()
	if len(probabilities) != len(nodes)*width {
		return nil, fmt.Errorf("train: %d probabilities for %d nodes and %d outputs", len(probabilities), len(nodes), width)
	}
	for k, p := range probabilities {
		if !(p >= 0 && p <= 1) {
			return nil, fmt.Errorf("train: probability %d of node %d is %v, outside [0, 1]", k%width, nodes[k/width], p)
		}
	}
	for i, v := range nodes {
		if v < 0 || int(v) >= labels.Nodes() {
			return nil, fmt.Errorf("train: node %d to assess is %d, outside [0, %d)", i, v, labels.Nodes())
		}
	}
	a := &Assessment{Rows: make([]ClassRow, width)}
	for c := range a.Rows {
		a.Rows[c].Name = labels.Name(c)
	}
	var bins [calibrationBins]binSums
	if labels.Tasks > 0 {
		a.tasks(probabilities, labels, nodes, &bins)
	} else {
		a.classes(probabilities, labels, nodes, &bins)
	}
	for c := range a.Rows {
		r := &a.Rows[c]
		r.Precision, r.Recall = ratio(r.Right, r.Predicted), ratio(r.Right, r.Nodes)
		r.F1 = ratio(2*r.Right, r.Nodes+r.Predicted)
	}
	if !a.Calibration.set(&bins) {
		return nil, errUnlabelled(len(nodes))
	}
	return a, nil
}

// binSums are the sums of a bin.
type binSums struct {
	count       int
	probability float64
	right       int
}

func (b *binSums) add(p float32, right bool) {
	b.count++
	b.probability += float64(p)
	if right {
		b.right++
	}
}

// binOf returns the number of the bin that holds p.
func binOf(p float32) int {
	return max(0, min(int(math.Ceil(float64(p)*calibrationBins))-1, calibrationBins-1))
}

func (a *Assessment) classes(probabilities []float32, labels *graph.Labels, nodes []int32, bins *[calibrationBins]binSums) {
	a.Confusion = make([][]int, labels.Classes)
	for c := range a.Confusion {
		a.Confusion[c] = make([]int, labels.Classes)
	}
	for i, v := range nodes {
		truth := labels.Class[v]
		if truth < 0 {
			continue
		}
		row := probabilities[i*labels.Classes : (i+1)*labels.Classes]
		best := predictedClass(row)
		a.Confusion[truth][best]++
		a.Rows[truth].Nodes++
		a.Rows[best].Predicted++
		if best == int(truth) {
			a.Rows[best].Right++
		}
		bins[binOf(row[best])].add(row[best], best == int(truth))
	}
}

func (a *Assessment) tasks(probabilities []float32, labels *graph.Labels, nodes []int32, bins *[calibrationBins]binSums) {
	for i, v := range nodes {
		for t := range labels.Tasks {
			y := labels.Multi[int(v)*labels.Tasks+t]
			if y != y {
				continue
			}
			r, p := &a.Rows[t], probabilities[i*labels.Tasks+t]
			if y == 1 {
				r.Nodes++
			}
			if p > 0.5 {
				r.Predicted++
				if y == 1 {
					r.Right++
				}
			}
			bins[binOf(p)].add(p, y == 1)
		}
	}
}

// set computes the error of the bins. It reports whether a bin holds a prediction.
func (c *Calibration) set(bins *[calibrationBins]binSums) bool {
	var total int
	var sum float64
	for k, b := range bins {
		if b.count == 0 {
			continue
		}
		total += b.count
		sum += math.Abs(float64(b.right) - b.probability)
		c.Bins = append(c.Bins, CalibrationBin{
			Low: number(float64(k) / calibrationBins), High: number(float64(k+1) / calibrationBins), Count: b.count,
			Probability: number(b.probability / float64(b.count)), Frequency: ratio(b.right, b.count),
		})
	}
	c.Error = number(sum / float64(total))
	return total > 0
}

func ratio(a, b int) number { return number(float64(a) / float64(b)) }

// Softmax turns each row of logits, of the given number of columns, into probabilities, in
// place. Without columns it does nothing.
func Softmax(logits []float32, columns int) {
	for ; columns > 0 && len(logits) > 0; logits = logits[columns:] {
		row := logits[:columns]
		largest := math.Inf(-1)
		for _, s := range row {
			largest = max(largest, float64(s))
		}
		var sum float64
		for _, s := range row {
			sum += math.Exp(float64(s) - largest)
		}
		for c, s := range row {
			row[c] = float32(math.Exp(float64(s)-largest) / sum)
		}
	}
}
