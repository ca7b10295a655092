package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/bench"
	"github.com/gcn-layerwise/gcn/layers"
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
	var s run.Settings
	var batches int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Measure a training step beside its dense products alone",
		Long: `Measure a training step: forward, backward and the optimiser, without sampling. As
in the paper, the first and last 20 batches do not count. The floor is the time of
the step's dense products alone, with the same BLAS in the same process.`,
		Example: `  gcn bench train --data synth:arxiv --samples 512,512
  gcn bench train --data synth:arxiv --method ladies --samples 512,1024 --batches 300 --json`,
		Args: noArguments,
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	run.AddFlags(fs, &s, slices.Concat(benchFlags(), run.FlagsOf("Data and sampling"), []string{"batch", "workers"})...)
	fs.IntVar(&batches, "batches", 150, "mini-batches; the first and last 20 do not count")
	addJSONFlag(cmd, &asJSON)
	complete(cmd, "method", run.MethodNames)
	complete(cmd, "data", dataSpecs)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := atLeast("batches", batches, 41); err != nil {
			return err
		}
		o, data, model, err := benchModel(cmd, run.PaperMethod)
		if err != nil {
			return err
		}
		report, err := bench.Step(cmd.Context(), model, data, bench.StepOptions{
			Batches: batches, BatchSize: o.Batch, Workers: o.Workers, Seed: o.Seed,
		})
		if err != nil {
			return err
		}
		r := stepResult{o.Data, o.Method.String(), o.Samples, o.Batch, o.Hidden, o.Device, report}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), r)
		}
		t := newTable(false)
		t.row("dataset", r.Dataset)
		t.row("method", run.MethodText(r.Method, r.Samples))
		t.row("training step", fmt.Sprintf("%.3f ms median, %.3f mean, %.3f sd", r.MedianMS, r.MeanMS, r.SDMS))
		t.row("floor", fmt.Sprintf("%.3f ms for its dense products alone; the step takes %.2f times as long", r.FloorMS, r.RatioToFloor))
		t.row("sampling", fmt.Sprintf("%.3f ms median, on one goroutine", r.SamplingMedianMS))
		t.row("pipelined", fmt.Sprintf("%.3f ms a batch, sampling included", r.PipelinedMS))
		t.row("allocated", fmt.Sprintf("%.0f bytes a step", r.BytesPerStep))
		if o.GPU != nil {
			t.row("device", fmt.Sprintf("%s; a step: %.1f kernels and %.1f products queued, %.1f copies, %.2f waits; %.0f MB",
				o.GPU.Name(), r.Launches, r.Products, r.Copies, r.Syncs, float64(r.DeviceBytes)/1e6))
		}
		t.row("BLAS", fmt.Sprintf("%s, %d threads", r.BLAS, r.Threads))
		return t.print(cmd.OutOrStdout())
	}
	return cmd
}

// benchFlags are the flags of training that a benchmark of a model has.
func benchFlags() []string {
	return append(run.FlagsOf("Model"), "data", "seed", "device", "label-inputs", "label-smoothing", "class-weights")
}

// benchModel checks the options, opens the data and builds the model, with a method of its own
// if none is given.
func benchModel(cmd *cobra.Command, method string) (*run.Plan, *datasets.Data, *layers.GCN, error) {
	values := append([]run.Value{{Option: "method", Text: method}}, run.Values(cmd.Flags())...)
	s, err := run.Load(nil, nil, nil, values)
	if err != nil {
		return nil, nil, nil, err
	}
	if s.Samples.Auto() {
		return nil, nil, nil, usagef("--samples auto is for gcn train")
	}
	p, err := s.Plan()
	if err != nil {
		return nil, nil, nil, err
	}
	if err := p.Open(); err != nil {
		return nil, nil, nil, err
	}
	data, err := openData(cmd.Context(), p.Data)
	if err != nil {
		return nil, nil, nil, err
	}
	model, err := p.NewModel(cmd.Context(), data)
	return p, data, model, err
}
