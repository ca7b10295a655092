package main

import (
	"context"
	"io"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
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

// openData opens the data set that --data names.
func openData(ctx context.Context, spec string) (*datasets.Data, error) {
	data, err := datasets.Open(ctx, spec, jobOf(ctx).data)
	debug.FreeOSMemory() // else the garbage of reading stays beside what follows
	return data, err
}
