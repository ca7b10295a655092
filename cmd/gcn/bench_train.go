package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/internal/bench"
	"github.com/gcn-layerwise/gcn/run"
)

// stepResult is the cost of a training step.
type stepResult struct {
	Dataset string    `json:"dataset"`
	Method  string    `json:"method"`
	Samples run.Sizes `json:"samples"`
	Batch   int       `json:"batch"`
	Hidden  int       `json:"hidden"`
	Device  string    `json:"device"`
	bench.StepReport
}

func newBenchTrainCommand() *cobra.Command {
	var o struct {
		Batches int `json:"batches" default:"150" range:"[41," help:"mini-batches; the first and last 20 do not count"`
		resultOptions
	}
	cmd := &cobra.Command{
		Use: "train",
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, data, model, err := benchModel(cmd, run.PaperMethod)
			if err != nil {
				return err
			}
			report, err := bench.Step(cmd.Context(), model, data, bench.StepOptions{
				Batches: o.Batches, BatchSize: p.Batch, Workers: p.Workers, Seed: p.Seed,
			})
			if err != nil {
				return err
			}
			r := stepResult{p.Data, p.Method.String(), p.Samples, p.Batch, p.Hidden, p.Device, report}
			t := newTable(false)
			t.row("dataset", r.Dataset)
			t.row("method", run.MethodText(r.Method, r.Samples))
			t.row("training step", fmt.Sprintf("%.3f ms median, %.3f mean, %.3f sd", r.MedianMS, r.MeanMS, r.SDMS))
			t.row("floor", fmt.Sprintf("%.3f ms for its dense products alone; the step takes %.2f times as long", r.FloorMS, r.RatioToFloor))
			t.row("sampling", fmt.Sprintf("%.3f ms median, on one goroutine", r.SamplingMedianMS))
			t.row("pipelined", fmt.Sprintf("%.3f ms a batch, sampling included", r.PipelinedMS))
			t.row("allocated", fmt.Sprintf("%.0f bytes a step", r.BytesPerStep))
			if p.GPU != nil {
				t.row("device", fmt.Sprintf("%s; a step: %.1f kernels and %.1f products queued, %.1f copies, %.2f waits; %.0f MB",
					p.GPU.Name(), r.Launches, r.Products, r.Copies, r.Syncs, float64(r.DeviceBytes)/1e6))
			}
			t.row("BLAS", fmt.Sprintf("%s, %d threads", r.BLAS, r.Threads))
			return result(cmd, r, t.print)
		},
	}
	addFlags(cmd, new(run.Settings), benchFlags("Data and sampling", "batch", "workers")...)
	return newCommand(cmd, &o)
}
