package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// adviseStudy are the options of "gcn study advise".
type adviseStudy struct {
	Run        string  `json:"run" arg:"DIR" help:"folder DIR of a training run, for its data and trained weights"`
	Layers     int     `json:"layers" default:"2" range:"[1,1000]" help:"graph convolutions (with --run: the model's)"`
	Batch      int     `json:"batch" default:"1024" range:"[1," help:"training nodes per mini-batch"`
	Target     float64 `json:"target" default:"1" range:"(0," help:"target of the error over the signal; 1 mostly trains about as well as no sampling"`
	MaxSamples int     `json:"max_samples" default:"8192" range:"[1," help:"largest sample size to consider"`
	Batches    int     `json:"batches" default:"200" range:"[0," help:"mini-batches that each candidate is trained for; 0: none"`
	Seed       uint64  `json:"seed" default:"1" help:"seed of all random decisions"`
	resultOptions
}

func newStudyAdviseCommand() *cobra.Command {
	a := new(adviseStudy)
	return newCommand("advise [SPEC]", a, func(cmd *cobra.Command) (any, error) {
		ctx, about := cmd.Context(), subjectOptions{Data: cmd.Flags().Arg(0), Run: a.Run}
		s, err := about.open(ctx)
		if err != nil {
			return nil, err
		}
		what := study.Advise{Layers: a.Layers, Batch: a.Batch, Target: a.Target, Most: a.MaxSamples, Seed: a.Seed}
		if s.model != nil {
			what.Layers = len(s.model.Convolutions)
			what.Products, err = study.Products(ctx, s.model, s.data.Laplacian(), s.data.Features)
		}
		if err != nil {
			return nil, err
		}
		trials := study.Trials{Layers: what.Layers, Batches: a.Batches, Progress: everySeconds(cmd.ErrOrStderr(), "mini-batches of the trials")}
		advice, err := run.Advice(ctx, s.data, what, trials, false)
		if err == nil && len(advice.Trials) > 0 {
			err = a.alone(ctx, s.data, advice)
		}
		return worded{struct {
			Dataset string `json:"dataset"`
			Weights string `json:"weights"`
			*study.Advice
		}{s.spec, s.weights, advice}, func(w io.Writer) { a.print(w, s, advice) }}, err
	})
}

// alone trains a perceptron on [X, …, P^k·X] as long as the candidates, unless its features would
// take more than a gigabyte.
func (a *adviseStudy) alone(ctx context.Context, data *datasets.Data, advice *study.Advice) error {
	layers := len(advice.Layers)
	if memory.Product(4, int64(layers+1), int64(data.Nodes()), int64(data.Features.Cols)) > 1<<30 {
		return nil
	}
	o := train.Options{Batch: a.Batch, MaxBatches: a.Batches, EvalEvery: a.Batches, Seed: a.Seed}
	t, err := study.FeaturesAlone{Data: data, Hops: []int{layers}, Options: o}.Run(ctx)
	if err == nil {
		advice.Alone = &t.Means[0]
	}
	return err
}

// print writes the trials, the reasons and the command that follows the advice.
func (a *adviseStudy) print(w io.Writer, s *subject, advice *study.Advice) {
	if len(advice.Trials) > 0 {
		say(w, "after %d mini-batches, with scores and losses of validation %s:", a.Batches, s.data.Metric)
		var trials []any
		for _, t := range advice.Trials {
			trials = append(trials, struct {
				study.Trial
				Memory string `json:"memory"`
			}{t, memory.Text(uint64(t.Memory))})
		}
		_ = printText(w, map[string]any{"trials": trials}) // the stream keeps its error
	}
	if advice.NeedsNoGCN() {
		say(w, "this graph may need no GCN: a perceptron on %s scores %.4f after as many mini-batches; see gcn study features --data %s", advice.Alone.Input, advice.Alone.Valid, run.ShellWord(s.spec))
	}
	say(w, "the method is %s, because of the errors of one propagation, when all layers are sampled", advice.Method)
	for _, reason := range advice.Reasons {
		say(w, "  - %s", reason)
	}
	line := fmt.Sprintf("gcn train --data %s --method %s --layers %d --batch %d", run.ShellWord(s.spec), advice.Method, len(advice.Layers), a.Batch)
	if samples := run.Sizes(advice.Samples); len(samples) > 0 {
		line += " --samples " + samples.String()
	}
	if advice.ExactInput {
		line += " --exact-input"
	}
	say(w, "%s", line)
}
