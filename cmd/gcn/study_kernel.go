package main

import (
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/study"
)

// kernelStudy is one execution of "gcn study kernel-ridge".
type kernelStudy struct {
	studyOptions
	nodes, repeats   int
	bandwidth, ridge float64
	sizes            intList
}

func newStudyKernelRidgeCommand() *cobra.Command {
	o := new(kernelStudy)
	cmd := &cobra.Command{
		Use:   "kernel-ridge",
		Short: "Measure column sampling in kernel ridge regression: plain, flat and debiased",
		Long: `Fit a kernel ridge regression to the features and labels of training nodes, and
approximate it by s columns of the kernel matrix K, drawn without replacement. plain
draws with p ∝ ‖K^[i]‖² and weights 1/(s p), flat with p ∝ ‖K^[i]‖; debiased weights are
unbiased. The graph is not used.

product is the error of KSK as an estimate of K², and bias the part of it that more
draws do not average out. weighted is the difference from the exact predictions on test
nodes, if both products of K in the equation are estimated. sketched is the same for the
least squares of all rows over the columns drawn; the weights cancel in it.

The exact regression takes n³ operations and memory of 5 n² numbers. Ctrl-C takes effect
between products and solves: with 20,000 rows, the most that are allowed, only after
minutes.`,
		Example: `  gcn study kernel-ridge --data synth:demo
  gcn study kernel-ridge --data ogbn-arxiv --nodes 2000 --samples 64,256,1024`,
		Args: noArguments,
		RunE: checked(o.check, o.do),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	o.dataFlag(cmd)
	fs.IntVar(&o.nodes, "nodes", 1000, "training rows, and at most as many test rows")
	fs.Float64Var(&o.bandwidth, "bandwidth", 0, "h of the kernel exp(−‖x−y‖²/(2h²)); 0: the median distance")
	fs.Float64Var(&o.ridge, "ridge", 0.001, "λ; it is multiplied by the number of rows")
	fs.Var(&o.sizes, "samples", "numbers of columns (default: n/32, n/16, … n/2 and 3n/4)")
	fs.IntVar(&o.repeats, "repeats", 100, "draws of each method and size")
	o.resultFlags(cmd)
	return cmd
}

// mostKernelRows bounds the time of one solve, which does not stop before its end.
const mostKernelRows = 20_000

func (o *kernelStudy) check() error {
	if err := within("nodes", o.nodes, 2, mostKernelRows); err != nil {
		return err
	}
	if err := atLeast("repeats", o.repeats, 2); err != nil {
		return err
	}
	if !(o.bandwidth >= 0) || math.IsInf(o.bandwidth, 1) {
		return usagef("--bandwidth %v: want a positive number or 0", o.bandwidth)
	}
	if !(o.ridge > 0) || math.IsInf(o.ridge, 1) {
		return usagef("--ridge %v: want a positive number", o.ridge)
	}
	return o.sizes.check()
}

func (o *kernelStudy) do(cmd *cobra.Command, _ []string) error {
	s, err := o.open(cmd.Context(), cmd.Flags())
	if err != nil {
		return err
	}
	s.noWeight = true
	what := study.KernelRidge{
		Features: s.data.Features, Labels: s.data.Labels, Train: s.data.Split.Train, Test: s.data.Split.Test,
		Nodes: o.nodes, Bandwidth: o.bandwidth, Ridge: o.ridge, Repeats: o.repeats, Seed: o.seed,
	}
	if len(o.sizes) > 0 {
		what.Sizes = defaultDraws(o.sizes, min(o.nodes, len(s.data.Split.Train)), false)
	}
	what.Progress = everySeconds(cmd.ErrOrStderr(), "rows of the table")
	t, err := what.Run(cmd.Context())
	if err != nil {
		return err
	}
	return o.finish(cmd, s, "kernel-ridge", t, func(w io.Writer) error { return printKernelRidge(w, t) })
}

func printKernelRidge(w io.Writer, t *study.KernelRidgeTable) error {
	table := newTable(true)
	table.row("method", "columns", "product", "± sem", "bias", "weighted", "± sem", "risk", "sketched", "± sem", "risk", "")
	for _, r := range t.Rows {
		bias := "(noise)"
		if noise := r.Product * r.Product / float64(t.Repeats); r.ProductBias2 > 3*noise {
			bias = fourDigits(math.Sqrt(r.ProductBias2))
		}
		table.row(r.Method, r.Samples, fourDigits(r.Product), fmt.Sprintf("%.2g", r.ProductSEM), bias,
			fourDigits(r.Weighted), fmt.Sprintf("%.2g", r.WeightedSEM), fourDigits(r.WeightedRisk),
			fourDigits(r.Sketched), fmt.Sprintf("%.2g", r.SketchedSEM), fourDigits(r.SketchedRisk), "")
	}
	if err := table.print(w); err != nil {
		return err
	}
	return printLine(w, "%d rows, %d test rows, %d targets, bandwidth %s, ridge %s, %d draws; risk of the exact regression %s, of the mean target %s; C1 of K %.3f",
		t.Nodes, t.TestNodes, t.Targets, fourDigits(t.Bandwidth), fourDigits(t.Ridge), t.Repeats, fourDigits(t.Risk), fourDigits(t.MeanRisk), t.C1)
}
