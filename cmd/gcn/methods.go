package main

import (
	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/samplers"
)

func newMethodsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "methods",
		Short:   "List the sampling methods, with a description and a source for each",
		Example: "  gcn methods",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"methods": methodRows()})
			}
			t := newTable(false)
			for _, m := range samplers.Methods() {
				name := m.Name
				if name == run.DefaultMethod {
					name += " (default)"
				}
				t.row(name, m.Summary)
				t.row("", m.Source)
			}
			return t.print(cmd.OutOrStdout())
		},
	}
	addJSONFlag(cmd, &asJSON)
	return cmd
}

type methodRow struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Source  string `json:"source"`
	Sizes   string `json:"sizes"` // the quantity that --samples counts; "" if the method has no sample size
	Default bool   `json:"default,omitempty"`
}

func methodRows() []methodRow {
	var rows []methodRow
	for _, m := range samplers.Methods() {
		rows = append(rows, methodRow{m.Name, m.Summary, m.Source, m.Sizes, m.Name == run.DefaultMethod})
	}
	return rows
}

// checkMethod returns a usage error that lists the methods, unless name is one.
func checkMethod(flag, name string) error { return oneOf(flag, name, run.MethodNames()) }

// methodNamed returns the method of that name, or a method without parts if there
// is none.
func methodNamed(name string) samplers.Method {
	for _, m := range samplers.Methods() {
		if m.Name == name {
			return m
		}
	}
	return samplers.Method{}
}
