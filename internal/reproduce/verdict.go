package reproduce

import (
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/internal/finite"
)

// paperRuns is the number of runs behind the paper's accuracies.
const paperRuns = 5

// compare compares the row with the paper's number. If the paper's ± is a standard
// error, as its program computes it, the difference of the means has standard error
// √(SEM² + PM²). The row is in range if the difference is within twice that. A mean
// that is not finite has no range.
func (row *Row) compare() {
	p := row.Paper
	if p == nil || !finite.Is(row.Mean) {
		return
	}
	if p.LessThan > 0 {
		row.Range = "in"
		if row.Mean >= p.LessThan+2*row.SEM {
			row.Range = "above"
		}
		return
	}
	row.compareWithin(2 * math.Hypot(row.SEM, p.PM))
}

// compareWithin sets the range of a row that may differ by tolerance from the paper's number.
func (row *Row) compareWithin(tolerance float64) {
	switch p := row.Paper; {
	case row.Mean > p.Mean+tolerance:
		row.Range = "above"
	case row.Mean < p.Mean-tolerance:
		row.Range = "below"
	default:
		row.Range = "in"
	}
}

// comparePrinted compares the row with a count as the paper prints it: equal to its
// last digit.
func (row *Row) comparePrinted() {
	p := row.Paper
	if p == nil {
		return
	}
	half := 0.5
	if p.Mean != math.Trunc(p.Mean) {
		half = 0.05
	}
	row.compareWithin(half)
	if row.Range != "in" {
		name, _ := paperDataset(row.Dataset)
		row.Why = printedOtherwise(name, row.Label, row.Mean)
	}
}

// printedOtherwise gives the reason why the paper prints another number than ours, v, of a data
// set.
func printedOtherwise(name, label string, v float64) string {
	switch {
	case label == "Degree" && (name == "reddit" || name == "mag"):
		return "degree: for Reddit and ogbn-mag the paper prints the edges over the nodes, for the others twice as many"
	case name == "arxiv" && label == "Nodes":
		return "nodes: ogbn-arxiv has 169,343; the paper prints 160,343"
	case name == "arxiv" && (label == "Degree" && math.Abs(v-13.77) < 0.005 || label == "Test nodes, %" && math.Abs(v-28.7) < 0.05):
		return "ogbn-arxiv has 13.77 neighbours a node and 28.7 % of test nodes; the paper prints 13.7 and 28"
	}
	return "the data differ from the paper's"
}

// The programs behind the paper's times.
const (
	paperSampling = "the paper: Python and SciPy on a CPU"
	paperTraining = "the paper: PyTorch on a V100"
)

// explain gives the likely reason why a row is out of range. timedBy names the
// program behind the paper's times, "" if the row is not a time.
func (row *Row) explain(timedBy string) {
	if row.Range == "" || row.Range == "in" {
		row.Why = ""
		return
	}
	name, twin := paperDataset(row.Dataset)
	switch {
	case timedBy != "" && twin:
		row.Why = "other machine and program (" + timedBy + "), on a generated twin of the graph"
	case timedBy != "":
		row.Why = "other machine and program (" + timedBy + ")"
	case twin:
		row.Why = fmt.Sprintf("a generated twin of %s, not the real graph: only sizes and costs are comparable", name)
	case row.N < paperRuns:
		row.Why = fmt.Sprintf("%d runs; the paper has %d", row.N, paperRuns)
	default:
		row.Why = "not explained by settings, data or number of runs"
	}
}
