package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/run"
)

func atLeast(name string, value, least int) error {
	if value < least {
		return usagef("--%s %d: want at least %d", name, value, least)
	}
	return nil
}

// within is a usage error unless a flag's value is in [least, most]. The constants below
// refuse sizes that are probably typing errors, and that would exhaust the memory before
// another check refuses them.
const (
	mostHidden = 1 << 16
	mostLayers = 1000
)

func within(name string, value, least, most int) error {
	if value > most {
		return usagef("--%s %d: want at most %d", name, value, most)
	}
	return atLeast(name, value, least)
}

// oneOf is a usage error that lists the allowed values of a flag, unless value is one of
// them.
func oneOf(name, value string, allowed []string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return usagef("--%s %q%s; there are: %s", name, value, run.DidYouMean(value, allowed), strings.Join(allowed, ", "))
}

// intList is a flag (pflag.Value) with whole numbers, separated by commas.
type intList []int

func (l *intList) String() string {
	words := make([]string, len(*l))
	for i, n := range *l {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

func (l *intList) Set(text string) error {
	var numbers []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil {
			return fmt.Errorf("%q is not a whole number in range", word)
		}
		numbers = append(numbers, n)
	}
	*l = numbers
	return nil
}

func (*intList) Type() string { return "N,..." } // pflag aligns bytes

func (l intList) check() error {
	for _, n := range l {
		if n <= 0 {
			return usagef("--samples %d: want at least 1", n)
		}
	}
	return nil
}

// wordList is a flag (pflag.Value) with words, separated by commas.
type wordList []string

func (l *wordList) String() string { return strings.Join(*l, ",") }

func (l *wordList) Set(text string) error {
	*l = nil
	for word := range strings.SplitSeq(text, ",") {
		*l = append(*l, strings.TrimSpace(word))
	}
	return nil
}

func (*wordList) Type() string { return "NAME,..." }
