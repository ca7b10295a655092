package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/run"
)

// newCommand registers the flags of options, which are pointers to structs with the tags of
// package run. The options are checked beside one another before the command's work.
func newCommand(cmd *cobra.Command, options ...any) *cobra.Command {
	for _, of := range options {
		addFlags(cmd, of)
	}
	if cmd.Args == nil {
		cmd.Args = noArguments
	}
	do := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, of := range options {
			if err := run.Check(of); err != nil {
				return err
			}
		}
		return do(cmd, args)
	}
	return cmd
}

// addFlags registers the flags of a struct of options, those that are named or all, and lets a
// shell complete their values.
func addFlags(cmd *cobra.Command, of any, only ...string) {
	cmd.Flags().SortFlags = false
	run.AddFlags(cmd.Flags(), of, only...)
	lists := map[string]func() []string{"data": dataSpecs, "method": run.MethodNames, "recipe": run.RecipeNames}
	for _, o := range run.Options(of) {
		values := lists[o.Name]
		if values == nil {
			values = func() []string { return o.Choices }
		}
		if cmd.Flags().Lookup(o.Flag()) == nil {
			continue
		}
		_ = cmd.RegisterFlagCompletionFunc(o.Flag(), func(_ *cobra.Command, _ []string, given string) ([]string, cobra.ShellCompDirective) { // the flag is there
			var list []string
			for _, v := range values() {
				list = append(list, given[:strings.LastIndexByte(given, ',')+1]+v) // the last value of a list
			}
			if list == nil {
				return nil, cobra.ShellCompDirectiveDefault // a file
			}
			return list, cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// dataSpecs lists the data sets that need no path, and the schemes that do.
func dataSpecs() []string {
	var specs []string
	for _, e := range datasets.List() {
		specs = append(specs, regexp.MustCompile(":[A-Z].*").ReplaceAllString(e.Spec, ":"))
	}
	return specs
}

// repeated is an option that may be given more than once. Its text has a line for each value.
type repeated []string

// String implements pflag.Value.
func (r repeated) String() string { return strings.Join(r, "\n") }

// Set implements pflag.Value.
func (r *repeated) Set(text string) error {
	*r = append(*r, strings.Split(text, "\n")...)
	return nil
}

// newGroup returns a command that only holds other commands.
func newGroup(name string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: name, Args: subcommandOnly, RunE: needsSubcommand}
	group.AddCommand(commands...)
	return group
}

func needsSubcommand(cmd *cobra.Command, _ []string) error {
	return usagef("%s needs a command: %s", cmd.CommandPath(), strings.Join(commandNames(cmd), ", "))
}

// subcommandOnly refuses arguments that do not name a subcommand.
func subcommandOnly(cmd *cobra.Command, args []string) error {
	names := commandNames(cmd)
	if len(args) == 0 {
		return nil
	}
	return usagef("unknown command %q%s; there are: %s", args[0], run.DidYouMean(args[0], names), cmp.Or(strings.Join(names, ", "), "none"))
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

// noArguments refuses positional arguments, and says where a SPEC or a number belongs.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	arg, advice := args[0], ""
	if _, err := strconv.Atoi(arg); err == nil {
		advice = ": separate the numbers of an option by commas"
	} else if info, err := os.Stat(arg); err == nil && info.IsDir() && cmd.Flags().Lookup("run") != nil {
		advice = ", did you mean --run " + run.ShellWord(arg) + "?"
	} else if cmd.Flags().Lookup("data") != nil && datasets.CheckSpec(arg, datasets.Options{}) == nil {
		advice = ", did you mean --data " + run.ShellWord(arg) + "?"
	}
	return usagef("%s takes no arguments, got %q%s", cmd.CommandPath(), arg, advice)
}

// between refuses other numbers of arguments.
func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if len(given) < least || len(given) > most {
			return usagef("want %s, got %q", cmd.UseLine(), given)
		}
		return nil
	}
}

// oneArgument refuses anything but one of the given words.
func oneArgument(needs string, words []string) cobra.PositionalArgs {
	return func(_ *cobra.Command, given []string) error {
		list := strings.Join(words, ", ")
		switch {
		case len(given) != 1:
			return usagef("%s: %s", needs, list)
		case !slices.Contains(words, given[0]):
			return usagef("%q%s; there are: %s", given[0], run.DidYouMean(given[0], words), list)
		}
		return nil
	}
}

// flagError rewords an error of the flag parser, and names the flag that was
// probably meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name, dashes := unknown.GetSpecifiedName(), "--"
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			name, dashes = letters, "-"
		}
		if name == "version" || name == "v" {
			return usagef("unknown flag %s%s, did you mean gcn version?", dashes, name)
		}
		word, _, _ := strings.Cut(name, "=")
		if old := run.OldFlag(word); old != "" && cmd.Flags().Lookup("method") != nil {
			return usagef("unknown flag --%s: it %s", word, old)
		}
		if flag := run.Meant(word, flagNames(cmd.Flags())); flag != "" && len(word) > 1 {
			return usagef("unknown flag %s%s, did you mean --%s?", dashes, name, flag)
		}
		return usagef("unknown flag %s%s", dashes, name)
	}
	return usageError{flagValueError(err)}
}

// flagValueError shortens the flag parser's error about a value.
func flagValueError(err error) error {
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return err
	}
	return fmt.Errorf("--%s %s: %w", value.GetFlag().Name, run.ShellWord(value.GetValue()), value.Unwrap())
}

func flagNames(fs *pflag.FlagSet) []string {
	var names []string
	fs.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}
