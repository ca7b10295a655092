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
	Data    string      `json:"data" default:"synth:demo" arg:"SPEC" help:"data SPEC; see gcn datasets list"`
	Methods methodNames `json:"methods" default:"fastgcn,ladies,ladies-flat,ladies-debiased,ladies-flat-debiased" help:"sampling methods"`
	Samples []int       `json:"samples" range:"[1," help:"nodes to draw, or neighbours per node; one row for each (default 512,1024, or 2)"`
	Batch   int         `json:"batch" default:"512" range:"[1," help:"training nodes per mini-batch"`
	Batches int         `json:"batches" default:"200" range:"[1," help:"mini-batches to measure"`
	Seed    uint64      `json:"seed" default:"1" help:"seed of all random decisions"`
	resultOptions
}

func newBenchSamplingCommand() *cobra.Command {
	b := new(samplingBench)
	return newCommand(&cobra.Command{
		Use: "sampling",
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, err := openData(cmd.Context(), b.Data)
			if err != nil {
				return err
			}
			rows, err := b.run(cmd.Context(), data)
			if err != nil {
				return err
			}
			t, width := newTable(true), len(slices.MaxFunc(run.MethodNames(), func(a, b string) int { return len(a) - len(b) }))
			t.row(fmt.Sprintf("%-*s", width, "method"), "samples", "median ms", "mean ms", "sd ms", "nnz", "candidates", "allocs", "")
			for _, r := range rows {
				t.row(fmt.Sprintf("%-*s", width, r.Method), r.Samples, fmt.Sprintf("%.3f", r.MedianMS), fmt.Sprintf("%.3f", r.MeanMS), fmt.Sprintf("%.3f", r.SDMS),
					fmt.Sprintf("%.0f", r.NNZ), fmt.Sprintf("%.0f", r.Candidates), fmt.Sprintf("%.1f", r.Allocs), "")
			}
			return result(cmd, map[string]any{"dataset": b.Data, "rows": rows}, t.print)
		},
	}, b)
}

func (b *samplingBench) run(ctx context.Context, data *datasets.Data) ([]samplingRow, error) {
	var all []samplers.Sampler
	var rows []samplingRow
	for _, method := range b.Methods {
		for _, size := range b.sizes(method) {
			sampler, err := samplers.ByName(method, samplers.Config{
				Laplacian: data.Laplacian(), Train: data.Split.Train, Layers: 1, Sizes: []int{max(size, 1)},
			})
			if err != nil {
				return nil, err
			}
			all = append(all, sampler)
			rows = append(rows, samplingRow{Method: method, Samples: size, Batch: min(b.Batch, len(data.Split.Train))})
		}
	}
	reports, err := bench.Sampling(ctx, all, data, b.Batch, b.Batches, b.Seed)
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
	case len(b.Samples) > 0:
		return b.Samples
	case len(m.Default) > 0:
		return m.Default[:1]
	}
	return []int{512, 1024}
}
