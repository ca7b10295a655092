package tune

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Dimension is an option that a search varies: over listed values, or over a range.
type Dimension struct {
	Option string
	Values []string // as on the command line; empty for a range

	Low, High float64 // the range
	Log       bool    // uniform in the logarithm
	Whole     bool    // whole numbers only
}

// ParseDimension reads the values of an option: 0.01,0.003 or, for values with commas,
// "512,1024 256,256"; the range 0..0.5; or 0.0001..0.01:log, a range that is uniform in the
// logarithm. With whole, a range holds whole numbers.
func ParseDimension(option, text string, whole bool) (Dimension, error) {
	d := Dimension{Option: option, Whole: whole}
	low, high, isRange := strings.Cut(text, "..")
	if !isRange {
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
	high, d.Log = strings.CutSuffix(high, ":log")
	var errLow, errHigh error
	d.Low, errLow = strconv.ParseFloat(low, 64)
	d.High, errHigh = strconv.ParseFloat(high, 64)
	switch {
	case errLow != nil || errHigh != nil || math.IsInf(d.Low, 0) || math.IsInf(d.High, 0):
		return d, fmt.Errorf("%s=%s: want a range of numbers, such as 0..0.5 or 0.0001..0.01:log", option, text)
	case !(d.Low < d.High):
		return d, fmt.Errorf("%s=%s: want a range from a smaller number to a larger one", option, text)
	case d.Log && d.Low <= 0:
		return d, fmt.Errorf("%s=%s: a logarithmic range begins above 0", option, text)
	case whole && (d.Low != math.Trunc(d.Low) || d.High != math.Trunc(d.High) || d.High-d.Low > 1<<31):
		return d, fmt.Errorf("%s=%s: want whole numbers", option, text)
	}
	return d, nil
}

// draw returns a random value. A value of a range has three digits, so that it can be typed, unless
// it is a whole number.
func (d *Dimension) draw(rng *rand.Rand) string {
	if len(d.Values) > 0 {
		return d.Values[rng.IntN(len(d.Values))]
	}
	low, high := d.Low, d.High
	if d.Whole {
		high++
	}
	x := low + rng.Float64()*(high-low)
	if d.Log {
		x = low * math.Exp(rng.Float64()*math.Log(high/low))
	}
	if d.Whole {
		return strconv.FormatFloat(min(math.Floor(x), d.High), 'f', 0, 64)
	}
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64) // its own output is a number
	return strconv.FormatFloat(min(max(x, low), high), 'g', -1, 64)
}

// Setting holds the value of each option of a space.
type Setting map[string]string

// mostSettings is the greatest number of settings of a search.
const mostSettings = 10_000

// Draw returns n different settings, drawn at random with a seed, or all combinations of the
// listed values if n is 0. It returns fewer than n if there are no more, or it finds no more.
func Draw(space []Dimension, n int, seed uint64) ([]Setting, error) {
	if len(space) == 0 {
		return nil, errors.New("nothing to search: want at least one option with values")
	}
	size := 1 // combinations of listed values; mostSettings+1 means more, 0 a range
	for k, d := range space {
		if slices.ContainsFunc(space[:k], func(other Dimension) bool { return other.Option == d.Option }) {
			return nil, fmt.Errorf("%s is searched twice: list all its values once", d.Option)
		}
		size = min(size*len(d.Values), mostSettings+1)
	}
	switch {
	case n == 0 && size == 0:
		return nil, errors.New("a range has no list of all values: say how many settings to draw")
	case n == 0 && size > mostSettings || n > mostSettings:
		return nil, fmt.Errorf("want at most %d settings: say how many to draw", mostSettings)
	}
	all := n == 0 || size > 0 && size <= n
	if all {
		n = size
	}
	const attempts = 1000 // of one setting
	rng := rand.New(rand.NewPCG(seed, 0x74756e65))
	var drawn []Setting
	seen := map[string]bool{}
	for k := 0; k < attempts*n && len(drawn) < n; k++ {
		s, stride := Setting{}, size
		for _, d := range space {
			if all {
				stride /= len(d.Values)
				s[d.Option] = d.Values[k/stride%len(d.Values)]
			} else {
				s[d.Option] = d.draw(rng)
			}
		}
		if key := fmt.Sprint(s); !seen[key] {
			seen[key] = true
			drawn = append(drawn, s)
		}
	}
	return drawn, nil
}
