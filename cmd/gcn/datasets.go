package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/run"
)

func newDatasetsListCommand() *cobra.Command {
	return newCommand("list", new(resultOptions), func(*cobra.Command, []string) (any, error) {
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
	return newCommand("info SPEC", new(resultOptions), func(cmd *cobra.Command, args []string) (any, error) {
		if err := checkSpec(args[0]); err != nil {
			return nil, err
		}
		options := jobOf(cmd.Context()).data
		options.Unlabelled = true
		data, err := datasets.Open(cmd.Context(), args[0], options)
		if err != nil {
			return nil, err
		}
		info := datasets.Describe(data)
		return worded{info, func(w io.Writer) {
			notes := info.Preprocessing
			info.ClassNames, info.Preprocessing = nil, nil // the notes name the classes
			_ = printText(w, info)                         // the stream keeps its error
			for _, note := range notes {
				say(w, "note: %s", escape(note, ""))
			}
		}}, nil
	})
}

// verification is the result of "gcn datasets verify".
type verification struct {
	Spec  string `json:"spec"`
	Valid bool   `json:"valid"`
	WallS number `json:"wall_s"`

	// Of a data set with published figures.
	Name      string                `json:"name,omitempty"` // of the original
	Published []datasets.Comparison `json:"published,omitempty"`
	Original  *bool                 `json:"original,omitempty"` // absent for a twin
}

func newDatasetsVerifyCommand() *cobra.Command {
	return newCommand("verify SPEC", new(resultOptions), func(cmd *cobra.Command, args []string) (any, error) {
		v := &verification{Spec: args[0], Valid: true}
		differ, err := v.verify(cmd.Context())
		if err != nil || v.Original == nil || *v.Original {
			return v, err
		}
		return nil, errors.Join(printResult(cmd, v), fmt.Errorf("%s: not the original %s: these figures differ: %s", v.Spec, v.Name, strings.Join(differ, ", ")))
	})
}

// verify verifies the data, and returns the figures that differ from the published ones if there
// are any.
func (v *verification) verify(ctx context.Context) (differ []string, err error) {
	if err := checkSpec(v.Spec); err != nil {
		return nil, err
	}
	start := time.Now()
	published, twin := datasets.FindPublished(v.Spec)
	if !twin { // a twin is generated, and opening it checks all
		if err := datasets.Verify(ctx, v.Spec, jobOf(ctx).data); err != nil {
			return nil, err
		}
	}
	if published != nil {
		data, err := openData(ctx, v.Spec)
		if err != nil {
			return nil, err
		}
		defer data.Close() // it was only read
		v.Name = published.Name
		if v.Published, err = published.Compare(data); err != nil {
			return nil, err
		}
		for _, c := range v.Published {
			if !c.Agrees {
				differ = append(differ, c.Name)
			}
		}
		if original := differ == nil; !twin { // there is no verdict about a twin
			v.Original = &original
		}
	}
	v.WallS = finite.Measured(time.Since(start).Seconds())
	return differ, nil
}

// openData opens the data set that --data names. A SPEC that cannot be
// understood is a usage error, unlike data that cannot be read.
func openData(ctx context.Context, spec string) (*datasets.Data, error) {
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	return datasets.Open(ctx, spec, jobOf(ctx).data)
}

// checkSpec reports a SPEC that cannot be understood.
func checkSpec(spec string) error {
	if err := datasets.CheckSpec(spec, datasets.Options{Schemes: schemes()}); err != nil {
		return usagef("%w", err)
	}
	return nil
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
		Features   string    `json:"features" arg:"PRECISION" choice:"float32|float16" help:"PRECISION of the features in the store, float32 or float16 (default: unchanged)"`
		Propagated bool      `json:"propagated" help:"write the features after one propagation too, for --exact-input"`
		Memory     run.Bytes `json:"memory" arg:"8GiB" help:"memory of a conversion that does not hold the data in memory, and of P·X, such as 8GiB; mapped files do not count (default: half of the memory, at most 8GiB)"`
		Scratch    string    `json:"scratch" arg:"DIR" help:"DIR of its temporary files (default: beside the store)"`
		resultOptions
	}
	return newCommand("convert SPEC FILE", &o, func(cmd *cobra.Command, args []string) (any, error) {
		if err := checkSpec(args[0]); err != nil {
			return nil, err
		}
		start, to := time.Now(), jobOf(cmd.Context()).data
		to.Precision, to.Propagated, to.Memory, to.Scratch = datasets.Precision(o.Features), o.Propagated, int64(o.Memory), o.Scratch
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
	took := time.Since(start)
	start = time.Now()
	data, err := datasets.Open(ctx, spec, jobOf(ctx).data)
	if err != nil {
		return nil, err
	}
	defer data.Close() // it was only read
	return conversion{
		Spec: spec, From: from, Nodes: data.Nodes(), Edges: data.Edges(),
		WallS: finite.Measured(took.Seconds()), OpenMS: finite.Measured(time.Since(start).Seconds() * 1e3), PeakRSSMB: finite.Measured(machine.PeakRSS()),
	}, nil
}

func newDatasetsFetchCommand() *cobra.Command {
	cmd := newCommand("fetch NAME", new(resultOptions), func(cmd *cobra.Command, args []string) (any, error) {
		start := time.Now()
		path, err := datasets.Fetch(cmd.Context(), args[0], jobOf(cmd.Context()).data)
		if err != nil {
			return nil, err
		}
		say(cmd.ErrOrStderr(), "%s: %s", args[0], path)
		return openConverted(cmd.Context(), args[0], args[0], start)
	})
	cmd.ValidArgs = datasets.Names()
	return cmd
}
