package reproduce

import (
	"context"
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// convergenceRows are the curves of the paper's figures. For LADIES they have the
// increasing sizes.
func (r *runner) convergenceRows() []PaperRow {
	var rows []PaperRow
	for _, row := range r.paper.Accuracy {
		if row.layerWise() && (!strings.Contains(row.Label, "(2)") || row.Method == "fastgcn") && len(r.Samples) == 0 {
			continue
		}
		row.Values = nil
		rows = append(rows, row)
	}
	setting := r.Setting
	defer func() { r.Setting = setting }()
	r.Setting = ""
	return r.choose(rows)
}

// runConvergence draws the validation metric over batches and seconds, and counts
// the batches that each method needs.
func runConvergence(ctx context.Context, r *runner) (*Report, error) {
	rows := r.convergenceRows()
	if len(rows) == 0 {
		return nil, errNoRuns
	}
	report := &Report{Notes: []string{"the paper prints curves, no numbers; a curve ends with its shortest run"}}
	title := "Validation metric, one run"
	if r.Runs > 1 {
		title = fmt.Sprintf("Validation metric, mean of %d runs", r.Runs)
	}
	f := &figure.Figure{Title: title, Columns: 2}
	for _, spec := range r.Data {
		batches := figure.Panel{Title: lastName(spec), X: "batches", Y: "validation metric"}
		seconds := figure.Panel{Title: lastName(spec), X: "seconds", Y: "validation metric"}
		for _, row := range rows {
			var runs []trainResult
			for run := range r.Runs {
				result, err := r.train(ctx, spec, row, run)
				if err != nil {
					return nil, err
				}
				runs = append(runs, *result)
			}
			onBatches, onSeconds := meanCurve(row.Label, runs)
			batches.Lines, seconds.Lines = append(batches.Lines, onBatches), append(seconds.Lines, onSeconds)
			var needed, tests []float64
			for _, run := range runs {
				needed = append(needed, float64(run.reaches(0.95)))
				tests = append(tests, 100*float64(run.Test))
			}
			report.Rows = append(report.Rows,
				newRow(spec, row, "batches to 95 % of its best validation metric", needed),
				newRow(spec, row, "test "+runs[0].Metric+", %", tests))
		}
		f.Panels = append(f.Panels, batches, seconds)
	}
	report.figure = f
	return report, nil
}

// reaches returns the batch of the first evaluation that has the given share of
// the best validation metric.
func (t *trainResult) reaches(share float64) int {
	best := math.Inf(-1)
	for _, p := range t.Curve {
		best = max(best, float64(p.Valid))
	}
	for _, p := range t.Curve {
		if float64(p.Valid) >= share*best {
			return p.Batch
		}
	}
	return t.Batches
}

// meanCurve averages the runs evaluation by evaluation, up to the end of the
// shortest.
func meanCurve(name string, runs []trainResult) (batches, seconds figure.Series) {
	batches.Name, seconds.Name = name, name
	length := len(runs[0].Curve)
	for _, run := range runs {
		length = min(length, len(run.Curve))
	}
	for k := range length {
		var valid, time []float64
		for _, run := range runs {
			valid = append(valid, float64(run.Curve[k].Valid))
			time = append(time, run.Curve[k].Seconds)
		}
		mean := study.NewSpread(valid).Mean
		batches.X, batches.Y = append(batches.X, float64(runs[0].Curve[k].Batch)), append(batches.Y, mean)
		seconds.X, seconds.Y = append(seconds.X, study.NewSpread(time).Mean), append(seconds.Y, mean)
	}
	return batches, seconds
}

// lastName returns a SPEC without the folders of its path, as the heading of a
// panel.
func lastName(spec string) string {
	location, keys, found := strings.Cut(spec, "?")
	if at := strings.LastIndexByte(location, '/'); at >= 0 {
		location = location[at+1:]
	}
	if found {
		location += "?" + keys
	}
	return location
}

// slug turns a SPEC into a file name.
func slug(spec string) string {
	words := strings.FieldsFunc(spec, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.ToLower(strings.Join(words, "-"))
}
