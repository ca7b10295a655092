package reproduce

import (
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/internal/finite"
)

// paperRuns is the number of runs behind the paper's accuracies.
const paperRuns = 5

// compare sets the row's range from the paper's number. The difference of the
// means has standard error √(SEM² + PM²) if the paper's ± is a standard error, as
// its program computes it; within twice that the two agree. A mean that is no
// number has no range.
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
	tolerance := 2 * math.Hypot(row.SEM, p.PM)
	switch {
	case row.Mean > p.Mean+tolerance:
		row.Range = "above"
	case row.Mean < p.Mean-tolerance:
		row.Range = "below"
	default:
		row.Range = "in"
	}
}

// The programs behind the paper's times.
const (
	paperSampling = "the paper: Python and SciPy on a CPU"
	paperTraining = "the paper: PyTorch on a V100"
)

// explain says why a row is out of range, as far as its circumstances tell.
// timedBy tells what took the paper's times, "" where the row is no time.
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
		row.Why = fmt.Sprintf("%d runs, where the paper has %d", row.N, paperRuns)
	default:
		row.Why = "not explained by settings, data or number of runs"
	}
}
