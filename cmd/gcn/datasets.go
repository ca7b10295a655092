package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
)

func newDatasetsListCommand() *cobra.Command {
	return newCommand(&cobra.Command{
		Use: "list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			entries := datasets.List()
			return result(cmd, map[string]any{"datasets": entries}, func(w io.Writer) {
				t := newTable(false)
				for k, e := range entries {
					t.row(e.Spec, e.Summary)
					// The data sets from one source have the same keys.
					if last := k == len(entries)-1 || entries[k+1].Keys != e.Keys; last && e.Keys != "" {
						t.row("", "?key=value&…: "+e.Keys)
					}
				}
				t.print(w)
				say(w, "keys are for the data sets above them; docs/data.md explains them, and gcn datasets info SPEC says how files were read")
			})
		},
	}, new(resultOptions))
}

func newDatasetsInfoCommand() *cobra.Command {
	return newCommand(&cobra.Command{
		Use:  "info SPEC",
		Args: exactly(1, "datasets info needs one SPEC, such as synth:demo"),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := openUnlabelled(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			info := datasets.Describe(data)
			return result(cmd, info, func(w io.Writer) {
				info.Name = escape(info.Name, "")
				for _, texts := range [][]string{info.ClassNames, info.Preprocessing} {
					for k, text := range texts {
						texts[k] = escape(text, "") // each stays on its line
					}
				}
				_ = info.WriteText(w) // the stream keeps its error
			})
		},
	}, new(resultOptions))
}

// openData opens the data set that --data names. A SPEC that cannot be
// understood is a usage error, unlike data that cannot be read.
func openData(ctx context.Context, spec string) (*datasets.Data, error) {
	return openWith(ctx, spec, dataOptions(ctx))
}

// openUnlabelled is openData for data that may lack labels.
func openUnlabelled(ctx context.Context, spec string) (*datasets.Data, error) {
	o := dataOptions(ctx)
	o.Unlabelled = true
	return openWith(ctx, spec, o)
}

func openWith(ctx context.Context, spec string, o datasets.Options) (*datasets.Data, error) {
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	return datasets.Open(ctx, spec, o)
}

// checkSpec reports a SPEC that cannot be understood.
func checkSpec(spec string) error {
	if err := datasets.CheckSpec(spec, datasets.Options{Schemes: schemes()}); err != nil {
		return usageError{err}
	}
	return nil
}
