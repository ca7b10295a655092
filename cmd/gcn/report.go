package main

import (
	"cmp"
	"math"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/internal/report"
	"github.com/gcn-layerwise/gcn/study"
)

func newReportCommand() *cobra.Command {
	var o struct {
		Out         string `json:"out" default:"report.html" arg:"FILE" help:"FILE to write"`
		Title       string `json:"title" default:"Training runs" help:"heading of the page"`
		TensorBoard string `json:"tensorboard" arg:"DIR" help:"folder DIR for TensorBoard event files (default: none)"`
		resultOptions
	}
	return newCommand("report DIR…", &o, func(cmd *cobra.Command) (any, error) {
		runs, err := report.Load(cmd.Flags().Args()...)
		if err != nil {
			return nil, err
		}
		page := report.Page{Title: o.Title, Runs: runs, Machine: machine.Describe()}
		if err := atomicfile.Write(o.Out, page.Write); err != nil {
			return nil, err
		}
		events := []string{}
		for k := 0; k < len(runs) && o.TensorBoard != ""; k++ {
			inside := cmp.Or(strings.TrimPrefix(path.Clean("/"+runs[k].Name), "/"), "run") // no element leads outside
			file, err := runs[k].WriteEvents(filepath.Join(o.TensorBoard, inside))
			if err != nil {
				return nil, err
			}
			events = append(events, file)
		}
		rows := []comparedRow{}
		for _, m := range report.Compare(runs) {
			row := comparedRow{Name: m.Name, Runs: len(m.Runs), Sampled: m.Sampled}
			row.BestValid, row.BestValidStd, _ = known(m.BestValid)
			row.Test, row.TestStd, row.TestSEM = known(m.Test)
			row.StepMS, _, _ = known(m.StepMS)
			rows = append(rows, row)
		}
		return struct {
			Page    string        `json:"page"`
			Runs    int           `json:"runs"`
			Events  []string      `json:"events"`
			Methods []comparedRow `json:"methods"`
		}{o.Out, len(runs), events, rows}, nil
	})
}

// comparedRow is a row of the JSON object. Scores and milliseconds are means over the runs.
type comparedRow struct {
	Name         string  `json:"name"`
	Runs         int     `json:"runs"`
	BestValid    float64 `json:"best_valid"`
	BestValidStd float64 `json:"best_valid_std"`
	Test         float64 `json:"test"`
	TestStd      float64 `json:"test_std"`
	TestSEM      float64 `json:"test_sem"`
	StepMS       float64 `json:"train_ms_per_batch"`
	Sampled      bool    `json:"sampled,omitempty"`
}

// known returns the mean, the standard deviation and the standard error of s; NaN if not known.
func known(s study.Spread) (mean, sd, sem float64) {
	if s.N == 0 {
		s.Mean = math.NaN()
	}
	if s.N < 2 {
		s.SD, s.SEM = math.NaN(), math.NaN()
	}
	return s.Mean, s.SD, s.SEM
}
