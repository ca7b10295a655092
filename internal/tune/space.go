package tune

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Dimension is an option that a search varies.
type Dimension struct {
	Option string
	Values []string // as on the command line
}

// ParseDimension reads the values of an option: 0.01,0.003 or, for values with commas,
// "512,1024 256,256".
func ParseDimension(option, text string) (Dimension, error) {
	d := Dimension{Option: option}
	words := strings.ReplaceAll(strings.Join(strings.Fields(text), " "), ", ", ",")
	if d.Values = strings.Split(words, " "); len(d.Values) == 1 {
		d.Values = strings.Split(words, ",")
	}
	for k, v := range d.Values {
		if v == "" {
			return d, fmt.Errorf("%s=%s: value %d is empty", option, text, k+1)
		}
		if slices.Contains(d.Values[:k], v) {
			return d, fmt.Errorf("%s=%s: the value %s is there twice", option, text, v)
		}
	}
	return d, nil
}

// Setting holds the value of each option of a space.
type Setting map[string]string

// mostSettings is the greatest number of settings of a search.
const mostSettings = 10_000

// Draw returns n different settings, drawn at random with a seed, or all combinations of the
// values if n is 0, or if there are no more than n.
func Draw(space []Dimension, n int, seed uint64) ([]Setting, error) {
	if len(space) == 0 {
		return nil, errors.New("nothing to search: want at least one option with values")
	}
	size := 1 // combinations; mostSettings+1 means more
	for k, d := range space {
		if slices.ContainsFunc(space[:k], func(other Dimension) bool { return other.Option == d.Option }) {
			return nil, fmt.Errorf("%s is searched twice: list all its values once", d.Option)
		}
		size = min(size*len(d.Values), mostSettings+1)
	}
	if n = cmp.Or(n, size); n > mostSettings {
		return nil, fmt.Errorf("want at most %d settings: say how many to draw", mostSettings)
	}
	all := size <= n
	rng := rand.New(rand.NewPCG(seed, 0x74756e65))
	var drawn []Setting
	seen := map[string]bool{}
	for k := 0; len(drawn) < min(n, size); k++ {
		s, stride := Setting{}, size
		for _, d := range space {
			if all {
				stride /= len(d.Values)
				s[d.Option] = d.Values[k/stride%len(d.Values)]
			} else {
				s[d.Option] = d.Values[rng.IntN(len(d.Values))]
			}
		}
		if key := fmt.Sprint(s); !seen[key] {
			seen[key] = true
			drawn = append(drawn, s)
		}
	}
	return drawn, nil
}
