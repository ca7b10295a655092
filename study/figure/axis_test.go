package figure

import (
	"math"
	"strings"
	"testing"
)

// labels joins the labels of a range's ticks.
func labels(r span, n int) string {
	var words []string
	for _, tick := range r.ticks(n) {
		if tick.Label != "" {
			words = append(words, tick.Label)
		}
	}
	return strings.Join(words, " ")
}

func TestSpanTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0, 1, "0 0.2 0.4 0.6 0.8 1"},
		{0, 30, "0 5 10 15 20 25 30"},
		{10, 300, "50 100 150 200 250 300"},
		{0.22, 0.876, "0.4 0.6 0.8"},
		{0.2, 0.9, "0.2 0.4 0.6 0.8"},
		{-1, 1, "-1 -0.5 0 0.5 1"},
		{-3e-7, 3e-7, "-3e-07 -2e-07 -1e-07 0 1e-07 2e-07 3e-07"},
		{1234567, 1234667, "1.23458e+06 1.2346e+06 1.23462e+06 1.23464e+06 1.23466e+06"},
		{5, 5, ""},
		{0, math.Inf(1), ""},
		{math.NaN(), 1, ""},
	} {
		if got := labels(span{c.low, c.high}, 6); got != c.want {
			t.Errorf("[%v, %v]: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

// emptySpan returns the range of no values.
func emptySpan() span { return span{math.Inf(1), math.Inf(-1)} }

// include extends the range to v, unless v cannot be drawn.
func (r *span) include(v float64) {
	if shown(v) {
		r.low, r.high = min(r.low, v), max(r.high, v)
	}
}

// hostileSpans are values that are close to each other, far apart, or not numbers.
var hostileSpans = map[string][]float64{
	"none":             nil,
	"no numbers":       {math.NaN(), math.Inf(1), math.Inf(-1)},
	"zero":             {0},
	"one ulp":          {0.1, math.Nextafter(0.1, 1)},
	"two ulps":         {0.35, math.Nextafter(math.Nextafter(0.35, 1), 1)},
	"a large ulp":      {1e17, math.Nextafter(1e17, 1e18)},
	"below zero":       {-0.35, -math.Nextafter(0.35, 1)},
	"denormal":         {5e-324, 1e-310},
	"denormal, one":    {5e-324},
	"around zero":      {-5e-324, 5e-324},
	"small":            {1e-289, 1.1e-289},
	"largest":          {-math.MaxFloat64, math.MaxFloat64},
	"large":            {-1e290, 1e290},
	"large, one":       {1e290},
	"small and large":  {1e-290, 1e290},
	"just wide enough": {1, 1 + 1.1e-5},
	"not wide enough":  {1, 1 + 0.9e-5},
}

// TestHostileRanges checks that every range is widened to one with a few ticks,
// which are inside the range and have distinct labels.
func TestHostileRanges(t *testing.T) {
	for name, values := range hostileSpans {
		r := emptySpan()
		for _, v := range values {
			r.include(v)
		}
		widened := r.widened()
		if !(widened.low < widened.high) || r.low < widened.low || r.high > widened.high || widened != widened.widened() {
			t.Errorf("%s: [%v, %v] is widened to [%v, %v]", name, r.low, r.high, widened.low, widened.high)
		}
		seen := map[string]bool{}
		ticks := widened.ticks(6)
		for _, tick := range ticks {
			slack := 1e-6 * (widened.high - widened.low)
			if !(tick.Value >= widened.low-slack && tick.Value <= widened.high+slack) {
				t.Errorf("%s: a tick at %v of [%v, %v]", name, tick.Value, widened.low, widened.high)
			}
			if tick.Label != "" && seen[tick.Label] {
				t.Errorf("%s: two ticks %s", name, tick.Label)
			}
			if len(tick.Label) > 10 {
				t.Errorf("%s: a tick of %d letters, %s", name, len(tick.Label), tick.Label)
			}
			if tick.Label != "" {
				seen[tick.Label] = true
			}
		}
		if len(seen) < 2 || len(seen) > 8 || len(ticks) > 41 {
			t.Errorf("%s: %d ticks of [%v, %v], %d with labels", name, len(ticks), widened.low, widened.high, len(seen))
		}
	}
}

func TestText(t *testing.T) {
	for v, want := range map[float64]string{
		0.1 + 0.2: "0.3", math.Copysign(0, -1): "0", 1e7: "1e+07", 1e-5: "1e-05", 1024: "1024", math.Inf(1): "+Inf", -1.5: "-1.5",
		math.MaxFloat64: "1.79769e+308",
	} {
		if got := numberText(v, 6); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}
