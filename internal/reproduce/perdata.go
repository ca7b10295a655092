package reproduce

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// PerData is a number for each data set: Each, or another one for data sets that are
// named. As a flag it is written 5,products=3,proteins=3.
type PerData struct {
	Each  int
	Other map[string]int // by the paper's name of the data set, or by SPEC
	order []string       // of Other, as given
}

// of returns the number for a SPEC.
func (p PerData) of(spec string) int {
	name, _ := paperDataset(spec)
	for _, name := range []string{spec, name} {
		if n, there := p.Other[name]; there {
			return n
		}
	}
	return p.Each
}

// check reports a number below 1, and a name that means no data set of the paper and none of
// data, SPECs: its number would have no effect.
func (p PerData) check(data []string) error {
	if least := slices.Min(append(slices.Collect(maps.Values(p.Other)), p.Each)); least < 1 {
		return fmt.Errorf("%d: want a number from 1 up", least)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Other)) {
		stands, _ := paperDataset(name)
		if known := append(fiveNames(), data...); stands == "" && !slices.Contains(known, name) {
			return fmt.Errorf("%s=%d names no data set; there are: %s", name, p.Other[name], strings.Join(known, ", "))
		}
	}
	return nil
}

// String implements pflag.Value.
func (p PerData) String() string {
	words := []string{strconv.Itoa(p.Each)}
	for _, name := range p.order {
		words = append(words, fmt.Sprintf("%s=%d", name, p.Other[name]))
	}
	return strings.Join(words, ",")
}

// Set implements pflag.Value. The number without a name may be left out.
func (p *PerData) Set(text string) error {
	set, each := PerData{Each: p.Each, Other: map[string]int{}}, false
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		at := strings.LastIndexByte(word, '=') // a SPEC may hold = too
		name := word[:max(at, 0)]
		n, err := strconv.Atoi(word[at+1:])
		_, again := set.Other[name]
		switch {
		case err != nil || n < 1:
			return fmt.Errorf("%q: want a number from 1 up, or NAME=NUMBER", word)
		case again:
			return fmt.Errorf("%q: %s has a number already", word, name)
		case name == "" && each:
			return fmt.Errorf("%q: a second number for all data sets", word)
		case name == "":
			set.Each, each = n, true
		default:
			set.Other[name], set.order = n, append(set.order, name)
		}
	}
	*p = set
	return nil
}

// Type implements pflag.Value.
func (*PerData) Type() string { return "N[,NAME=N...]" }
