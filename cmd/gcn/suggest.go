package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
		if flag := meant(word, flagNames(cmd.Flags())); flag != "" && len(word) > 1 {
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

// didYouMean returns ", did you mean NAME?" for the name that was probably meant by the given
// one, or "".
func didYouMean(given string, names []string) string {
	if name := meant(given, names); name != "" {
		return fmt.Sprintf(", did you mean %s?", name)
	}
	return ""
}

// otherNames returns names in other programs, such as the examples of PyTorch Geometric, DGL
// and OGB, with the names here of the same commands, options and methods. Names that hold a
// name of this program, such as batch-size, are left out: meant finds it.
func otherNames() map[string]string {
	return map[string]string{
		"fit": "train", "test": "eval", "score": "eval", "infer": "predict", "advise": "study", "info": "datasets",
		"learning-rate": "lr", "wd": "weight-decay", "dataset": "data", "root": "data", "save-dir": "out",
		"num-neighbors": "samples", "neighbors": "samples", "fanout": "samples", "fan-out": "samples", "sizes": "samples",
		"sampler": "method", "gnn": "conv", "norm": "layer-norm", "act": "activation", "dim": "hidden",
		"gpu": "device", "cuda": "device", "early-stopping": "patience", "early-stop": "patience",
		"steps": "max-batches", "max-steps": "max-batches", "iterations": "max-batches", "log-steps": "eval-every", "eval-steps": "eval-every",
		"checkpoint": "run", "ckpt": "run", "model-path": "run",
		"gcn": "full", "none": "full", "full-batch": "full", "sage": "neighbor", "graphsage": "neighbor", "neighborsampler": "neighbor",
		"graphsaint": "saint-walk", "saint": "saint-walk",
	}
}

// meant returns the name that was probably meant by the given one: its name in other programs,
// the nearest name, a name that is one of its words, or a name that it begins with. It returns
// "" if there is none.
func meant(given string, names []string) string {
	given = strings.ReplaceAll(strings.ToLower(given), "_", "-")
	if name := otherNames()[given]; slices.Contains(names, name) {
		return name
	}
	if name := nearest(given, names); name != "" {
		return name
	}
	for word := range strings.SplitSeq(given, "-") {
		if len(word) > 1 && slices.Contains(names, word) {
			return word
		}
	}
	longest := ""
	for _, name := range names {
		if len(name) > max(2, len(longest)) && strings.HasPrefix(given, name) {
			longest = name
		}
	}
	return longest
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
