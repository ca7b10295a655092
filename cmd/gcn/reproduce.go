package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/internal/reproduce"
	"github.com/gcn-layerwise/gcn/run"
)

// reproduction is one execution of "gcn reproduce".
type reproduction struct {
	reproduce.Options
	data, methods wordList
	samples       intList
	compute       string
	config        string
	asJSON, quiet bool
}

// reproduceAll names all tables and figures.
const reproduceAll = "all"

func newReproduceCommand() *cobra.Command {
	r := new(reproduction)
	cmd := &cobra.Command{
		Use:   "reproduce TABLE|FIGURE|twins|all",
		Short: "Make a table or figure of the paper, and compare the results",
		Long: `Make a table or figure of the paper, by its number, and print the results beside
the paper's: mean, standard deviation and standard error. Numbers out of the paper's
range are marked, with the reason. Without --data each data set of the paper is the
original if it is in the cache (gcn datasets fetch), else its generated twin.

` + experimentList() + `
twins is not in the paper: it compares all five generated twins, or the twins in --data,
with published figures of the originals.

all makes every table and figure of the paper, and one text of all, results.md in --out,
in which every claim of the paper about its results is marked as seen or not seen.

Results are kept cell by cell (one training run, one timing) in --cells, so that a
stopped command goes on where it was, and tables share cells. With --compute scores,
times or none, a table says how many of its cells are missing. The ranks of an MPI
launcher share the cells; --cells then needs a file system in common.`,
		Example: `  gcn reproduce table3
  gcn reproduce table4 --data synth:arxiv --runs 5 --out reproduced
  gcn reproduce table4 --data npy:mygraph --runs 3      # the paper's methods on a graph of your own
  gcn reproduce figure2 --data synth:arxiv --samples 512,1024,2048,4096
  gcn reproduce twins --data synth:arxiv --runs 3
  gcn reproduce all --runs 5,products=3,proteins=3 --eval-every 10,products=100,proteins=50 --out paper
  gcn reproduce all --compute times --out paper      # on a quiet machine
  gcn reproduce all --compute none --cells paper/cells --out docs`,
		ValidArgs: experimentNames(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("reproduce needs one of %s", strings.Join(experimentNames(), ", "))
			}
			return oneOfWords(args[0], experimentNames())
		},
		Annotations: shared(),
		RunE:        checked(r.check, r.do),
	}
	r.flags(cmd.Flags())
	addJSONFlag(cmd, &r.asJSON)
	complete(cmd, "data", dataSpecs)
	complete(cmd, "methods", run.MethodNames)
	return cmd
}

func (r *reproduction) flags(fs *pflag.FlagSet) {
	fs.SortFlags = false
	r.Runs.Each, r.EvalEvery.Each = 5, 10
	fs.Var(&r.data, "data", "data SPECs (default: the paper's data sets, or their generated twins)")
	fs.Var(&r.methods, "methods", "methods to run (default: all of the paper's table)")
	fs.Var(&r.samples, "samples", "sample sizes instead of the paper's, next to the output first")
	fs.Var(&r.Runs, "runs", "training runs, with seeds seed, seed+1, …; for some data sets another number: 5,products=3")
	fs.Var(&r.EvalEvery, "eval-every", "mini-batches between two scores of the validation nodes; 10,products=100 as for --runs")
	fs.Uint64Var(&r.Seed, "seed", 1, "first seed")
	fs.StringVar(&r.config, "config", "", "JSON `FILE` of batch, hidden, max-batches, patience, setting, batches and repeats (default: the paper's)")
	fs.StringVar(&r.compute, "compute", string(reproduce.ComputeAll), "missing cells to compute: all, scores (not the times), times (they need a machine without other work) or none")
	fs.StringVar(&r.Dir, "out", "reproduced", "folder `DIR` of the CSV, JSON, Markdown, SVG and PNG files")
	fs.StringVar(&r.Cells, "cells", "", "folder `DIR` of the cells (default: cells in --out)")
	fs.BoolVarP(&r.quiet, "quiet", "q", false, "print no progress")
}

func (r *reproduction) check() error {
	if err := checkContenders(r.methods); err != nil {
		return err
	}
	for _, spec := range r.data {
		if err := checkSpec(spec); err != nil {
			return err
		}
	}
	if err := oneOf("compute", r.compute, reproduce.Selections()); err != nil {
		return err
	}
	if r.config != "" {
		var err error
		if r.Config, err = reproduce.LoadConfig(r.config); err != nil {
			return usagef("--config: %w", err)
		}
	}
	switch {
	case r.Dir == "":
		return usagef("--out: want a folder")
	case r.Seed == 0:
		return usagef("--seed 0: want a number from 1 up")
	}
	return r.samples.check()
}

func (r *reproduction) do(cmd *cobra.Command, args []string) error {
	name := args[0]
	version, err := currentVersion()
	if err != nil {
		return err
	}
	r.Program = version.Revision
	if version.Modified {
		r.Program += ", with changes"
	}
	r.Data, r.Methods, r.Samples, r.Compute = r.data, r.methods, r.samples, reproduce.Compute(r.compute)
	r.Open, r.DataOptions = openData, dataOptions(cmd.Context())
	if w := worldOf(cmd.Context()); w != nil {
		r.Ranks = w
	}
	if !r.quiet {
		r.Log = func(line string) { say(cmd.ErrOrStderr(), "%s", line) }
	}
	if name == reproduceAll {
		return r.doAll(cmd)
	}
	report, err := reproduce.Run(cmd.Context(), name, r.Options)
	if err != nil {
		return r.stopped(cmd.Context(), err)
	}
	if report == nil { // only rank 0 has it
		return nil
	}
	if err := report.Save(r.Dir); err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if r.asJSON {
		return printJSON(w, report)
	}
	if err := report.WriteText(w); err != nil {
		return err
	}
	return printLine(w, "saved in %s.{csv,json,md,…}", filepath.Join(r.Dir, report.Experiment))
}

func (r *reproduction) doAll(cmd *cobra.Command) error {
	all, err := reproduce.All(cmd.Context(), r.Options)
	if err != nil {
		return r.stopped(cmd.Context(), err)
	}
	if all == nil { // only rank 0 has them
		return nil
	}
	all.Commit, all.Command = r.Program, r.commandLine(cmd)
	if err := all.Save(r.Dir); err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if r.asJSON {
		return printJSON(w, all)
	}
	for _, c := range all.Claims {
		if err := printLine(w, "%s: %s: %s", c.Where, c.Text, c.Verdict); err != nil {
			return err
		}
	}
	return printLine(w, "saved in %s and %s", filepath.Join(r.Dir, "results.md"), filepath.Join(r.Dir, reproduce.FiguresDir))
}

// stopped adds to the error of an interrupted command how to go on.
func (r *reproduction) stopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return run.Interrupted{Err: err, Message: fmt.Sprintf("interrupted; to go on, give the same command again: %s holds the finished cells", cmp.Or(r.Cells, r.Dir))}
}

// commandLine is the command with the flags that were set, without those that do not
// change the results.
func (r *reproduction) commandLine(cmd *cobra.Command) string {
	words := []string{"gcn", "reproduce", reproduceAll}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"out", "cells", "compute", "json", "quiet", "cache", "mirror", "offline", "rank-timeout"}, f.Name) {
			words = append(words, "--"+f.Name, run.ShellWord(f.Value.String()))
		}
	})
	return strings.Join(words, " ")
}

// experimentNames lists the names of the experiments, then the aliases.
func experimentNames() []string {
	var names, aliases []string
	for _, e := range reproduce.Known() {
		names = append(names, e.Name)
		if e.Alias != "" {
			aliases = append(aliases, e.Alias)
		}
	}
	return slices.Concat(names, []string{reproduceAll}, aliases)
}

func experimentList() string {
	var b strings.Builder
	for _, e := range reproduce.Known() {
		alias := ""
		if e.Alias != "" {
			alias = " (" + e.Alias + ")"
		}
		fmt.Fprintf(&b, "  %-9s %s%s\n", e.Name, e.Title, alias)
	}
	return b.String()
}

// oneOfWords returns a usage error unless the argument is one of the words.
func oneOfWords(arg string, words []string) error {
	if slices.Contains(words, arg) {
		return nil
	}
	return usagef("%q%s; there are: %s", arg, run.DidYouMean(arg, words), strings.Join(words, ", "))
}
