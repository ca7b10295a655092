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
	return newCommand(&cobra.Command{
		Use:  "report DIR…",
		Args: between(1, math.MaxInt),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			runs, err := report.Load(dirs...)
			if err != nil {
				return err
			}
			page := report.Page{Title: o.Title, Runs: runs, Machine: machine.Describe()}
			if err := atomicfile.Write(o.Out, page.Write); err != nil {
				return err
			}
			events := []string{}
			for k := 0; k < len(runs) && o.TensorBoard != ""; k++ {
				inside := cmp.Or(strings.TrimPrefix(path.Clean("/"+runs[k].Name), "/"), "run") // no element leads outside
				file, err := runs[k].WriteEvents(filepath.Join(o.TensorBoard, inside))
				if err != nil {
					return err
				}
				events = append(events, file)
			}
			rows := []comparedRow{}
			for _, m := range report.Compare(runs) {
				rows = append(rows, compared(m))
			}
			return result(cmd, struct {
				Page    string        `json:"page"`
				Runs    int           `json:"runs"`
				Events  []string      `json:"events"`
				Methods []comparedRow `json:"methods"`
			}{o.Out, len(runs), events, rows}, nil)
		},
	}, &o)
}

// comparedRow is a row of the JSON object. Scores and milliseconds are means over the runs.
type comparedRow struct {
	Name         string `json:"name"`
	Runs         int    `json:"runs"`
	BestValid    number `json:"best_valid"`
	BestValidStd number `json:"best_valid_std"`
	Test         number `json:"test"`
	TestStd      number `json:"test_std"`
	TestSEM      number `json:"test_sem"`
	StepMS       number `json:"train_ms_per_batch"`
	Sampled      bool   `json:"sampled,omitempty"`
}

// compared returns the row of a method. Means without runs and deviations of one run are NaN.
func compared(m report.Method) comparedRow {
	spread := func(s study.Spread) (mean, sd, sem number) {
		mean, sd, sem = number(s.Mean), number(s.SD), number(s.SEM)
		if s.N == 0 {
			mean = number(math.NaN())
		}
		if s.N < 2 {
			sd, sem = number(math.NaN()), number(math.NaN())
		}
		return mean, sd, sem
	}
	r := comparedRow{Name: m.Name, Runs: m.Runs, Sampled: m.Sampled}
	r.BestValid, r.BestValidStd, _ = spread(m.BestValid)
	r.Test, r.TestStd, r.TestSEM = spread(m.Test)
	r.StepMS, _, _ = spread(m.StepMS)
	return r
}
