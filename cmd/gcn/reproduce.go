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

// reproduction are the options of "gcn reproduce", beside some of gcn train.
type reproduction struct {
	Data    []string       `json:"data" arg:"SPEC,..." help:"data SPECs (default: the paper's data sets, or their generated twins)"`
	Methods contenderNames `json:"methods" arg:"NAME,..." help:"methods to run (default: all of the paper's table)"`
	Samples []int          `json:"samples" arg:"N,..." range:"[1," help:"sample sizes instead of the paper's, next to the output first"`
	Config  string         `json:"config" arg:"FILE" help:"JSON FILE of options of gcn train, over those of its recipe paper; measurements have at most a fifth of max_batches"`
	Compute string         `json:"compute" default:"all" choice:"all|scores|times|none" help:"missing cells to compute: all, scores (not the times), times (they need a machine without other work) or none"`
	Out     string         `json:"out" default:"reproduced" arg:"DIR" need:"a folder" help:"folder DIR of the CSV, JSON, Markdown, SVG and PNG files"`
	Cells   string         `json:"cells" arg:"DIR" help:"folder DIR of the cells (default: cells in --out)"`
	Quiet   bool           `json:"quiet" short:"q" help:"print no progress"`
	resultOptions
}

func newReproduceCommand() *cobra.Command {
	r := new(reproduction)
	cmd := newCommand("reproduce TABLE|FIGURE|all", r, r.run, "runs", "eval-every", "seed")
	cmd.ValidArgs = []string{reproduce.All}
	for _, e := range reproduce.Experiments() {
		cmd.ValidArgs = append(cmd.ValidArgs, e.Name, e.Alias)
	}
	cmd.ValidArgs = slices.DeleteFunc(cmd.ValidArgs, func(name string) bool { return name == "" })
	cmd.Flags().Lookup("runs").DefValue, cmd.Flags().Lookup("eval-every").DefValue = "5", "10"
	return cmd
}

// run makes the table or figure that the command line names, or all. The file of --config changes
// the paper's settings, and the command line changes the result.
func (r *reproduction) run(cmd *cobra.Command) (any, error) {
	ctx, name := cmd.Context(), cmd.Flags().Arg(0)
	s, err := reproduce.Paper(ctx)
	if err != nil {
		return nil, err
	}
	values := run.Values(cmd.Flags())
	if r.Config != "" {
		file, err := run.ReadFile(ctx, r.Config)
		if err != nil {
			return nil, usagef("--config: %w", err)
		}
		values = append(file.Values, values...)
	}
	if err := s.Set(values...); err != nil {
		return nil, err
	}
	o := reproduce.Options{
		Settings: &s, Data: r.Data, Methods: r.Methods, Samples: r.Samples, Compute: reproduce.Compute(r.Compute), Dir: r.Out, Cells: r.Cells,
		Open: openData, DataOptions: jobOf(ctx).data, Program: programVersion(),
		Log: func(line string) { say(unlessQuiet(r.Quiet, cmd.ErrOrStderr()), "%s", line) },
	}
	all, err := results(ctx, name, o)
	if err != nil && ctx.Err() != nil {
		return nil, run.Interrupted{Err: err, Message: fmt.Sprintf("interrupted; to go on, give the same command again: %s holds the finished cells", cmp.Or(r.Cells, r.Out))}
	}
	if err != nil || all == nil { // only rank 0 has them
		return nil, err
	}
	all.Commit, all.Command = o.Program, r.commandLine(cmd)
	if err := all.Save(r.Out); err != nil {
		return nil, err
	}
	if one := all.Reports[0]; name != reproduce.All {
		return worded{one, func(w io.Writer) {
			say(w, "%s", one.Heading())
			printStudy(w, one)
			say(w, "saved in %s.{csv,json,md,…}", filepath.Join(r.Out, one.Experiment))
		}}, nil
	}
	return worded{all, func(w io.Writer) {
		for _, c := range all.Claims {
			say(w, "%s: %s: %s", c.Where, c.Text, c.Verdict)
		}
		say(w, "saved in %s and %s", filepath.Join(r.Out, "results.md"), filepath.Join(r.Out, reproduce.FiguresDir))
	}}, nil
}

// results makes the results. The ranks share the scores; then rank 0 alone computes the times, and
// has the results.
func results(ctx context.Context, name string, o reproduce.Options) (*reproduce.Results, error) {
	w := jobOf(ctx).world
	if w != nil && (o.Compute == reproduce.ComputeAll || o.Compute == reproduce.ComputeScores) {
		scores := o
		scores.Compute, scores.Barrier = reproduce.ComputeScores, w.Barrier
		if _, err := reproduce.Run(ctx, name, scores); err != nil {
			return nil, err
		}
	}
	if w != nil && w.Rank() > 0 {
		return nil, nil
	}
	return reproduce.Run(ctx, name, o)
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
