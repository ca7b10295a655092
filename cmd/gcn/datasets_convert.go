package main

import (
	"cmp"
	"context"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/finite"
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
	return newCommand("convert SPEC FILE", &o, func(cmd *cobra.Command) (any, error) {
		start, args, to := time.Now(), cmd.Flags().Args(), jobOf(cmd.Context()).data
		to.Half, to.Propagated, to.Memory, to.Scratch = o.Features != "", o.Propagated, int64(o.Memory), o.Scratch
		defer limit(o.Memory)()
		spec, err := datasets.Convert(cmd.Context(), args[0], args[1], to)
		if err != nil {
			return nil, err
		}
		return openConverted(cmd.Context(), args[0], spec, start)
	})
}

// limit makes the garbage collector keep to the memory of --memory, until the returned
// function is called.
func limit(memory run.Bytes) (restore func()) {
	before := debug.SetMemoryLimit(cmp.Or(int64(memory), -1)) // −1 changes nothing
	return func() { debug.SetMemoryLimit(before) }
}

// openConverted opens the data set that was written since start, and describes it.
func openConverted(ctx context.Context, from, spec string, start time.Time) (any, error) {
	written := time.Now()
	data, err := datasets.Open(ctx, spec, jobOf(ctx).data)
	if err != nil {
		return nil, err
	}
	defer data.Close() // it was only read
	return conversion{
		Spec: spec, From: from, Nodes: data.Nodes(), Edges: data.Edges(),
		WallS:     finite.Measured(written.Sub(start).Seconds()),
		OpenMS:    finite.Measured(time.Since(written).Seconds() * 1e3),
		PeakRSSMB: measure(start).PeakRSS,
	}, nil
}

func newDatasetsFetchCommand() *cobra.Command {
	cmd := newCommand("fetch NAME", new(resultOptions), func(cmd *cobra.Command) (any, error) {
		start, name := time.Now(), cmd.Flags().Arg(0)
		path, err := datasets.Fetch(cmd.Context(), name, jobOf(cmd.Context()).data)
		if err != nil {
			return nil, err
		}
		say(cmd.ErrOrStderr(), "%s: %s", name, path)
		return openConverted(cmd.Context(), name, name, start)
	})
	cmd.ValidArgs = datasets.Names()
	return cmd
}
