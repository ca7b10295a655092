package main

import (
	"cmp"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/run"
)

// conversion is the result that gcn datasets convert and fetch print.
type conversion struct {
	Spec      string `json:"spec"` // of the written data set
	From      string `json:"from"`
	Nodes     int    `json:"nodes"`
	Edges     int64  `json:"edges"`
	WallS     number `json:"wall_s"`
	OpenMS    number `json:"open_ms"`
	PeakRSSMB number `json:"peak_rss_mb"`
}

func newDatasetsConvertCommand() *cobra.Command {
	var o struct {
		Features   string    `json:"features" arg:"PRECISION" choice:"float16" help:"PRECISION of the features in the store: float16 (default: unchanged)"`
		Propagated bool      `json:"propagated" help:"write the features after one propagation too, for --exact-input"`
		Memory     run.Bytes `json:"memory" arg:"8GiB" help:"memory of a conversion that does not hold the data in memory, and of P·X, such as 8GiB; mapped files do not count (default: half of the memory, at most 8GiB)"`
		Scratch    string    `json:"scratch" arg:"DIR" help:"DIR of its temporary files (default: beside the store)"`
		resultOptions
	}
	return newCommand(&cobra.Command{
		Use:  "convert SPEC FILE",
		Args: between(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkSpec(args[0]); err != nil {
				return err
			}
			start, to := time.Now(), dataOptions(cmd.Context())
			to.Half, to.Propagated, to.Memory, to.Scratch = o.Features != "", o.Propagated, int64(o.Memory), o.Scratch
			defer limit(o.Memory)()
			spec, err := datasets.Convert(cmd.Context(), args[0], args[1], to)
			if err != nil {
				return err
			}
			return printConversion(cmd, args[0], spec, start)
		},
	}, &o)
}

// limit makes the garbage collector keep to the memory of --memory, until the returned
// function is called.
func limit(memory run.Bytes) (restore func()) {
	before := debug.SetMemoryLimit(cmp.Or(int64(memory), -1)) // −1 changes nothing
	return func() { debug.SetMemoryLimit(before) }
}

// printConversion opens the data set that was written since start, and describes it.
func printConversion(cmd *cobra.Command, from, spec string, start time.Time) error {
	took := time.Since(start)
	start = time.Now()
	data, err := datasets.Open(cmd.Context(), spec, dataOptions(cmd.Context()))
	if err != nil {
		return err
	}
	defer data.Close() // it was only read
	return result(cmd, conversion{
		Spec: spec, From: from, Nodes: data.Nodes(), Edges: data.Edges(),
		WallS: finite.Measured(took.Seconds()), OpenMS: finite.Measured(time.Since(start).Seconds() * 1e3), PeakRSSMB: finite.Measured(machine.PeakRSS()),
	}, nil)
}

func newDatasetsFetchCommand() *cobra.Command {
	return newCommand(&cobra.Command{
		Use:       "fetch NAME",
		Args:      oneArgument("datasets fetch needs one NAME", datasets.Names()),
		ValidArgs: datasets.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			start := time.Now()
			path, err := datasets.Fetch(cmd.Context(), args[0], dataOptions(cmd.Context()))
			if err != nil {
				return err
			}
			say(cmd.ErrOrStderr(), "%s: %s", args[0], path)
			return printConversion(cmd, args[0], args[0], start)
		},
	}, new(resultOptions))
}
