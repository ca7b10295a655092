package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/internal/report"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/study"
)

// reportJob is one execution of "gcn report".
type reportJob struct {
	out, title, tensorboard string
	asJSON                  bool
}

func newReportCommand() *cobra.Command {
	j := new(reportJob)
	cmd := &cobra.Command{
		Use:   "report DIR…",
		Short: "Make one HTML page of training runs",
		Long: `Make one self-contained HTML page of training runs: for each data set the scores of
methods, curves of loss and validation score over batches and seconds; settings and
machine. DIR is a run's folder, or a folder above some. Runs that differ only in
their seed count as one method; the command prints the mean scores of each.

With --tensorboard it also writes the curves as event files, a folder for each run.
View them with tensorboard --logdir DIR.`,
		Example: `  gcn report runs
  gcn report runs/ladies runs/flat --out compare.html
  gcn report runs/first --tensorboard logs`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("report needs at least one DIR, the folder of a training run")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return j.do(cmd.OutOrStdout(), args) },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&j.out, "out", "report.html", "`FILE` to write")
	fs.StringVar(&j.title, "title", "Training runs", "heading of the page")
	fs.StringVar(&j.tensorboard, "tensorboard", "", "folder `DIR` for TensorBoard event files (default: none)")
	addJSONFlag(cmd, &j.asJSON)
	return cmd
}

func (j *reportJob) do(w io.Writer, dirs []string) error {
	runs, err := report.Load(dirs...)
	if err != nil {
		return err
	}
	page := report.Page{Title: j.title, Runs: runs, Machine: machine.Describe()}
	if err := atomicfile.Write(j.out, page.Write); err != nil {
		return err
	}
	events := []string{}
	if j.tensorboard != "" {
		for k := range runs {
			path, err := runs[k].WriteEvents(filepath.Join(j.tensorboard, eventFolder(runs[k].Name)))
			if err != nil {
				return err
			}
			events = append(events, path)
		}
	}
	methods := report.Compare(runs)
	if j.asJSON {
		rows := []comparedRow{}
		for _, m := range methods {
			rows = append(rows, comparedRow{m.Name, m.Runs, meanOf(m.BestValid), spreadOf(m.BestValid.N, m.BestValid.SD),
				meanOf(m.Test), spreadOf(m.Test.N, m.Test.SD), spreadOf(m.Test.N, m.Test.SEM), meanOf(m.StepMS), m.Sampled})
		}
		return printJSON(w, map[string]any{"page": j.out, "runs": len(runs), "events": events, "methods": rows})
	}
	if err := printMethods(w, methods); err != nil {
		return err
	}
	text := fmt.Sprintf("%d runs", len(runs))
	if len(runs) == 1 {
		text = "1 run"
	}
	if err := printLine(w, "%s in %s", text, j.out); err != nil || j.tensorboard == "" {
		return err
	}
	return printLine(w, "event files in %s: tensorboard --logdir %s", j.tensorboard, run.ShellWord(j.tensorboard))
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

// printMethods prints a row for each group of runs that differ only in the seed.
func printMethods(w io.Writer, methods []report.Method) error {
	t := newTable(true)
	t.row("runs", "best valid", "± std", "test", "± std", "ms a step", "  method")
	digits := func(x number, format string) string {
		if math.IsNaN(float64(x)) {
			return "–"
		}
		return fmt.Sprintf(format, x)
	}
	for _, m := range methods {
		name := "  " + m.Name
		if m.Sampled {
			name += " (scores of a sample of the nodes)"
		}
		t.row(m.Runs, digits(meanOf(m.BestValid), "%.4f"), digits(spreadOf(m.BestValid.N, m.BestValid.SD), "%.4f"),
			digits(meanOf(m.Test), "%.4f"), digits(spreadOf(m.Test.N, m.Test.SD), "%.4f"), digits(meanOf(m.StepMS), "%.3g"), name)
	}
	return t.print(w)
}

// meanOf returns a mean, or NaN without measurements.
func meanOf(s study.Spread) number {
	if s.N == 0 {
		return number(math.NaN())
	}
	return number(s.Mean)
}

// spreadOf returns a standard deviation or error, or NaN for less than two measurements.
func spreadOf(n int, spread float64) number {
	if n < 2 {
		return number(math.NaN())
	}
	return number(spread)
}

// eventFolder returns a run's folder below the folder of event files: the run's
// path without elements that lead outside.
func eventFolder(name string) string {
	var words []string
	for word := range strings.SplitSeq(name, "/") {
		if word != "" && word != "." && word != ".." {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		words = []string{"run"}
	}
	return filepath.Join(words...)
}
