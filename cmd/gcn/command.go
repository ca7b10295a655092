package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/run"
)

// newCommand returns a command whose arguments are the words of its usage line before the flags.
// Its flags are the settings of gcn train that are named, alone or by their group, and options: a
// pointer to a struct with the tags of package run. These are checked beside one another before
// the work. do returns the result to print, or nil.
func newCommand(use string, options any, do func(cmd *cobra.Command) (any, error), settings ...string) *cobra.Command {
	cmd := &cobra.Command{Use: use, Args: arguments}
	if settings != nil {
		addFlags(cmd, new(run.Settings), settings...)
	}
	addFlags(cmd, options)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := run.Check(options); err != nil {
			return err
		}
		r, err := do(cmd)
		if err != nil || r == nil {
			return err
		}
		return printResult(cmd, r)
	}
	return cmd
}

// addFlags registers the flags of a struct of options, those that are named or all, and lets a
// shell complete their values.
func addFlags(cmd *cobra.Command, of any, only ...string) {
	cmd.Flags().SortFlags = false
	run.AddFlags(cmd.Flags(), of, only...)
	for _, o := range run.Options(of) {
		if values := append(listed()[o.Name], o.Choices...); values != nil { // nil: the shell completes files
			_ = cmd.RegisterFlagCompletionFunc(o.Flag(), cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // an option without a flag is an error, which is ignored
		}
	}
}

// listed returns the values of options whose tags do not name them. Data sets that need a path have
// their scheme alone.
var listed = sync.OnceValue(func() map[string][]string {
	var specs []string
	for _, e := range datasets.List() {
		specs = append(specs, regexp.MustCompile(":[A-Z].*").ReplaceAllString(e.Spec, ":"))
	}
	return map[string][]string{"data": specs, "method": run.MethodNames(), "recipe": run.RecipeNames()}
})

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
	group := &cobra.Command{Use: name + " COMMAND", Args: arguments, RunE: arguments}
	group.AddCommand(commands...)
	return group
}

// arguments refuses other arguments than the usage line has before its flags, where DIR… stands
// for one or more and [SPEC] for one or none. If the command has commands or ValidArgs, the
// argument is one of them.
func arguments(cmd *cobra.Command, given []string) error {
	use, _, _ := strings.Cut(cmd.Use, " --")
	least := len(strings.Fields(use)) - 1
	most := least
	switch {
	case strings.HasSuffix(use, "…"):
		most = math.MaxInt
	case strings.HasSuffix(use, "]"):
		least = 0
	}
	fits := len(given) >= least && len(given) <= most
	word := strings.NewReplacer("[", "", "]", "", "|all", "", "|", " or ").Replace(strings.ToLower(use[strings.LastIndexByte(use, ' ')+1:]))
	allowed := slices.Clone(cmd.ValidArgs)
	for _, c := range cmd.Commands() {
		allowed = append(allowed, c.Name())
	}
	switch list := strings.Join(allowed, ", "); {
	case list != "" && len(given) > 0 && !slices.Contains(allowed, given[0]):
		return usagef("unknown %s %q%s; there are: %s", word, given[0], run.DidYouMean(given[0], allowed), list)
	case !fits && most == 0:
		return usagef("%s takes no arguments, got %q%s", cmd.CommandPath(), given[0], meantOption(cmd, given[0]))
	case !fits && list == "":
		return usagef("want %s, got %q", cmd.UseLine(), given)
	case !fits:
		return usagef("%s needs a %s: %s", cmd.CommandPath(), word, list)
	}
	return nil
}

// meantOption says where an argument belongs that is a number, a folder or a SPEC, or returns "".
func meantOption(cmd *cobra.Command, arg string) string {
	if _, err := strconv.Atoi(arg); err == nil {
		return ": separate the numbers of an option by commas"
	}
	if info, err := os.Stat(arg); err == nil && info.IsDir() && cmd.Flags().Lookup("run") != nil {
		return ", did you mean --run " + run.ShellWord(arg) + "?"
	}
	if cmd.Flags().Lookup("data") != nil && datasets.CheckSpec(arg, datasets.Options{}) == nil {
		return ", did you mean --data " + run.ShellWord(arg) + "?"
	}
	return ""
}

// flagError rewords an error of the flag parser, and names the flag that was
// probably meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usagef("%w", flagValueError(err))
	}
	given := "--" + unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		given = "-" + letters
	}
	word, _, _ := strings.Cut(strings.TrimLeft(given, "-"), "=")
	old, meant := run.OldFlag(word), run.Meant(word, flagNames(cmd.Flags()))
	switch {
	case old != "" && cmd.Flags().Lookup("method") != nil:
		return usagef("unknown flag --%s: it %s", word, old)
	case meant != "" && len(word) > 1:
		return usagef("unknown flag %s, did you mean --%s?", given, meant)
	}
	return usagef("unknown flag %s", given)
}

// flagValueError shortens the flag parser's error about a value.
func flagValueError(err error) error {
	if value, is := errors.AsType[*pflag.InvalidValueError](err); is {
		return fmt.Errorf("--%s %s: %w", value.GetFlag().Name, run.ShellWord(value.GetValue()), value.Unwrap())
	}
	return err
}

func flagNames(fs *pflag.FlagSet) []string {
	var names []string
	fs.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}
