package main

import (
	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/run"
)

func newRecipesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "recipes",
		Short:   "List the settings of gcn train --recipe, with their sources and options",
		Example: "  gcn recipes\n  gcn train --recipe tuned-arxiv-gcn --data ogbn-arxiv",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"recipes": run.Recipes()})
			}
			t := newTable(false)
			for _, r := range run.Recipes() {
				file, err := run.ReadRecipe(cmd.Context(), r.Name)
				if err != nil {
					return err
				}
				t.row(r.Name, r.Source)
				t.row("", "differs: "+r.Differs)
				t.row("", optionsText(file.Values))
			}
			return t.print(cmd.OutOrStdout())
		},
	}
	addJSONFlag(cmd, &asJSON)
	return cmd
}
