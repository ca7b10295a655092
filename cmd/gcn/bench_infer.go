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
	var o struct {
		Repetitions int `json:"repetitions" default:"5" range:"[1," help:"times to measure"`
		resultOptions
	}
	cmd := &cobra.Command{
		Use: "infer",
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, data, model, err := benchModel(cmd, "full") // inference samples nothing
			if err != nil {
				return err
			}
			report, err := bench.Infer(cmd.Context(), model, data, o.Repetitions)
			if err != nil {
				return err
			}
			r := inferResult{p.Data, p.Layers, p.Hidden, report, p.Device, finite.Measured(machine.PeakRSS()), machine.BLAS()}
			t := newTable(false)
			t.row("dataset", r.Dataset)
			t.row("inference", fmt.Sprintf("%.1f ms for %s nodes, median of %d; %s nodes a second; the first call %.1f ms", r.MS,
				thousands(int64(r.Nodes)), r.Repetitions, thousands(int64(r.NodesPerS)), r.FirstMS))
			t.row("memory", fmt.Sprintf("%.0f MB of heap above the data; %.0f MB resident at most", r.HeapMB, r.PeakRSS))
			t.row("BLAS", r.BLAS)
			return result(cmd, r, t.print)
		},
	}
	addFlags(cmd, new(run.Settings), benchFlags()...)
	return newCommand(cmd, &o)
}
