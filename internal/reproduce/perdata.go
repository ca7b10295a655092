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
	if n, there := p.Other[spec]; there {
		return n
	}
	name, _ := paperDataset(spec)
	if n, there := p.Other[name]; there {
		return n
	}
	return p.Each
}

// least returns the smallest of the numbers.
func (p PerData) least() int {
	least := p.Each
	for _, n := range p.Other {
		least = min(least, n)
	}
	return least
}

// check reports a name that means no data set of the paper and none of data, SPECs: its
// number would have no effect.
func (p PerData) check(data []string) error {
	for _, name := range slices.Sorted(maps.Keys(p.Other)) {
		stands, _ := paperDataset(name)
		if stands == "" && !slices.Contains(fiveNames(), name) && !slices.Contains(data, name) {
			return fmt.Errorf("reproduce: %s=%d names no data set; there are: %s", name, p.Other[name], strings.Join(append(fiveNames(), data...), ", "))
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
		name, number := "", word
		if at := strings.LastIndexByte(word, '='); at >= 0 { // a SPEC may hold = too
			name, number = word[:at], word[at+1:]
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return fmt.Errorf("%q: want a number from 1 up, or NAME=NUMBER", word)
		}
		if name == "" {
			if each {
				return fmt.Errorf("%q: a second number for all data sets", word)
			}
			set.Each, each = n, true
			continue
		}
		if _, again := set.Other[name]; again {
			return fmt.Errorf("%q: %s has a number already", word, name)
		}
		set.Other[name] = n
		set.order = append(set.order, name)
	}
	*p = set
	return nil
}

// Type implements pflag.Value.
func (*PerData) Type() string { return "N[,NAME=N...]" }
