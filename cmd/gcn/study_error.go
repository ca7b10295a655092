package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

func newStudyErrorCommand() *cobra.Command {
	var o studyOptions
	methods := wordList{"fastgcn", "ladies", "ladies-flat", "ladies-debiased", "ladies-flat-debiased"}
	sizes := intList(study.PaperSizes())
	var repeats, draws int
	cmd := &cobra.Command{
		Use:   "approx-error",
		Short: "Measure ‖QPHW − QPSHW‖_F of sampling methods, bias and variance apart",
		Long: `Measure the error that sampling makes in one propagation, ‖QPHW − QPSHW‖_F: Q the
rows of a random mini-batch, H a layer's input, W its weight, S the sampling.
All methods meet the same mini-batches.

A row's mean is that of the error, sem its standard error; bias² + sd² is the mean
of the squared error, bias the part that more draws from the same mini-batch
would not average out.

A debiased method's name followed by "-nodes" takes the number of nodes of the
graph as its population, as the program released with the paper does.`,
		Example: `  gcn study approx-error --data synth:arxiv
  gcn study approx-error --run runs/first --samples 512,1024,2048,4096 --methods ladies,ladies-debiased,ladies-debiased-nodes
  gcn study approx-error --data synth:demo --repeats 50 --json`,
		Args: noArguments,
	}
	o.flags(cmd, true)
	fs := cmd.Flags()
	fs.Var(&methods, "methods", "sampling methods")
	fs.Var(&sizes, "samples", "sample sizes, a point of the curves each")
	fs.IntVar(&repeats, "repeats", 200, "mini-batches")
	fs.IntVar(&draws, "draws", 2, "draws from each mini-batch; two are enough to tell bias and variance apart")
	complete(cmd, "methods", contenderNames)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.check(); err != nil {
			return err
		}
		if err := checkContenders(methods); err != nil {
			return err
		}
		if err := sizes.check(); err != nil {
			return err
		}
		if err := atLeast("repeats", repeats, 2); err != nil {
			return err
		}
		if err := atLeast("draws", draws, 2); err != nil {
			return err
		}
		s, err := o.open(cmd.Context(), fs)
		if err != nil {
			return err
		}
		hw, err := o.product(cmd.Context(), s)
		if err != nil {
			return err
		}
		e := study.ApproxError{
			Laplacian: s.data.Laplacian(), Product: hw, Nodes: s.data.Split.Train,
			Sizes: sizes, Batch: o.batch, Repeats: repeats, Draws: draws, Seed: o.seed,
		}
		if e.Methods, err = contenders(methods, s.data.Laplacian(), s.data.Split.Train); err != nil {
			return err
		}
		e.Progress = everySeconds(cmd.ErrOrStderr(), repeats)
		t, err := e.Run(cmd.Context())
		if err != nil {
			return err
		}
		return o.finish(cmd, s, "approx-error", t, func(w io.Writer) error { return printErrors(w, t) })
	}
	return cmd
}

// everySeconds returns a function that, called with a number done, writes a line
// about it now and then.
func everySeconds(w io.Writer, total int) func(done int) {
	const interval = 5 * time.Second
	last := time.Now()
	return func(done int) {
		if done == total || time.Since(last) < interval {
			return
		}
		last = time.Now()
		fmt.Fprintf(w, "%d of %d mini-batches\n", done, total)
	}
}

// contenders returns the contenders of these names.
func contenders(names []string, p *graph.Laplacian, train []int32) ([]study.Contender, error) {
	var all []study.Contender
	for _, name := range names {
		c, err := study.ContenderByName(name, p, train)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// contenderNames lists what study.ContenderByName knows.
func contenderNames() []string {
	var names []string
	for _, m := range samplers.Methods() {
		names = append(names, m.Name)
	}
	for _, name := range study.LayerWiseMethods() {
		if study.CountsPopulation(name) {
			names = append(names, name+study.NodesSuffix)
		}
	}
	return names
}

// checkContenders is a usage error of --methods unless all names are known.
func checkContenders(names []string) error {
	for _, name := range names {
		if err := oneOf("methods", name, contenderNames()); err != nil {
			return err
		}
	}
	return nil
}

func printErrors(w io.Writer, t *study.ErrorTable) error {
	table := newTable(true)
	table.row("method", "samples", "error", "± sem", "relative", "bias", "sd", "")
	for _, r := range t.Rows {
		bias := shortly(r.Bias)
		if r.Bias2 < 2*r.Bias2SEM {
			bias = "(noise)"
		}
		table.row(r.Method, r.Samples, shortly(r.Mean), fmt.Sprintf("%.2g", r.SEM), fmt.Sprintf("%.3f", r.Relative), bias, shortly(r.SD), "")
	}
	if err := table.print(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "‖QPHW‖ = %s, %.0f candidates, %d mini-batches of %d nodes, %d draws each, seed %d\n",
		shortly(t.Norm), t.Candidates, t.Repeats, t.Batch, t.Draws, t.Seed)
	return err
}
