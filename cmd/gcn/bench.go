package main

import (
	"time"

	"github.com/spf13/cobra"

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
	Methods methodNames `json:"methods" arg:"NAME,..." default:"fastgcn,ladies,ladies-flat,ladies-debiased,ladies-flat-debiased" help:"sampling methods"`
	Samples []int       `json:"samples" arg:"N,..." range:"[1," help:"nodes to draw, or neighbours per node; one row for each (default 512,1024, or 2)"`
	Batch   int         `json:"batch" default:"512" range:"[1," help:"training nodes per mini-batch"`
	Batches int         `json:"batches" default:"200" range:"[1," help:"mini-batches to measure"`
	Seed    uint64      `json:"seed" default:"1" help:"seed of all random decisions"`
	resultOptions
}

func newBenchSamplingCommand() *cobra.Command {
	b := new(samplingBench)
	return newCommand("sampling", b, func(cmd *cobra.Command) (any, error) {
		data, err := openData(cmd.Context(), b.Data)
		if err != nil {
			return nil, err
		}
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
		reports, err := bench.Sampling(cmd.Context(), all, data, b.Batch, b.Batches, b.Seed)
		for k, r := range reports {
			rows[k].SamplingReport = r
		}
		return map[string]any{"dataset": b.Data, "rows": rows}, err
	})
}

// sizes returns the sample sizes to measure a method at: the given ones, else the
// method's own or the paper's; a single 0 if the method has no sample size.
func (b *samplingBench) sizes(method string) []int {
	switch m, _ := run.ParseMethod(method); { // the flag has checked it
	case m.Sizes == "":
		return []int{0}
	case len(b.Samples) > 0:
		return b.Samples
	case len(m.Default) > 0:
		return m.Default[:1]
	}
	return []int{512, 1024}
}

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
	return newCommand("train", &o, func(cmd *cobra.Command) (any, error) {
		j, model, err := newModel(cmd, run.PaperMethod)
		if err != nil {
			return nil, err
		}
		report, err := bench.Step(cmd.Context(), model, j.data, bench.StepOptions{
			Batches: o.Batches, BatchSize: j.Batch, Workers: j.Workers, Seed: j.Seed, EdgeDropout: j.EdgeDropout,
		})
		return stepResult{j.Data, j.Method.String(), j.Samples, j.Batch, j.Hidden, j.Device, report}, err
	}, append(modelOptions, "Data and sampling", "batch", "workers")...)
}

// inferResult is the cost of inference over all nodes.
type inferResult struct {
	Dataset string `json:"dataset"`
	Layers  int    `json:"layers"`
	Hidden  int    `json:"hidden"`
	bench.InferReport
	Device string `json:"device"`
	measured
}

func newBenchInferCommand() *cobra.Command {
	var o struct {
		Repetitions int `json:"repetitions" default:"5" range:"[1," help:"times to measure"`
		resultOptions
	}
	return newCommand("infer", &o, func(cmd *cobra.Command) (any, error) {
		j, model, err := newModel(cmd, "full") // inference samples nothing
		if err != nil {
			return nil, err
		}
		start := time.Now()
		report, err := bench.Infer(cmd.Context(), model, j.data, o.Repetitions)
		return inferResult{j.Data, j.Layers, j.Hidden, report, j.Device, measure(start)}, err
	}, modelOptions...)
}

// modelOptions are the options of training that a benchmark of a model has.
var modelOptions = []string{"Model", "data", "seed", "device", "label-smoothing", "class-weights"}
