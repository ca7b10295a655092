package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/internal/reproduce"
	"github.com/gcn-layerwise/gcn/run"
)

// reproduction are the options of "gcn reproduce".
type reproduction struct {
	Data      []string          `json:"data" help:"data SPECs (default: the paper's data sets, or their generated twins)"`
	Methods   contenderNames    `json:"methods" help:"methods to run (default: all of the paper's table)"`
	Samples   []int             `json:"samples" range:"[1," help:"sample sizes instead of the paper's, next to the output first"`
	Runs      reproduce.PerData `json:"runs" default:"5" help:"training runs, with seeds seed, seed+1, …; for some data sets another number: 5,products=3"`
	EvalEvery reproduce.PerData `json:"eval_every" default:"10" help:"mini-batches between two scores of the validation nodes; 10,products=100 as for --runs"`
	Seed      uint64            `json:"seed" default:"1" range:"[1," help:"first seed"`
	Config    string            `json:"config" arg:"FILE" help:"JSON FILE of batch, hidden, max-batches, patience, setting, batches and repeats (default: the paper's)"`
	Compute   string            `json:"compute" default:"all" choice:"all|scores|times|none" help:"missing cells to compute: all, scores (not the times), times (they need a machine without other work) or none"`
	Out       string            `json:"out" default:"reproduced" arg:"DIR" need:"a folder" help:"folder DIR of the CSV, JSON, Markdown, SVG and PNG files"`
	Cells     string            `json:"cells" arg:"DIR" help:"folder DIR of the cells (default: cells in --out)"`
	Quiet     bool              `json:"quiet" short:"q" help:"print no progress"`
	resultOptions
}

// reproduceAll names all tables and figures.
const reproduceAll = "all"

func newReproduceCommand() *cobra.Command {
	r := new(reproduction)
	return newCommand(&cobra.Command{
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
		ValidArgs:   experimentNames(),
		Args:        oneArgument("reproduce needs one of", experimentNames()),
		Annotations: shared(),
		RunE:        r.do,
	}, r)
}

// options checks the options that depend on files and data, and returns all.
func (r *reproduction) options(cmd *cobra.Command) (o reproduce.Options, err error) {
	for _, spec := range r.Data {
		if err := checkSpec(spec); err != nil {
			return o, err
		}
	}
	o = reproduce.Options{
		Data: r.Data, Methods: r.Methods, Samples: r.Samples, Runs: r.Runs, EvalEvery: r.EvalEvery, Seed: r.Seed,
		Compute: reproduce.Compute(r.Compute), Dir: r.Out, Cells: r.Cells, Open: openData, DataOptions: dataOptions(cmd.Context()),
	}
	if r.Config != "" {
		if o.Config, err = reproduce.LoadConfig(r.Config); err != nil {
			return o, usagef("--config: %w", err)
		}
	}
	version, err := currentVersion()
	if o.Program = version.Revision; version.Modified {
		o.Program += ", with changes"
	}
	if w := worldOf(cmd.Context()); w != nil {
		o.Ranks = w
	}
	if !r.Quiet {
		o.Log = func(line string) { say(cmd.ErrOrStderr(), "%s", line) }
	}
	return o, err
}

func (r *reproduction) do(cmd *cobra.Command, args []string) error {
	o, err := r.options(cmd)
	if err != nil {
		return err
	}
	if args[0] == reproduceAll {
		return r.doAll(cmd, o)
	}
	report, err := reproduce.Run(cmd.Context(), args[0], o)
	if err != nil || report == nil { // only rank 0 has it
		return r.stopped(cmd.Context(), err)
	}
	if err := report.Save(r.Out); err != nil {
		return err
	}
	return result(cmd, report, func(w io.Writer) {
		_ = report.WriteText(w) // the stream keeps its error
		say(w, "saved in %s.{csv,json,md,…}", filepath.Join(r.Out, report.Experiment))
	})
}

func (r *reproduction) doAll(cmd *cobra.Command, o reproduce.Options) error {
	all, err := reproduce.All(cmd.Context(), o)
	if err != nil || all == nil { // only rank 0 has them
		return r.stopped(cmd.Context(), err)
	}
	all.Commit, all.Command = o.Program, r.commandLine(cmd)
	if err := all.Save(r.Out); err != nil {
		return err
	}
	return result(cmd, all, func(w io.Writer) {
		for _, c := range all.Claims {
			say(w, "%s: %s: %s", c.Where, c.Text, c.Verdict)
		}
		say(w, "saved in %s and %s", filepath.Join(r.Out, "results.md"), filepath.Join(r.Out, reproduce.FiguresDir))
	})
}

// stopped adds to the error of an interrupted command how to go on.
func (r *reproduction) stopped(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return run.Interrupted{Err: err, Message: fmt.Sprintf("interrupted; to go on, give the same command again: %s holds the finished cells", cmp.Or(r.Cells, r.Out))}
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
