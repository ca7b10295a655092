package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const helpAll = "help-all"

// flagGroup is a part of a help text. The rare flags are shown by --help-all only.
type flagGroup struct {
	title        string
	common, rare string // names of flags, separated by blanks
}

// trainGroups holds each flag of "gcn train" once.
func trainGroups() []flagGroup {
	return []flagGroup{
		{"Data and sampling", "data method samples exact-input",
			"importance flat neighborhood draw weight population include-rows normalize-rows control control-every control-half control-linear dropout-noise"},
		{"Model", "layers hidden dropout activation layer-norm residual",
			"model conv heads output-heads attention-dropout plain-attention bias-after batch-norm hidden-residual input-layer pre-norm feed-forward own-state jumping input-dropout edge-dropout classifier-dropout"},
		{"Training", "batch max-batches eval-every patience lr weight-decay seed runs device",
			"eval-samples epochs batches-per-epoch micro partition seeds seeds-every label-inputs label-smoothing class-weights schedule warm-up schedule-every schedule-factor decoupled-decay beta1 beta2 epsilon clip workers"},
		{"Output", "out resume recipe config json quiet",
			"overwrite checkpoint-interval memory scratch"},
	}
}

// groupedHelp makes the command print its flags in groups, and the rare ones only with
// --help-all.
func groupedHelp(cmd *cobra.Command, groups []flagGroup) {
	all := cmd.Flags().Bool(helpAll, false, "help with all options")
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		var text strings.Builder
		fmt.Fprintf(&text, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
		rare, width := 0, helpWidth(cmd.Root().OutOrStdout())
		for _, group := range groups {
			names := strings.Fields(group.common)
			if *all {
				names = append(names, strings.Fields(group.rare)...)
			}
			rare += len(strings.Fields(group.rare))
			part := pflag.NewFlagSet("", pflag.ContinueOnError)
			part.SortFlags = false
			for _, name := range names {
				part.AddFlag(cmd.Flags().Lookup(name))
			}
			fmt.Fprintf(&text, "\n%s:\n%s", group.title, part.FlagUsagesWrapped(width))
		}
		if *all {
			fmt.Fprintf(&text, "\nGlobal Flags:\n%s", cmd.InheritedFlags().FlagUsagesWrapped(width))
		} else {
			fmt.Fprintf(&text, "\n%s --%s lists %d options more.\n", cmd.CommandPath(), helpAll, rare+countFlags(cmd.InheritedFlags()))
		}
		_, err := fmt.Fprint(cmd.OutOrStderr(), text.String())
		return err
	})
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *all {
			return cmd.Help()
		}
		return run(cmd, args)
	}
}

// wrapHelp makes root and its commands wrap the descriptions of flags on a terminal.
func wrapHelp(root *cobra.Command) {
	wrapped := fmt.Sprintf(".FlagUsagesWrapped %d", helpWidth(root.OutOrStdout()))
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", wrapped))
}

// helpWidth returns the columns of a terminal, or 0 for other writers: a flag is then one
// line, which programs such as grep can read.
func helpWidth(w io.Writer) int {
	if file := terminal(w); file != nil {
		return terminalWidth(file)
	}
	return 0
}

func countFlags(fs *pflag.FlagSet) (n int) {
	fs.VisitAll(func(*pflag.Flag) { n++ })
	return n
}
