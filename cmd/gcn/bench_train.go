package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/bench"
	"github.com/gcn-layerwise/gcn/layers"
)

// stepResult is the cost of a training step.
type stepResult struct {
	Dataset string  `json:"dataset"`
	Method  string  `json:"method"`
	Samples intList `json:"samples"`
	Batch   int     `json:"batch"`
	Hidden  int     `json:"hidden"`
	Device  string  `json:"device"`
	bench.StepReport
}

func newBenchTrainCommand() *cobra.Command {
	var o trainOptions
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
	fs.StringVar(&o.Data, "data", defaultData, "data `SPEC`; see gcn datasets list")
	o.samplingOptions.flags(fs, paperMethod)
	o.modelFlags(fs)
	fs.Uint64Var(&o.Seed, "seed", 1, "seed of all random decisions")
	fs.StringVar(&o.Device, "device", "cpu", "cpu, or cuda in a build with CUDA")
	fs.IntVar(&o.Batch, "batch", 512, "training nodes per mini-batch")
	fs.IntVar(&batches, "batches", 150, "mini-batches; the first and last 20 do not count")
	fs.IntVar(&o.Workers, "workers", 0, "goroutines that sample ahead, for the pipelined measurement; 0: one per core")
	addJSONFlag(cmd, &asJSON)
	complete(cmd, "method", methodNames)
	complete(cmd, "data", dataSpecs)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cmp.Or(atLeast("batches", batches, 41), atLeast("workers", o.Workers, 0)); err != nil {
			return err
		}
		data, model, err := o.benchModel(cmd)
		if err != nil {
			return err
		}
		report, err := bench.Step(cmd.Context(), model, data, bench.StepOptions{
			Batches: batches, BatchSize: o.Batch, Workers: o.Workers, Seed: o.Seed,
		})
		if err != nil {
			return err
		}
		r := stepResult{o.Data, o.methodName(), o.Samples, o.Batch, o.Hidden, o.Device, report}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), r)
		}
		t := newTable(false)
		t.row("dataset", r.Dataset)
		t.row("method", methodText(r.Method, r.Samples))
		t.row("training step", fmt.Sprintf("%.3f ms median, %.3f mean, %.3f sd", r.MedianMS, r.MeanMS, r.SDMS))
		t.row("floor", fmt.Sprintf("%.3f ms for its dense products alone; the step takes %.2f times as long", r.FloorMS, r.RatioToFloor))
		t.row("sampling", fmt.Sprintf("%.3f ms median, on one goroutine", r.SamplingMedianMS))
		t.row("pipelined", fmt.Sprintf("%.3f ms a batch, sampling included", r.PipelinedMS))
		t.row("allocated", fmt.Sprintf("%.0f bytes a step", r.BytesPerStep))
		if o.device != nil {
			t.row("device", fmt.Sprintf("%s; a step: %.1f kernels and %.1f products queued, %.1f copies, %.2f waits; %.0f MB",
				o.device.Name(), r.Launches, r.Products, r.Copies, r.Syncs, float64(r.DeviceBytes)/1e6))
		}
		t.row("BLAS", fmt.Sprintf("%s, %d threads", r.BLAS, r.Threads))
		return t.print(cmd.OutOrStdout())
	}
	return cmd
}

// benchModel checks the options, opens the data and builds the model.
func (o *trainOptions) benchModel(cmd *cobra.Command) (*datasets.Data, *layers.GCN, error) {
	if cmd.Flags().Lookup("batch") != nil {
		if err := atLeast("batch", o.Batch, 1); err != nil {
			return nil, nil, err
		}
	}
	if err := cmp.Or(o.checkModel(cmd.Flags()), o.checkHalf()); err != nil {
		return nil, nil, err
	}
	data, err := openData(cmd.Context(), o.Data)
	if err != nil {
		return nil, nil, err
	}
	model, err := o.newModel(cmd.Context(), data)
	return data, model, err
}
