package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/internal/reproduce"
)

// reproduction is one execution of "gcn reproduce".
type reproduction struct {
	reproduce.Options
	data, methods wordList
	samples       intList
	out           string
	asJSON, quiet bool
}

func newReproduceCommand() *cobra.Command {
	r := new(reproduction)
	cmd := &cobra.Command{
		Use:   "reproduce TABLE|FIGURE",
		Short: "Run a table or figure of the paper, and compare the results",
		Long: `Run a table or figure of the paper on the chosen data sets, and print the results
beside the paper's: mean, standard deviation and standard error. Numbers out of the
paper's range are marked, with the reason.

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
		RunE: checked(r.check, r.do),
	}
	r.flags(cmd.Flags())
	addJSONFlag(cmd, &r.asJSON)
	complete(cmd, "data", dataSpecs)
	complete(cmd, "methods", methodNames)
	return cmd
}

func (r *reproduction) flags(fs *pflag.FlagSet) {
	fs.SortFlags = false
	fs.Var(&r.data, "data", "data SPECs (default: synthetic twins of the paper's data sets)")
	fs.Var(&r.methods, "methods", "methods to run (default: all methods of the paper that gcn has)")
	fs.StringVar(&r.Setting, "setting", "both", "the paper's sample sizes: `fixed` (512 a layer), increasing (doubling) or both")
	fs.Var(&r.samples, "samples", "sample sizes instead of the paper's, next to the output first")
	fs.IntVar(&r.Runs, "runs", 5, "training runs, with seeds seed, seed+1, …")
	fs.Uint64Var(&r.Seed, "seed", 1, "first seed")
	fs.IntVar(&r.Layers, "layers", 0, "graph convolutions (default 2; 3 for regression)")
	fs.IntVar(&r.Batch, "batch", 512, "training nodes per mini-batch")
	fs.IntVar(&r.Hidden, "hidden", 256, "width of the hidden layers")
	fs.IntVar(&r.MaxBatches, "max-batches", 1000, "limit of a training run")
	fs.IntVar(&r.Patience, "patience", 200, "stop a run after this many mini-batches without a better validation score")
	fs.IntVar(&r.Batches, "batches", 0, "mini-batches to time (default 200 for sampling, 150 for training)")
	fs.IntVar(&r.Repeats, "repeats", 200, "mini-batches of matrix-error")
	fs.StringVar(&r.out, "out", "reproduced", "folder `DIR` of the cells, and of the CSV, JSON, Markdown, SVG and PNG files")
	fs.BoolVarP(&r.quiet, "quiet", "q", false, "print no progress")
}

func (r *reproduction) check() error {
	for _, m := range r.methods {
		if err := oneOf("methods", m, contenderNames()); err != nil {
			return err
		}
	}
	if err := oneOf("setting", r.Setting, []string{"fixed", "increasing", "both"}); err != nil {
		return err
	}
	for _, c := range []struct {
		name         string
		value, least int
	}{
		{"runs", r.Runs, 1}, {"batch", r.Batch, 1}, {"max-batches", r.MaxBatches, 1},
		{"patience", r.Patience, 1}, {"batches", r.Batches, 0}, {"repeats", r.Repeats, 2},
	} {
		if err := atLeast(c.name, c.value, c.least); err != nil {
			return err
		}
	}
	if err := within("layers", r.Layers, 0, mostLayers); err != nil {
		return err
	}
	if err := within("hidden", r.Hidden, 1, mostHidden); err != nil {
		return err
	}
	return r.samples.check()
}

func (r *reproduction) do(cmd *cobra.Command, args []string) error {
	r.Data, r.Methods, r.Samples, r.Dir = r.data, r.methods, r.samples, r.out
	r.Open = openData
	if !r.quiet {
		r.Log = func(line string) { say(cmd.ErrOrStderr(), "%s", line) }
	}
	report, err := reproduce.Run(cmd.Context(), args[0], r.Options)
	if err != nil {
		return err
	}
	if err := report.Save(r.out); err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if r.asJSON {
		return printJSON(w, report)
	}
	if err := report.WriteText(w); err != nil {
		return err
	}
	return printLine(w, "saved in %s.{csv,json,md,…}", filepath.Join(r.out, args[0]))
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

// oneOfWords returns a usage error unless the argument is one of the words.
func oneOfWords(arg string, words []string) error {
	for _, w := range words {
		if w == arg {
			return nil
		}
	}
	return usagef("%q%s; there are: %s", arg, didYouMean(arg, words), strings.Join(words, ", "))
}
