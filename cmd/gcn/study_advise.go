package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// adviseStudy is one execution of "gcn study advise".
type adviseStudy struct {
	run                string
	depth, batch, most int
	batches            int
	target             float64
	seed               uint64
	asJSON             bool
}

func newStudyAdviseCommand() *cobra.Command {
	a := new(adviseStudy)
	cmd := &cobra.Command{
		Use:   "advise [SPEC]",
		Short: "Recommend a method and sample sizes for a graph, with the reasons",
		Long: `Recommend a method and sample sizes for a graph, with the reasons.

First the study compares the errors of the layer-wise methods. The size of a layer is
the smallest with an error of at most --target times the signal, and the method
has the least error at these sizes. The signal is the difference of a mini-batch's
rows from their mean. Without --run, the study uses the features as the input of every
layer, and random weights.

Then it trains the paper's model for --batches mini-batches with this method, with the
same method and --exact-input, with ladies-cv, and with full batch as the reference. It
recommends the method with the fewest operations in a step among those that lose at most
half a point of validation score. The table has the score, the loss, the operations
of a step (multiply-adds, with a share of the refreshes) and the memory of histories,
P·X and P·(P·X).`,
		Example: `  gcn study advise synth:arxiv
  gcn study advise npy:mygraph --layers 3 --target 0.3
  gcn study advise synth:products --batches 0             # compares errors only
  gcn study advise --run runs/first --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("study advise takes one SPEC, got %q", args)
			}
			if len(args) == 1 && a.run != "" {
				return usagef("study advise takes a SPEC or --run, not both")
			}
			return nil
		},
		RunE: checked(a.check, a.do),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&a.run, "run", "", "folder `DIR` of a training run, for its data and trained weights")
	fs.IntVar(&a.depth, "layers", 2, "graph convolutions (with --run: the model's)")
	fs.IntVar(&a.batch, "batch", 512, "training nodes per mini-batch")
	fs.Float64Var(&a.target, "target", 1, "target of the error over the signal; 1 mostly trains about as well as no sampling")
	fs.IntVar(&a.most, "max-samples", 8192, "largest sample size to consider")
	fs.IntVar(&a.batches, "batches", run.AdviceBatches, "mini-batches that each candidate is trained for; 0: none")
	fs.Uint64Var(&a.seed, "seed", 1, "seed of all random decisions")
	addJSONFlag(cmd, &a.asJSON)
	return cmd
}

func (a *adviseStudy) check() error {
	if err := cmp.Or(within("layers", a.depth, 1, mostLayers), atLeast("batch", a.batch, 1), atLeast("max-samples", a.most, 1), atLeast("batches", a.batches, 0)); err != nil {
		return err
	}
	if !(a.target > 0) || math.IsInf(a.target, 0) {
		return usagef("--target %v: want a positive number", a.target)
	}
	return nil
}

func (a *adviseStudy) do(cmd *cobra.Command, args []string) error {
	o := studyOptions{data: run.New().Data, run: a.run, seed: a.seed}
	if len(args) == 1 {
		o.data = args[0]
	}
	s, err := o.open(cmd.Context(), cmd.Flags())
	if err != nil {
		return err
	}
	what := study.Advise{
		Laplacian: s.data.Laplacian(), Nodes: s.data.Split.Train, Layers: a.depth, Batch: a.batch,
		Target: a.target, Most: a.most, Seed: a.seed,
	}
	if s.model != nil {
		what.Layers = len(s.model.Convolutions)
		what.Products, err = study.Products(cmd.Context(), s.model, s.data.Laplacian(), s.data.Features)
	} else {
		what.Products, err = run.RandomProduct(s.data, a.seed)
	}
	if err != nil {
		return err
	}
	advice, err := what.Run(cmd.Context())
	if err != nil {
		return err
	}
	if a.batches > 0 && run.Triable(s.data, what.Layers) {
		trials, err := study.Trials{
			Data: s.data, Candidates: study.DefaultCandidates(advice, what.Layers, a.batch, false),
			Layers: what.Layers, Batch: a.batch, Batches: a.batches, Seed: a.seed,
			Progress: everySeconds(cmd.ErrOrStderr(), "mini-batches of the trials"),
		}.Run(cmd.Context())
		if err != nil {
			return err
		}
		advice.Take(trials)
		if err := a.withoutConvolutions(cmd.Context(), s.data, what.Layers, advice); err != nil {
			return err
		}
	}
	if a.asJSON {
		return printJSON(cmd.OutOrStdout(), struct {
			Dataset string `json:"dataset"`
			Weights string `json:"weights"`
			*study.Advice
		}{s.spec, s.weights(), advice})
	}
	return a.print(cmd.OutOrStdout(), s, advice)
}

// withoutConvolutions trains a perceptron on [X, …, P^k·X] as long as the trials, unless the
// features would take more than a gigabyte.
func (a *adviseStudy) withoutConvolutions(ctx context.Context, data *datasets.Data, hops int, advice *study.Advice) error {
	if memory.Product(4, int64(hops+1), int64(data.Nodes()), int64(data.Features.Cols)) > 1<<30 {
		return nil
	}
	t, err := study.FeaturesAlone{Data: data, Hops: []int{hops}, Options: train.Options{Batch: a.batch, MaxBatches: a.batches, EvalEvery: a.batches, Seed: a.seed}}.Run(ctx)
	if err == nil {
		advice.Alone = &t.Means[0]
	}
	return err
}

// print writes the advice, its reasons and the command that follows it.
func (a *adviseStudy) print(w io.Writer, s *subject, advice *study.Advice) error {
	t := newTable(false)
	t.row("dataset", s.spec)
	t.row("method", advice.Method)
	if samples := intList(advice.Samples); len(samples) > 0 {
		t.row("samples", samples.String())
	}
	if advice.ExactInput {
		t.row("input", "exact")
	}
	if err := t.print(w); err != nil {
		return err
	}
	if len(advice.Trials) > 0 {
		if err := a.printTrials(w, s, advice); err != nil {
			return err
		}
	}
	if advice.NeedsNoGCN() {
		err := printLine(w, "this graph may need no GCN: a perceptron on %s scores %.2f after as many mini-batches; see gcn study features --data %s", advice.Alone.Input, 100*advice.Alone.Valid, run.ShellWord(s.spec))
		if err != nil {
			return err
		}
	}
	if err := printLine(w, "because of the errors of one propagation, when all layers are sampled"); err != nil {
		return err
	}
	for _, reason := range advice.Reasons {
		if err := printLine(w, "  - %s", reason); err != nil {
			return err
		}
	}
	line := trainLine(s.spec, advice)
	if a.batch != 512 {
		line += fmt.Sprintf(" --batch %d", a.batch)
	}
	return printLine(w, "%s", line)
}

// printTrials writes the table of the trials.
func (a *adviseStudy) printTrials(w io.Writer, s *subject, advice *study.Advice) error {
	layers, hidden := len(advice.Layers), 256
	if err := printLine(w, "after %d mini-batches (score and loss in points of validation %s)", a.batches, s.data.Metric); err != nil {
		return err
	}
	t := newTable(true)
	t.row("method", "samples", "score", "loss", "operations a step", "memory", "")
	for _, trial := range advice.Trials {
		name, samples := trial.Method, intList(trial.Samples)
		if trial.ExactInput && !methodNamed(name).ExactInput {
			name += " --exact-input"
		}
		t.row(name, cmp.Or(samples.String(), "all"), fmt.Sprintf("%.2f", 100*trial.Score), fmt.Sprintf("%.2f", 100*trial.Loss),
			fmt.Sprintf("%.0f million", trial.Operations/1e6), fmt.Sprintf("%.1f MB", float64(trial.Memory)/1e6), "")
	}
	if err := t.print(w); err != nil {
		return err
	}
	if advice.Trials[0].Method != "full" {
		if err := printLine(w, "full batch is left out: its trial would take too long; the loss is from the best score"); err != nil {
			return err
		}
	}
	rolling := float64(study.RollingBytes(s.data.Laplacian(), layers, hidden)) / 1e6
	return printLine(w, "vrgcn and 'ladies-debiased?control=rolling' would keep histories of %.1f MB with --exact-input", rolling)
}

// trainLine returns the command that follows the advice.
func trainLine(spec string, advice *study.Advice) string {
	line := "gcn train --data " + run.ShellWord(spec) + " --method " + advice.Method
	samples := intList(advice.Samples)
	if len(samples) > 0 {
		line += " --samples " + samples.String()
	}
	exact := methodNamed(advice.Method).ExactInput
	if advice.ExactInput && !exact {
		line += " --exact-input"
	}
	if n := len(advice.Layers); len(samples) == 0 || (advice.ExactInput || exact) && n != 2 {
		line += fmt.Sprintf(" --layers %d", n)
	}
	return line
}
