package main

import (
	"cmp"
	"context"
	"errors"
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
	config        string
	settings      run.Settings
	asJSON, quiet bool
}

func newReproduceCommand() *cobra.Command {
	r := new(reproduction)
	cmd := &cobra.Command{
		Use:   "reproduce TABLE|FIGURE|all",
		Short: "Make a table or figure of the paper, and compare the results",
		Long: `Make a table or figure of the paper, by its number, and print the results beside
the paper's. Files have mean, standard deviation and standard error, and mark numbers out
of the paper's range. Without --data each data set of the paper is the original if it is
in the cache (gcn datasets fetch), else its generated twin.

` + experimentList() + `
all makes every table and figure of the paper, and one text of all, results.md in --out,
in which every claim of the paper about its results is marked as seen or not seen, except
claims about scores on twins. The text of preface.txt in --cells stands first.

Results are kept cell by cell (one training run, one timing) in --cells, so that a
stopped command goes on where it was, and tables share cells. With --compute scores,
times or none, a table says how many of its cells are missing. The ranks of an MPI
launcher share the cells; --cells then needs a file system in common.`,
		Example: `  gcn reproduce table3
  gcn reproduce table4 --data synth:arxiv --runs 5 --out reproduced
  gcn reproduce table4 --data npy:mygraph --runs 3      # the paper's methods on a graph of your own
  gcn reproduce figure2 --data synth:arxiv --samples 512,1024,2048,4096
  gcn reproduce all --runs 5 --out paper
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
	fs.Var((*wordList)(&r.Data), "data", "data SPECs (default: the paper's data sets, or their generated twins)")
	fs.Var((*wordList)(&r.Methods), "methods", "methods to run (default: all of the paper's table)")
	fs.Var((*intList)(&r.Samples), "samples", "sample sizes instead of the paper's, next to the output first")
	run.AddFlags(fs, &r.settings, "runs", "eval-every", "seed")
	fs.Lookup("runs").DefValue, fs.Lookup("eval-every").DefValue = "5", "10"
	fs.StringVar(&r.config, "config", "", "JSON `FILE` of options of gcn train, over those of its recipe paper; measurements have at most a fifth of max_batches")
	fs.StringVar((*string)(&r.Compute), "compute", string(reproduce.ComputeAll), "missing cells to compute: all, scores (not the times), times (they need a machine without other work) or none")
	fs.StringVar(&r.Dir, "out", "reproduced", "folder `DIR` of the CSV, JSON, Markdown, SVG and PNG files")
	fs.StringVar(&r.Cells, "cells", "", "folder `DIR` of the cells (default: cells in --out)")
	fs.BoolVarP(&r.quiet, "quiet", "q", false, "print no progress")
}

func (r *reproduction) check() error {
	if err := checkContenders(r.Methods); err != nil {
		return err
	}
	for _, spec := range r.Data {
		if err := checkSpec(spec); err != nil {
			return err
		}
	}
	if err := oneOf("compute", string(r.Compute), reproduce.Selections()); err != nil {
		return err
	}
	if r.Dir == "" {
		return usagef("--out: want a folder")
	}
	return (*intList)(&r.Samples).check()
}

// load makes the settings of the paper, the file of options and the command line.
func (r *reproduction) load(cmd *cobra.Command) error {
	s, err := reproduce.Paper(cmd.Context())
	if err != nil {
		return err
	}
	values := run.Values(cmd.Flags())
	if r.config != "" {
		file, err := run.ReadFile(cmd.Context(), r.config)
		if err != nil {
			return usagef("--config: %w", err)
		}
		values = append(file.Values, values...)
	}
	r.Settings = &s
	return s.Set(values...)
}

func (r *reproduction) do(cmd *cobra.Command, args []string) error {
	if err := r.load(cmd); err != nil {
		return err
	}
	version, err := currentVersion()
	if err != nil {
		return err
	}
	r.Program = version.Revision
	if version.Modified {
		r.Program += ", with changes"
	}
	r.Open, r.DataOptions = openData, dataOptions(cmd.Context())
	if w := worldOf(cmd.Context()); w != nil {
		r.Ranks = w
	}
	if !r.quiet {
		r.Log = func(line string) { say(cmd.ErrOrStderr(), "%s", line) }
	}
	all, err := reproduce.Run(cmd.Context(), args[0], r.Options)
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
	w, one := cmd.OutOrStdout(), all.Reports[0]
	switch single := args[0] != reproduce.All; {
	case r.asJSON && single:
		return printJSON(w, one)
	case r.asJSON:
		return printJSON(w, all)
	case single:
		if err := errors.Join(printLine(w, "%s", one.Heading()), printStudy(w, one)); err != nil {
			return err
		}
		return printLine(w, "saved in %s.{csv,json,md,…}", filepath.Join(r.Dir, one.Experiment))
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
	words := []string{"gcn", "reproduce", reproduce.All}
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
	for _, e := range reproduce.Experiments() {
		names = append(names, e.Name)
		if e.Alias != "" {
			aliases = append(aliases, e.Alias)
		}
	}
	return slices.Concat(names, []string{reproduce.All}, aliases)
}

func experimentList() string {
	var b strings.Builder
	for _, e := range reproduce.Experiments() {
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
