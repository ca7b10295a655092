package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/study/reproduce"
)

func newReproduceCommand() *cobra.Command {
	var o reproduce.Options
	var data, methods wordList
	var samples intList
	var out string
	var asJSON, quiet bool
	cmd := &cobra.Command{
		Use:   "reproduce TABLE|FIGURE",
		Short: "Run a table or figure of the paper, ours beside the paper's",
		Long: `Run a table or figure of the paper on the data sets chosen, and print what comes
out beside what the paper prints: mean, standard deviation and standard error,
with what is out of the paper's range marked, and why.

` + experimentList() + `
Results are kept cell by cell (one training run, one timing) in --out, so that a
stopped command goes on where it was, and experiments share cells.`,
		Example: `  gcn reproduce sampling-time
  gcn reproduce accuracy --data synth:arxiv --runs 5 --out reproduced
  gcn reproduce accuracy --data planetoid:DIR/cora,planetoid:DIR/citeseer --samples 64,128
  gcn reproduce matrix-error --data synth:arxiv --samples 512,1024,2048,4096`,
		ValidArgs: experimentNames(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("reproduce needs one of %s", strings.Join(experimentNames(), ", "))
			}
			return oneOfWords(args[0], experimentNames())
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.Var(&data, "data", "data SPECs (default: synthetic twins of the paper's data sets)")
	fs.Var(&methods, "methods", "of those in the table, which to run (default: all there are)")
	fs.StringVar(&o.Setting, "setting", "both", "the paper's sample sizes: `fixed` (512 a layer), increasing (doubling) or both")
	fs.Var(&samples, "samples", "sample sizes in the place of the paper's, next to the output first")
	fs.IntVar(&o.Runs, "runs", 5, "training runs, with seeds seed, seed+1, …")
	fs.Uint64Var(&o.Seed, "seed", 1, "first seed")
	fs.IntVar(&o.Layers, "layers", 0, "graph convolutions (default 2; 3 for regression)")
	fs.IntVar(&o.Batch, "batch", 512, "training nodes per mini-batch")
	fs.IntVar(&o.Hidden, "hidden", 256, "width of the hidden layers")
	fs.IntVar(&o.MaxBatches, "max-batches", 1000, "limit of a training run")
	fs.IntVar(&o.Patience, "patience", 200, "stop a run after this many mini-batches without a better validation score")
	fs.IntVar(&o.Batches, "batches", 0, "mini-batches to time (default 200 for sampling, 150 for training)")
	fs.IntVar(&o.Repeats, "repeats", 200, "mini-batches of matrix-error")
	fs.StringVar(&out, "out", "reproduced", "folder `DIR` of the cells, and of the CSV, JSON, Markdown, SVG and PNG files")
	fs.BoolVarP(&quiet, "quiet", "q", false, "print no progress")
	addJSONFlag(cmd, &asJSON)
	complete(cmd, "data", dataSpecs)
	complete(cmd, "methods", methodNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, m := range methods {
			if err := oneOf("methods", m, contenderNames()); err != nil {
				return err
			}
		}
		if err := oneOf("setting", o.Setting, []string{"fixed", "increasing", "both"}); err != nil {
			return err
		}
		for _, c := range []struct {
			name         string
			value, least int
		}{
			{"runs", o.Runs, 1}, {"layers", o.Layers, 0}, {"batch", o.Batch, 1}, {"hidden", o.Hidden, 1}, {"max-batches", o.MaxBatches, 1},
			{"patience", o.Patience, 1}, {"batches", o.Batches, 0}, {"repeats", o.Repeats, 2},
		} {
			if err := atLeast(c.name, c.value, c.least); err != nil {
				return err
			}
		}
		if err := samples.check(); err != nil {
			return err
		}
		o.Data, o.Methods, o.Samples, o.Dir = data, methods, samples, out
		o.Open = func(ctx context.Context, spec string) (*datasets.Data, error) { return openData(ctx, spec) }
		if !quiet {
			o.Log = func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) }
		}
		report, err := reproduce.Run(cmd.Context(), args[0], o)
		if err != nil {
			return err
		}
		if err := report.Save(out); err != nil {
			return err
		}
		w := cmd.OutOrStdout()
		if asJSON {
			return printJSON(w, report)
		}
		if err := report.WriteText(w); err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "saved in %s.{csv,json,md,svg,png}\n", filepath.Join(out, args[0]))
		return err
	}
	return cmd
}

func experimentNames() []string {
	var names []string
	for _, e := range reproduce.Experiments() {
		names = append(names, e.Name)
	}
	return names
}

func experimentList() string {
	var b strings.Builder
	for _, e := range reproduce.Experiments() {
		fmt.Fprintf(&b, "  %-17s %s\n", e.Name, e.Summary)
	}
	return b.String()
}

// oneOfWords is a usage error unless an argument is one of the words.
func oneOfWords(arg string, words []string) error {
	for _, w := range words {
		if w == arg {
			return nil
		}
	}
	return usagef("%q%s; there are: %s", arg, didYouMean(arg, words), strings.Join(words, ", "))
}
