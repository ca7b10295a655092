package report

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/score"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Evaluation is the part of eval.json that the page shows.
type Evaluation struct {
	Split string `json:"split"`
	Nodes int    `json:"nodes"`
	Batch int    `json:"batch"` // of the weights
	Seed  uint64 `json:"seed"`

	RunDirs []string `json:"run_dirs"` // of an ensemble

	// Sample is not nil if the nodes are a sample.
	Sample *struct {
		Of            int           `json:"of"`
		StandardError finite.Number `json:"standard_error"`
	} `json:"sample"`

	score.Assessment
}

// evaluation reads an evaluation of the run's best weights. It returns nil if it is of other weights.
func (r *Run) evaluation(text []byte) (*Evaluation, error) {
	e := new(Evaluation)
	if err := json.Unmarshal(text, e); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	best := r.number("best_batch")
	if len(e.RunDirs) > 1 || !math.IsNaN(best) && float64(e.Batch) != best || r.text("seed") != fmt.Sprint(e.Seed) {
		return nil, nil
	}
	for _, row := range e.Confusion {
		if len(row) != len(e.Rows) || len(e.Confusion) != len(e.Rows) {
			return nil, fmt.Errorf("damaged: %d classes, and a confusion matrix of %d×%d", len(e.Rows), len(e.Confusion), len(row))
		}
	}
	return e, nil
}

// Shade returns the share of the nodes of class i that n of them are, in per cent.
func (e *Evaluation) Shade(i, n int) int { return 100 * max(n, 0) / max(e.Rows[i].Nodes, n, 1) }

// Chart draws the calibration: the frequencies of predictions over their probabilities.
func (e *Evaluation) Chart() template.HTML {
	measured := figure.Series{Name: "measured"}
	for _, b := range e.Calibration.Bins {
		measured.Add(float64(b.Probability), float64(b.Frequency), 0)
	}
	return inline(&figure.Figure{Panels: []figure.Panel{{
		Title: "Calibration", X: "probability", Y: "frequency", FromZero: true,
		Lines: []figure.Series{{Name: "calibrated", X: []float64{0, 1}, Y: []float64{0, 1}}, measured},
	}}})
}
