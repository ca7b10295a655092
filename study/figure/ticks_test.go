package figure

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"pgregory.net/rapid"
)

// labels joins the labels of ticks.
func labels(ticks []plot.Tick) string {
	var words []string
	for _, tick := range ticks {
		if tick.Label != "" {
			words = append(words, tick.Label)
		}
	}
	return strings.Join(words, " ")
}

// TestTicks checks the labels of linear axes, base 0, and of logarithmic ones.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		base, low, high float64
		want            string
	}{
		{0, 0, 1, "0 0.5 1"},
		{0, 1.02, 1.09, "1.02 1.05 1.08"},
		{0, -3e-7, 3e-7, "-3e-07 0 3e-07"},
		{2, 256, 2048, "256 512 1024 2048"},
		{2, 256, 512, "256 512"},
		{2, 1, 1 << 16, "1 8 64 512 4096 32768"},
		{2, 1, 1 << 40, "1 100 10000 1e+06 1e+08 1e+10 1e+12"},
		{2, 300, 500, "300 400 500"},
		{10, 0.9, 60, "1 2 5 10 20 50"},
		{10, 13.4, 76, "20 50"},
		{10, 2.2, 4.5, "2.5 3.5 4.5"},
		{10, 1e-5, 2, "1e-05 0.0001 0.001 0.01 0.1 1"},
		{10, 1e-290, 1e290, "1e-249 1e-166 1e-83 1 1e+83 1e+166 1e+249"},
	} {
		ticks := plot.Ticker(powerTicks{c.base})
		if c.base == 0 {
			ticks = plot.TickerFunc(numberTicks)
		}
		if got := labels(ticks.Ticks(c.low, c.high)); got != c.want {
			t.Errorf("base %v, [%v, %v]: %s, want %s", c.base, c.low, c.high, got, c.want)
		}
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
	"just wide enough": {1, 1 + 1.1e-4},
	"not wide enough":  {1, 1 + 0.9e-4},
}

// TestHostileRanges checks that every range is widened to one with a few ticks,
// which are inside the range and have distinct labels.
func TestHostileRanges(t *testing.T) {
	for name, values := range hostileSpans {
		low, high := math.Inf(1), math.Inf(-1)
		for _, v := range values {
			if drawable(v, false) {
				low, high = min(low, v), max(high, v)
			}
		}
		from, to := widened(low, high, false)
		if a, b := widened(from, to, false); !(from < to) || low < from || high > to || a != from || b != to {
			t.Errorf("%s: [%v, %v] is widened to [%v, %v]", name, low, high, from, to)
		}
		seen := map[string]bool{}
		ticks := numberTicks(from, to)
		for _, tick := range ticks {
			slack := 1e-6 * (to - from)
			if !tick.IsMinor() && !(tick.Value >= from-slack && tick.Value <= to+slack) {
				t.Errorf("%s: a tick at %v of [%v, %v]", name, tick.Value, from, to)
			}
			if tick.Label != "" && seen[tick.Label] {
				t.Errorf("%s: two ticks %s", name, tick.Label)
			}
			if len(tick.Label) > 12 {
				t.Errorf("%s: a tick of %d letters, %s", name, len(tick.Label), tick.Label)
			}
			if tick.Label != "" {
				seen[tick.Label] = true
			}
		}
		if len(seen) < 2 || len(seen) > 8 || len(ticks) > 41 {
			t.Errorf("%s: %d ticks of [%v, %v], %d with labels", name, len(ticks), from, to, len(seen))
		}
	}
}

// labelCanvas keeps the rectangle of each text that is drawn on it.
type labelCanvas struct {
	vg.Canvas
	texts []vg.Rectangle
	words []string
}

func (c *labelCanvas) FillString(face font.Face, at vg.Point, text string) {
	size := face.Extents()
	c.texts = append(c.texts, vg.Rectangle{
		Min: vg.Point{X: at.X, Y: at.Y},
		Max: vg.Point{X: at.X + face.Width(text), Y: at.Y + 0.7*size.Ascent}, // a digit's height
	})
	c.words = append(c.words, text)
}

// TestLabelsApart draws axes over random ranges. No two labels overlap, and an axis has two
// labels or more.
func TestLabelsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := func(name string) (low, high float64) {
			low = math.Pow(10, rapid.Float64Range(-9, 9).Draw(t, name+" low"))
			decades := rapid.SampledFrom([]float64{1e-5, 1e-3, 0.1, 1, 3, 7, 20}).Draw(t, name+" scale")
			return low, low * math.Pow(10, decades*rapid.Float64Range(0.3, 1).Draw(t, name+" decades"))
		}
		x0, x1 := span("x")
		y0, y1 := span("y")
		panel := Panel{
			LogX: rapid.Bool().Draw(t, "log x"), LogY: rapid.Bool().Draw(t, "log y"),
			Lines: []Series{{X: []float64{x0, x1}, Y: []float64{y0, y1}}},
		}
		p, err := (&Figure{Panels: []Panel{panel}}).panel(&panel)
		if err != nil {
			t.Fatal(err)
		}
		kept := &labelCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(panelWidth, panelHeight), vgimg.UseDPI(10))}
		p.Draw(draw.NewCanvas(kept, panelWidth, panelHeight))
		for i, r := range kept.texts {
			for j, s := range kept.texts[:i] {
				if r.Min.X < s.Max.X && s.Min.X < r.Max.X && r.Min.Y < s.Max.Y && s.Min.Y < r.Max.Y {
					t.Fatalf("labels %s and %s overlap", kept.words[j], kept.words[i])
				}
			}
		}
		for _, a := range []plot.Axis{p.X, p.Y} {
			if got := labels(a.Tick.Marker.Ticks(a.Min, a.Max)); len(strings.Fields(got)) < 2 {
				t.Fatalf("labels %q along %v to %v", got, a.Min, a.Max)
			}
		}
	})
}
