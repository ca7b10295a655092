package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/internal/report"
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
		Long: `Make one self-contained HTML page of training runs: curves of loss and validation
score over batches and seconds, a comparison of methods with error bars, settings
and machine. DIR is a run's folder, or a folder above some. Runs that differ only in
their seed count as one method.

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
	if j.asJSON {
		return printJSON(w, map[string]any{"page": j.out, "runs": len(runs), "events": events})
	}
	text := fmt.Sprintf("%d runs", len(runs))
	if len(runs) == 1 {
		text = "1 run"
	}
	if err := printLine(w, "%s in %s", text, j.out); err != nil || j.tensorboard == "" {
		return err
	}
	return printLine(w, "event files in %s: tensorboard --logdir %s", j.tensorboard, shellWord(j.tensorboard))
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
