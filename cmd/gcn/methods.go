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
	return newCommand(&cobra.Command{
		Use: "methods",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var rows []methodRow
			var t table
			for _, m := range samplers.Methods() {
				rows = append(rows, methodRow{m.Name, m.Summary, m.Source, m.Sizes, m.Name == run.DefaultMethod})
				name := m.Name
				if name == run.DefaultMethod {
					name += " (default)"
				}
				t.row(name, m.Summary)
				t.row("", m.Source)
			}
			return result(cmd, map[string]any{"methods": rows}, t.print)
		},
	}, new(resultOptions))
}

func newRecipesCommand() *cobra.Command {
	return newCommand(&cobra.Command{
		Use: "recipes",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var t table
			for _, r := range run.Recipes() {
				file, err := run.ReadRecipe(cmd.Context(), r.Name)
				if err != nil {
					return err
				}
				t.row(r.Name, r.Source)
				t.row("", "differs: "+r.Differs)
				t.row("", optionsText(file.Values))
			}
			return result(cmd, map[string]any{"recipes": run.Recipes()}, t.print)
		},
	}, new(resultOptions))
}

// methodNames are methods, separated by commas.
type methodNames []string

// Values returns the words that are allowed.
func (methodNames) Values() []string { return run.MethodNames() }

// methodNamed returns the method of that name, or a method without parts if there is none.
func methodNamed(name string) samplers.Method {
	for _, m := range samplers.Methods() {
		if m.Name == name {
			return m
		}
	}
	return samplers.Method{}
}
