package main

import (
	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/samplers"
)

// methodRow is a method in the JSON object.
type methodRow struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Source  string `json:"source"`
	Sizes   string `json:"sizes"` // the quantity that --samples counts; "" if the method has no sample size
	Default bool   `json:"default,omitempty"`
}

func newMethodsCommand() *cobra.Command {
	return newCommand("methods", new(resultOptions), func(*cobra.Command) (any, error) {
		var rows []methodRow
		var t table
		for _, m := range samplers.Methods() {
			name := m.Name
			if name == run.DefaultMethod {
				name += " (default)"
			}
			rows = append(rows, methodRow{m.Name, m.Summary, m.Source, m.Sizes, m.Name == run.DefaultMethod})
			t.row(name, m.Summary)
			t.row("", m.Source)
		}
		return worded{map[string]any{"methods": rows}, t.print}, nil
	})
}

func newRecipesCommand() *cobra.Command {
	return newCommand("recipes", new(resultOptions), func(cmd *cobra.Command) (any, error) {
		var t table
		for _, r := range run.Recipes() {
			file, err := run.ReadRecipe(cmd.Context(), r.Name)
			if err != nil {
				return nil, err
			}
			t.row(r.Name, r.Source)
			t.row("", "differs: "+r.Differs)
			t.row("", optionsText(file.Values))
		}
		return worded{map[string]any{"recipes": run.Recipes()}, t.print}, nil
	})
}

// methodNames are methods, separated by commas.
type methodNames []string

// Values returns the words that are allowed.
func (methodNames) Values() []string { return run.MethodNames() }
