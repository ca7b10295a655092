package main

import (
	"cmp"
	"context"
	"io"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/run"
)

func newDatasetsListCommand() *cobra.Command {
	return newCommand("list", new(resultOptions), func(*cobra.Command) (any, error) {
		entries := datasets.List()
		return worded{map[string]any{"datasets": entries}, func(w io.Writer) {
			var t table
			for k, e := range entries {
				t.row(e.Spec, e.Summary)
				// The data sets from one source have the same keys.
				if last := k == len(entries)-1 || entries[k+1].Keys != e.Keys; last && e.Keys != "" {
					t.row("", "?key=value&…: "+e.Keys)
				}
			}
			t.print(w)
			say(w, "keys are for the data sets above them; docs/data.md explains them, and gcn datasets info SPEC says how files were read")
		}}, nil
	})
}

func newDatasetsInfoCommand() *cobra.Command {
	return newCommand("info SPEC", new(resultOptions), func(cmd *cobra.Command) (any, error) {
		options := jobOf(cmd.Context()).data
		options.Unlabelled = true
		data, err := datasets.Open(cmd.Context(), cmd.Flags().Arg(0), options)
		if err != nil {
			return nil, err
		}
		info := datasets.Describe(data)
		return worded{info, func(w io.Writer) {
			notes := info.Preprocessing
			info.ClassNames, info.Preprocessing = nil, nil // the notes name the classes
			_ = printText(w, info)                         // the stream keeps its error
			for _, note := range notes {
				say(w, "note: %s", note)
			}
		}}, nil
	})
}

func newDatasetsVerifyCommand() *cobra.Command {
	return newCommand("verify SPEC", new(resultOptions), func(cmd *cobra.Command) (any, error) {
		start, spec, options := time.Now(), cmd.Flags().Arg(0), jobOf(cmd.Context()).data
		options.Verify = true
		data, err := datasets.Open(cmd.Context(), spec, options)
		if err != nil {
			return nil, err
		}
		defer data.Close() // it was only read
		return map[string]any{"spec": spec, "valid": true, "wall_s": measure(start).WallS}, nil
	})
}

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
		ctx, start, args := cmd.Context(), time.Now(), cmd.Flags().Args()
		to := jobOf(ctx).data
		to.Half, to.Propagated, to.Memory, to.Scratch = o.Features != "", o.Propagated, int64(o.Memory), o.Scratch
		defer limit(o.Memory)()
		spec, err := datasets.Convert(ctx, args[0], args[1], to)
		if err != nil {
			return nil, err
		}
		return openConverted(ctx, args[0], spec, start)
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
		ctx, start, name := cmd.Context(), time.Now(), cmd.Flags().Arg(0)
		path, err := datasets.Fetch(ctx, name, jobOf(ctx).data)
		if err != nil {
			return nil, err
		}
		say(cmd.ErrOrStderr(), "%s: %s", name, path)
		return openConverted(ctx, name, name, start)
	})
	cmd.ValidArgs = datasets.Names()
	return cmd
}

// openData opens the data set that --data names.
func openData(ctx context.Context, spec string) (*datasets.Data, error) {
	data, err := datasets.Open(ctx, spec, jobOf(ctx).data)
	debug.FreeOSMemory() // else the garbage of reading stays beside what follows
	return data, err
}
