package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/bench"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/samplers"
)

// samplingRow is the cost of sampling one layer with one method.
type samplingRow struct {
	Method  string `json:"method"`
	Samples int    `json:"samples"` // 0 if the method has no sample size
	Batch   int    `json:"batch"`
	bench.SamplingReport
}

type samplingBench struct {
	data    string
	methods wordList
	samples intList
	batch   int
	batches int
	seed    uint64
	asJSON  bool
}

func newBenchSamplingCommand() *cobra.Command {
	b := &samplingBench{methods: wordList{"fastgcn", "ladies", "ladies-flat", "ladies-debiased", "ladies-flat-debiased"}}
	cmd := &cobra.Command{
		Use:   "sampling",
		Short: "Measure the time to sample one layer, on one goroutine",
		Long: `Measure the time to sample one layer, on one goroutine, for mini-batches of random
training nodes. It covers all work from the batch to the block with its transpose,
after some batches to warm up. The methods take turns of 20 batches.`,
		Example: `  gcn bench sampling --data synth:arxiv
  gcn bench sampling --data synth:arxiv --methods ladies,fastgcn --samples 256,512 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := b.check(); err != nil {
				return err
			}
			data, err := openData(cmd.Context(), b.data)
			if err != nil {
				return err
			}
			rows, err := b.run(cmd.Context(), data)
			if err != nil {
				return err
			}
			if b.asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"dataset": b.data, "rows": rows})
			}
			t, width := newTable(true), len(slices.MaxFunc(run.MethodNames(), func(a, b string) int { return len(a) - len(b) }))
			t.row(fmt.Sprintf("%-*s", width, "method"), "samples", "median ms", "mean ms", "sd ms", "nnz", "candidates", "allocs", "")
			for _, r := range rows {
				t.row(fmt.Sprintf("%-*s", width, r.Method), r.Samples, fmt.Sprintf("%.3f", r.MedianMS), fmt.Sprintf("%.3f", r.MeanMS), fmt.Sprintf("%.3f", r.SDMS),
					fmt.Sprintf("%.0f", r.NNZ), fmt.Sprintf("%.0f", r.Candidates), fmt.Sprintf("%.1f", r.Allocs), "")
			}
			return t.print(cmd.OutOrStdout())
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&b.data, "data", run.New().Data, "data `SPEC`; see gcn datasets list")
	fs.Var(&b.methods, "methods", "sampling methods")
	fs.Var(&b.samples, "samples", "nodes to draw, or neighbours per node; one row for each (default 512,1024, or 2)")
	fs.IntVar(&b.batch, "batch", 512, "training nodes per mini-batch")
	fs.IntVar(&b.batches, "batches", 200, "mini-batches to measure")
	fs.Uint64Var(&b.seed, "seed", 1, "seed of all random decisions")
	addJSONFlag(cmd, &b.asJSON)
	complete(cmd, "methods", run.MethodNames)
	complete(cmd, "data", dataSpecs)
	return cmd
}

func (b *samplingBench) check() error {
	for _, m := range b.methods {
		if err := checkMethod("methods", m); err != nil {
			return err
		}
	}
	if err := b.samples.check(); err != nil {
		return err
	}
	if err := atLeast("batch", b.batch, 1); err != nil {
		return err
	}
	return atLeast("batches", b.batches, 1)
}

func (b *samplingBench) run(ctx context.Context, data *datasets.Data) ([]samplingRow, error) {
	var all []samplers.Sampler
	var rows []samplingRow
	for _, method := range b.methods {
		for _, size := range b.sizes(method) {
			sampler, err := samplers.ByName(method, samplers.Config{
				Laplacian: data.Laplacian(), Train: data.Split.Train, Layers: 1, Sizes: []int{max(size, 1)},
			})
			if err != nil {
				return nil, err
			}
			all = append(all, sampler)
			rows = append(rows, samplingRow{Method: method, Samples: size, Batch: min(b.batch, len(data.Split.Train))})
		}
	}
	reports, err := bench.Sampling(ctx, all, data, b.batch, b.batches, b.seed)
	for k, r := range reports {
		rows[k].SamplingReport = r
	}
	return rows, err
}

// sizes returns the sample sizes to measure a method at: the given ones, else the
// method's own or the paper's; a single 0 if the method has no sample size.
func (b *samplingBench) sizes(method string) []int {
	switch m := methodNamed(method); {
	case m.Sizes == "":
		return []int{0}
	case len(b.samples) > 0:
		return b.samples
	case len(m.Default) > 0:
		return m.Default[:1]
	}
	return []int{512, 1024}
}
