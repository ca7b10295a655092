package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
)

func newDatasetsCommand() *cobra.Command {
	return newGroup("datasets", "List, describe, fetch, convert or verify data sets",
		"  gcn datasets list\n  gcn datasets info synth:arxiv",
		newDatasetsListCommand(), newDatasetsInfoCommand(), newDatasetsFetchCommand(), newDatasetsConvertCommand(), newDatasetsVerifyCommand())
}

func newDatasetsListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the data sets and formats that --data understands",
		Example: "  gcn datasets list",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			entries := datasets.List()
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"datasets": entries})
			}
			t := newTable(false)
			for k, e := range entries {
				t.row(e.Spec, e.Summary)
				// The data sets from one source have the same keys.
				if last := k == len(entries)-1 || entries[k+1].Keys != e.Keys; last && e.Keys != "" {
					t.row("", "?key=value&…: "+e.Keys)
				}
			}
			if err := t.print(cmd.OutOrStdout()); err != nil {
				return err
			}
			return printLine(cmd.OutOrStdout(), "keys are for the data sets above them; docs/data.md explains them, and gcn datasets info SPEC says how files were read")
		},
	}
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func newDatasetsInfoCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info SPEC",
		Short: "Describe a data set: sizes, split, degrees, memory, preprocessing",
		Example: `  gcn datasets info synth:demo
  gcn datasets info npy:mygraph --json`,
		Args: exactly(1, "datasets info needs one SPEC, such as synth:demo"),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := openUnlabelled(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			info := datasets.Describe(data)
			if asJSON {
				return printJSON(cmd.OutOrStdout(), info)
			}
			info.Name = escape(info.Name, "")
			for _, texts := range [][]string{info.ClassNames, info.Preprocessing} {
				for k, text := range texts {
					texts[k] = escape(text, "") // each stays on its line
				}
			}
			return info.WriteText(cmd.OutOrStdout())
		},
	}
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// openData opens the data set that --data names. A SPEC that cannot be
// understood is a usage error, unlike data that cannot be read.
func openData(ctx context.Context, text string) (*datasets.Data, error) {
	if err := checkSpec(text); err != nil {
		return nil, err
	}
	return datasets.Open(ctx, text, dataOptions(ctx))
}

// checkSpec reports a SPEC that cannot be understood.
func checkSpec(text string) error {
	if err := datasets.CheckSpec(text, datasets.Options{Schemes: schemes()}); err != nil {
		return usageError{err}
	}
	return nil
}
