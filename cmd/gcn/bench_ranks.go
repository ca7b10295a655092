package main

import (
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/internal/bench"
)

// ranksResult is the cost of training on several ranks, measured and predicted.
type ranksResult struct {
	Dataset   string                 `json:"dataset"`
	Method    string                 `json:"method"`
	Samples   intList                `json:"samples"`
	Batch     int                    `json:"batch"`
	Hidden    int                    `json:"hidden"`
	EvalEvery int                    `json:"eval_every"`
	For       bench.Network          `json:"for"` // the network of the predictions
	Predicted []bench.RankPrediction `json:"predicted"`
	Here      *bench.RankPrediction  `json:"predicted_here,omitempty"` // for these ranks and their network
	bench.RanksReport
	BLAS string `json:"blas"`
}

// ranksBench is one execution of "gcn bench ranks".
type ranksBench struct {
	trainOptions
	updates, evalEvery int
	ranks              intList
	latency            time.Duration
	gigabits           float64
	asJSON             bool
}

func newBenchRanksCommand() *cobra.Command {
	b := &ranksBench{ranks: intList{1, 2, 4, 8, 16, 32, 64}}
	cmd := &cobra.Command{
		Use:   "ranks",
		Short: "Measure the parts of an update, and predict the speed-up of several ranks",
		Long: `Measure the time of a mini-batch, of the optimiser and of an evaluation, and the bytes
that ranks exchange, and predict from them the speed-up of several machines. The
network of the prediction is assumed: --latency and --gigabits. The prediction is a
model: each rank has its own cores and its own link, and all are equally fast.

Under an MPI launcher the ranks also train together, and exchange messages. The
measured speed-up is then shown beside the model's for the measured network.`,
		Example: `  gcn bench ranks --data synth:arxiv --micro 8
  mpirun -n 2 gcn bench ranks --data synth:arxiv --micro 8
  gcn bench ranks --data synth:products --micro 32 --eval-every 100 --latency 50us --gigabits 25`,
		Args:        noArguments,
		Annotations: shared(),
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	benchModelFlags(fs, &b.trainOptions)
	fs.IntVar(&b.Batch, "batch", 512, "training nodes per mini-batch")
	fs.IntVar(&b.Micro, "micro", 8, "mini-batches of an update")
	fs.IntVar(&b.updates, "updates", 20, "updates to time; three times, and the median counts")
	fs.IntVar(&b.evalEvery, "eval-every", 10, "updates between two validation scores, for the prediction")
	fs.Var(&b.ranks, "ranks", "numbers of ranks to predict")
	fs.DurationVar(&b.latency, "latency", 20*time.Microsecond, "assumed latency of the network, for the prediction")
	fs.Float64Var(&b.gigabits, "gigabits", 10, "assumed bandwidth of the network in Gb/s, for the prediction")
	addJSONFlag(cmd, &b.asJSON)
	complete(cmd, "method", methodNames)
	complete(cmd, "data", dataSpecs)
	cmd.RunE = checked(b.checkRanks, b.do)
	return cmd
}

func (b *ranksBench) checkRanks() error {
	for _, c := range []struct {
		name  string
		value int
	}{{"micro", b.Micro}, {"updates", b.updates}, {"eval-every", b.evalEvery}} {
		if err := atLeast(c.name, c.value, 1); err != nil {
			return err
		}
	}
	for _, k := range b.ranks {
		if err := atLeast("ranks", k, 1); err != nil {
			return err
		}
	}
	switch {
	case b.Micro == 1:
		return usagef("--micro 1: an update of one mini-batch cannot be shared: want at least 2")
	case b.latency < 0:
		return usagef("--latency %v: want at least 0", b.latency)
	case !(b.gigabits > 0) || math.IsInf(b.gigabits, 0):
		return usagef("--gigabits %v: want a positive number", b.gigabits)
	}
	return nil
}

// messageUS is the assumed time of the library for a message. Open MPI and MPICH take one
// to two microseconds.
const messageUS = 2

func (b *ranksBench) do(cmd *cobra.Command, _ []string) error {
	data, model, err := b.benchModel(cmd)
	if err != nil {
		return err
	}
	options := bench.RanksOptions{Micro: b.Micro, Updates: b.updates, Batch: b.Batch, Seed: b.Seed}
	if w := worldOf(cmd.Context()); w != nil {
		options.Group = w
	}
	report, err := bench.Ranks(cmd.Context(), model, data, options)
	if err != nil {
		return err
	}
	r := ranksResult{
		Dataset: b.Data, Method: b.methodName(), Samples: b.Samples, Batch: b.Batch, Hidden: b.Hidden, EvalEvery: b.evalEvery,
		For:         bench.Network{LatencyUS: float64(b.latency) / float64(time.Microsecond), MBPerS: b.gigabits * 1e3 / 8, MessageUS: messageUS},
		RanksReport: report, BLAS: blasName(),
	}
	r.Predicted = report.Predict(r.For, b.Micro, b.evalEvery, b.ranks)
	if report.Network != nil {
		r.Here = &report.Predict(*report.Network, b.Micro, b.evalEvery, []int{report.Ranks})[0]
	}
	if b.asJSON {
		return printJSON(cmd.OutOrStdout(), r)
	}
	return r.print(cmd)
}

func (r *ranksResult) print(cmd *cobra.Command) error {
	w := cmd.OutOrStdout()
	t := newTable(false)
	t.row("dataset", r.Dataset)
	t.row("method", methodText(r.Method, r.Samples))
	t.row("update", fmt.Sprintf("%.2f ms for %d mini-batches: %.3f ms each, and %.3f ms for the optimiser", r.AloneMS, r.Micro, r.BatchMS, r.UpdateMS))
	t.row("evaluation", fmt.Sprintf("%.1f ms", r.EvalMS))
	t.row("sent", fmt.Sprintf("%.3f MB of gradients an update, twice; %.1f MB an evaluation; times (K-1)/K", float64(r.GradientBytes)/1e6, float64(r.EvalBytes)/1e6))
	if r.Here != nil {
		t.row("ranks", fmt.Sprintf("%d here; an exchange takes %.0f µs, and %.0f MB/s", r.Ranks, r.Network.LatencyUS, r.Network.MBPerS))
		t.row("update, shared", fmt.Sprintf("%.2f ms, of which %.2f ms communication, imbalance %.2f: speed-up %.2f, by the model %.2f",
			r.SharedMS, r.CommMS, r.Imbalance, r.AloneMS/r.SharedMS, r.Here.Updates))
		t.row("evaluation, shared", fmt.Sprintf("%.1f ms: speed-up %.2f, by the model %.2f", r.SharedEvalMS, r.EvalMS/r.SharedEvalMS, r.EvalMS/r.Here.EvalMS))
	}
	t.row("BLAS", r.BLAS)
	if err := t.print(w); err != nil {
		return err
	}
	if err := printLine(w, "by the model, with an assumed network of %.0f µs and %.0f MB/s, and an evaluation every %d updates:", r.For.LatencyUS, r.For.MBPerS, r.EvalEvery); err != nil {
		return err
	}
	t = newTable(true)
	t.row("ranks", "ms an update", "communication", "updates a second", "with evaluations", fmt.Sprintf("%d mini-batches a rank", r.Micro), "")
	for _, p := range r.Predicted {
		if p.UpdateMS == 0 { // more ranks than mini-batches
			t.row(p.Ranks, "–", "–", "–", "–", fmt.Sprintf("%.0f %%", 100*p.Weak), "")
			continue
		}
		t.row(p.Ranks, fmt.Sprintf("%.2f", p.UpdateMS), fmt.Sprintf("%.0f %%", 100*p.CommMS/p.UpdateMS), fmt.Sprintf("× %.2f", p.Updates),
			fmt.Sprintf("× %.2f", p.SpeedUp), fmt.Sprintf("%.0f %%", 100*p.Weak), "")
	}
	return t.print(w)
}
