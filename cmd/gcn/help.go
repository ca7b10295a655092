package main

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/run"
)

// helpText has a section for each command: "== " and the command, a line that says what it
// does, the help, and examples.
//
//go:embed help.txt
var helpText string

// describe gives root and its commands the texts of help.txt. cobra's own commands get checks of
// their arguments.
func describe(root *cobra.Command) {
	for section := range strings.SplitSeq(strings.TrimSpace(helpText[len("== "):]), "\n\n== ") {
		path, rest, _ := strings.Cut(section, "\n")
		cmd, _, err := root.Find(strings.Fields(path)[1:])
		if err != nil {
			panic(err) // a mistake in help.txt: TestHelp
		}
		rest, cmd.Example, _ = strings.Cut(rest, "\n\nExamples:\n")
		cmd.Short, cmd.Long, _ = strings.Cut(rest, "\n\n")
	}
	completion, _, _ := root.Find([]string{"completion"})
	completion.Use, completion.Args, completion.RunE = "completion COMMAND", arguments, arguments
	help, _, _ := root.Find([]string{"help"})
	help.Args = func(_ *cobra.Command, args []string) error {
		if asked, rest, _ := root.Find(args); len(rest) > 0 {
			return arguments(asked, rest)
		}
		return nil
	}
}

const helpAll = "help-all"

// groupedHelp makes the command print its flags in groups, by their annotations. The rare ones,
// and all of a text, are shown by --help-all only. Flags without a group are left out.
func groupedHelp(cmd *cobra.Command) *cobra.Command {
	all := cmd.Flags().Bool(helpAll, false, "help with all options")
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		// Without a terminal, of width 0, a flag is one line, which programs such as grep can read.
		w, width, text := cmd.OutOrStdout(), terminal(cmd.Root().OutOrStdout()).width(), cmd.Short
		if *all {
			text = cmd.Long
		}
		fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n\nExamples:\n%s\n", text, cmd.UseLine(), cmd.Example)
		var groups []*pflag.FlagSet
		group := new(pflag.FlagSet)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			o, _ := f.Value.(run.Option)
			if o.Group == "" || o.Rare && !*all {
				return
			}
			if group.Name() != o.Group {
				group = pflag.NewFlagSet(o.Group, pflag.ContinueOnError)
				group.SortFlags = false
				groups = append(groups, group)
			}
			if !*all { // the first clause
				short := *f
				short.Usage, _, _ = strings.Cut(strings.Split(f.Usage, " (")[0], ";")
				f = &short
			}
			group.AddFlag(f)
		})
		for _, group := range groups {
			fmt.Fprintf(w, "\n%s:\n%s", group.Name(), group.FlagUsagesWrapped(width))
		}
		if *all {
			fmt.Fprintf(w, "\nGlobal Flags:\n%s", cmd.InheritedFlags().FlagUsagesWrapped(width))
		} else {
			fmt.Fprintf(w, "\n%s --%s lists all options.\n", cmd.CommandPath(), helpAll)
		}
	})
	do := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *all {
			return cmd.Help()
		}
		return do(cmd, args)
	}
	return cmd
}
