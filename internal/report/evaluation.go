package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"math"
	"os"

	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// Evaluation is the part of eval.json that the page shows.
type Evaluation struct {
	Split string `json:"split"`
	Nodes int    `json:"nodes"`
	Batch int    `json:"batch"` // of the weights
	Seed  uint64 `json:"seed"`

	// Sample is not nil if the nodes are a sample.
	Sample *struct {
		Of            int          `json:"of"`
		StandardError study.Number `json:"standard_error"`
	} `json:"sample"`

	train.Assessment
}

// loadEvaluation reads an evaluation of the run's best weights. It returns nil if there is
// none, or one of other weights.
func loadEvaluation(path string, run *Run) (*Evaluation, error) {
	text, err := regularfile.Read(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var e struct {
		Evaluation
		RunDirs []string `json:"run_dirs"`
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("%s: damaged: %w", path, rundir.JSONError(err))
	}
	best := run.number("best_batch")
	if len(e.RunDirs) > 1 || !math.IsNaN(best) && float64(e.Batch) != best || run.text("seed") != fmt.Sprint(e.Seed) {
		return nil, nil
	}
	return &e.Evaluation, e.check(path)
}

// check returns an error about a matrix of confusions that is not square.
func (e *Evaluation) check(path string) error {
	for _, row := range e.Confusion {
		if len(row) != len(e.Rows) || len(e.Confusion) != len(e.Rows) {
			return fmt.Errorf("%s: damaged: %d classes, and a confusion matrix of %d×%d", path, len(e.Rows), len(e.Confusion), len(row))
		}
	}
	return nil
}

// evaluationView is a run's evaluation in the template.
type evaluationView struct {
	Name, Text  string
	Kind        string // class or task
	Classes     [][]cell
	Names       []string
	Confusion   [][]shaded
	Calibration template.HTML
}

// shaded is a cell with a background: Shade percent of a colour.
type shaded struct {
	Text  string
	Shade int
}

// mostConfusion is the largest number of classes whose confusion matrix the page shows.
const mostConfusion = 50

// evaluations returns the evaluations of all runs that have one.
func (p *Page) evaluations(of []int) []evaluationView {
	var views []evaluationView
	for k := range p.Runs {
		e := p.Runs[k].Eval
		if e == nil {
			continue
		}
		v := evaluationView{
			Name: p.Runs[k].Name, Kind: "class",
			Text: fmt.Sprintf("%d %s nodes, weights of batch %d; expected calibration error %.4f", e.Nodes, e.Split, e.Batch, float64(e.Calibration.Error)),
		}
		if e.Sample != nil {
			v.Text += fmt.Sprintf("; the nodes are a sample of %d, and the score's standard error is %.4f", e.Sample.Of, float64(e.Sample.StandardError))
		}
		if e.Confusion == nil {
			v.Kind = "task"
		}
		for _, r := range e.Rows {
			v.Names = append(v.Names, r.Name)
			row := []cell{{Text: r.Name}}
			for _, n := range []int{r.Nodes, r.Predicted, r.Right} {
				row = append(row, cell{fmt.Sprint(n), true})
			}
			for _, x := range []float64{float64(r.Precision), float64(r.Recall), float64(r.F1)} {
				text := "–"
				if !math.IsNaN(x) {
					text = fmt.Sprintf("%.4f", x)
				}
				row = append(row, cell{text, true})
			}
			v.Classes = append(v.Classes, row)
		}
		if len(e.Rows) <= mostConfusion {
			for i, counts := range e.Confusion {
				var row []shaded
				for _, n := range counts {
					row = append(row, shaded{fmt.Sprint(n), 100 * max(n, 0) / max(e.Rows[i].Nodes, n, 1)})
				}
				v.Confusion = append(v.Confusion, row)
			}
		}
		drawing := chart{Title: "Calibration", X: "probability", Y: "frequency", Lines: []line{
			{Name: "calibrated", Group: of[k] + 3, X: []float64{0, 1}, Y: []float64{0, 1}}, {Name: "measured", Group: of[k]},
		}}
		for _, b := range e.Calibration.Bins {
			l := &drawing.Lines[1]
			l.X, l.Y = append(l.X, float64(b.Probability)), append(l.Y, float64(b.Frequency))
		}
		v.Calibration = drawing.SVG()
		views = append(views, v)
	}
	return views
}
