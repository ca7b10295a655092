package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/run"
)

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
