package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/study/machine"
	"github.com/gcn-layerwise/gcn/study/report"
)

func newReportCommand() *cobra.Command {
	var out, title, tensorboard string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "report DIR…",
		Short: "Make one HTML page of training runs",
		Long: `Make one self-contained HTML page of training runs: curves of loss and validation
score over batches and seconds, a comparison of methods with error bars, settings
and machine. A DIR is a run's folder or holds some; runs that differ in their seed
alone count as one method.

With --tensorboard the curves are written as event files too, a folder for each
run: tensorboard --logdir DIR.`,
		Example: `  gcn report runs
  gcn report runs/ladies runs/flat --out compare.html
  gcn report runs/first --tensorboard logs`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("report needs at least one DIR, the folder of a training run")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			runs, err := report.Load(args...)
			if err != nil {
				return err
			}
			page := report.Page{Title: title, Runs: runs, Machine: machine.Describe()}
			var b bytes.Buffer
			if err := page.Write(&b); err != nil {
				return err
			}
			if err := os.WriteFile(out, b.Bytes(), 0o666); err != nil {
				return err
			}
			events := []string{}
			if tensorboard != "" {
				for k := range runs {
					path, err := runs[k].WriteEvents(filepath.Join(tensorboard, eventFolder(runs[k].Name)))
					if err != nil {
						return err
					}
					events = append(events, path)
				}
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"page": out, "runs": len(runs), "events": events})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d runs in %s\n", len(runs), out)
			if err == nil && tensorboard != "" {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "event files in %s: tensorboard --logdir %s\n", tensorboard, tensorboard)
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&out, "out", "report.html", "`FILE` to write")
	fs.StringVar(&title, "title", "Training runs", "heading of the page")
	fs.StringVar(&tensorboard, "tensorboard", "", "folder `DIR` for TensorBoard event files (default: none)")
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// eventFolder is a run's folder below that of the event files: its path without
// what would lead outside.
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
