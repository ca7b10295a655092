package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func atLeast(name string, value, least int) error {
	if value < least {
		return usagef("--%s %d: want at least %d", name, value, least)
	}
	return nil
}

// within is a usage error unless a flag's value is in [least, most]. mostHidden and
// mostLayers refuse sizes that are probably typing errors, and that would exhaust the
// memory before another check refuses them.
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
	return usagef("--%s %q%s; there are: %s", name, value, didYouMean(value, allowed), strings.Join(allowed, ", "))
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

// repeat makes the list one number per layer: a single number is for all layers, and an
// empty list means fallback for all layers.
func (l *intList) repeat(layers, fallback int) error {
	switch {
	case len(*l) == layers:
		return nil
	case len(*l) > 1:
		return usagef("--samples %s has %d numbers for %d layers", l.String(), len(*l), layers)
	case len(*l) == 1:
		fallback = (*l)[0]
	}
	*l = slices.Repeat(intList{fallback}, layers)
	return nil
}

// evalInterval is a flag with a number of batches, or auto.
type evalInterval int

const autoInterval evalInterval = -1

// String implements pflag.Value.
func (i *evalInterval) String() string {
	if *i == autoInterval {
		return "auto"
	}
	return strconv.Itoa(int(*i))
}

// Set implements pflag.Value.
func (i *evalInterval) Set(text string) error {
	if text == "auto" {
		*i = autoInterval
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return errors.New("want a whole number or auto")
	}
	if n < 1 {
		return errors.New("want at least 1, or auto")
	}
	*i = evalInterval(n)
	return nil
}

// MarshalJSON writes the number, or "auto", as the flag takes them.
func (i evalInterval) MarshalJSON() ([]byte, error) {
	if i == autoInterval {
		return []byte(`"auto"`), nil
	}
	return strconv.AppendInt(nil, int64(i), 10), nil
}

// Type implements pflag.Value.
func (*evalInterval) Type() string { return "N|auto" }

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
