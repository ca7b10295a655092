package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/internal/bench"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/run"
)

// inferResult is the cost of inference over all nodes.
type inferResult struct {
	Dataset string `json:"dataset"`
	Layers  int    `json:"layers"`
	Hidden  int    `json:"hidden"`
	bench.InferReport
	Device  string `json:"device"`
	PeakRSS number `json:"peak_rss_mb"` // of the whole process, the data included
	BLAS    string `json:"blas"`
}

func newBenchInferCommand() *cobra.Command {
	var s run.Settings
	var repetitions int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "infer",
		Short: "Measure full-neighbour inference over all nodes",
		Example: `  gcn bench infer --data synth:arxiv
  gcn bench infer --data synth:arxiv --layers 3 --json`,
		Args: noArguments,
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	run.AddFlags(fs, &s, benchFlags()...)
	fs.IntVar(&repetitions, "repetitions", 5, "times to measure")
	addJSONFlag(cmd, &asJSON)
	complete(cmd, "data", dataSpecs)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := atLeast("repetitions", repetitions, 1); err != nil {
			return err
		}
		o, data, model, err := benchModel(cmd, "full") // inference samples nothing
		if err != nil {
			return err
		}
		report, err := bench.Infer(cmd.Context(), model, data, repetitions)
		if err != nil {
			return err
		}
		r := inferResult{o.Data, o.Layers, o.Hidden, report, o.Device, finite.Measured(machine.PeakRSS()), machine.BLAS()}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), r)
		}
		t := newTable(false)
		t.row("dataset", r.Dataset)
		t.row("inference", fmt.Sprintf("%.1f ms for %s nodes, median of %d; %s nodes a second; the first call %.1f ms", r.MS,
			thousands(int64(r.Nodes)), r.Repetitions, thousands(int64(r.NodesPerS)), r.FirstMS))
		t.row("memory", fmt.Sprintf("%.0f MB of heap above the data; %.0f MB resident at most", r.HeapMB, r.PeakRSS))
		t.row("BLAS", r.BLAS)
		return t.print(cmd.OutOrStdout())
	}
	return cmd
}
