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
			rows = append(rows, comparedRow{
				Name: m.Name, Runs: len(m.Runs), Sampled: m.Sampled,
				BestValid:    known(m.BestValid.Mean, m.BestValid.N > 0),
				BestValidStd: known(m.BestValid.SD, m.BestValid.N > 1),
				Test:         known(m.Test.Mean, m.Test.N > 0),
				TestStd:      known(m.Test.SD, m.Test.N > 1),
				TestSEM:      known(m.Test.SEM, m.Test.N > 1),
				StepMS:       known(m.StepMS.Mean, m.StepMS.N > 0),
			})
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

// known returns x, or NaN if it is not known.
func known(x float64, isKnown bool) number {
	if !isKnown {
		x = math.NaN()
	}
	return number(x)
}
