package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError rewords an error of the flag parser, and names the flag that was
// probably meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		if meant := nearest(name, names); meant != "" {
			return usagef("unknown flag --%s, did you mean --%s?", name, meant)
		}
		return usagef("unknown flag --%s", name)
	}
	return usageError{flagValueError(err)}
}

// flagValueError shortens the flag parser's error about a value.
func flagValueError(err error) error {
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return err
	}
	flag := value.GetFlag()
	reason := value.Unwrap()
	if reason == nil || strings.Contains(reason.Error(), "strconv.") {
		switch flag.Value.Type() {
		case "int":
			reason = errors.New("want a whole number")
		case "uint64":
			reason = errors.New("want a whole number, at least 0")
		case "float64":
			reason = errors.New("want a number")
		case "bool":
			reason = errors.New("want true or false")
		}
	}
	return fmt.Errorf("--%s %q: %w", flag.Name, value.GetValue(), reason)
}

// didYouMean returns ", did you mean NAME?" for the name nearest to the given
// one, or "" if none is near.
func didYouMean(given string, names []string) string {
	if name := nearest(given, names); name != "" {
		return fmt.Sprintf(", did you mean %s?", name)
	}
	return ""
}

// nearest returns the name with the smallest edit distance to given. It considers
// names that differ in at most a third of given's letters (at least two), and
// names that begin with given. It returns "" if there is none.
func nearest(given string, names []string) string {
	best, bestDistance := "", max(2, len(given)/3)+1
	given = strings.ToLower(given)
	for _, name := range names {
		d := editDistance(given, strings.ToLower(name))
		if len(given) >= 2 && strings.HasPrefix(strings.ToLower(name), given) {
			d = min(d, 1)
		}
		if d < bestDistance && d < len(name) {
			best, bestDistance = name, d
		}
	}
	return best
}

// editDistance is Levenshtein's distance over bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
