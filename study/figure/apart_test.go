package figure

import (
	"math"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"pgregory.net/rapid"
)

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

// TestLabelsApart draws axes over random ranges, in panels of random sizes. No two labels
// overlap, and an axis with room has two labels or more.
func TestLabelsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := Series{}
		span := func(name string) (low, high float64) {
			low = math.Pow(10, rapid.Float64Range(-9, 9).Draw(t, name+" low"))
			decades := rapid.SampledFrom([]float64{1e-5, 1e-3, 0.1, 1, 3, 7, 20}).Draw(t, name+" scale")
			return low, low * math.Pow(10, decades*rapid.Float64Range(0.3, 1).Draw(t, name+" decades"))
		}
		x0, x1 := span("x")
		y0, y1 := span("y")
		line.X, line.Y = []float64{x0, x1}, []float64{y0, y1}
		panel := Panel{
			LogX: rapid.Bool().Draw(t, "log x"), LogY: rapid.Bool().Draw(t, "log y"),
			Decades: rapid.Bool().Draw(t, "decades"), Lines: []Series{line},
		}
		f := &Figure{Panels: []Panel{panel}}
		p, err := f.panel(&panel)
		if err != nil {
			t.Fatal(err)
		}
		width := vg.Length(rapid.IntRange(5, 20).Draw(t, "width")) * vg.Centimeter
		height := vg.Length(rapid.IntRange(4, 20).Draw(t, "height")) * vg.Centimeter
		kept := &labelCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(10))}
		c := draw.NewCanvas(kept, width, height)
		keepLabelsApart(p, &panel, c)
		p.Draw(c)
		for i, r := range kept.texts {
			for j, s := range kept.texts[:i] {
				if r.Min.X < s.Max.X && s.Min.X < r.Max.X && r.Min.Y < s.Max.Y && s.Min.Y < r.Max.Y {
					t.Fatalf("labels %s and %s overlap", kept.words[j], kept.words[i])
				}
			}
		}
		ticks := labelled(p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max))
		if width >= panelWidth && ticks < 2 {
			t.Fatalf("%d labels along %v to %v", ticks, x0, x1)
		}
	})
}

// TestApart checks the labels that stay where all of them do not fit.
func TestApart(t *testing.T) {
	ten := func(string) vg.Length { return 10 }
	for _, c := range []struct {
		length vg.Length
		want   string
	}{{200, "1 2 5 10 20 50 100"}, {40, "1 10 100"}, {15, "1 100"}, {5, "1"}} {
		a := &plot.Axis{Min: 1, Max: 100, Scale: plot.LogScale{}}
		a.Tick.Marker = powerTicks{}
		got := ""
		for _, tick := range apart(a, c.length, ten) {
			if tick.Label != "" {
				got += " " + tick.Label
			}
		}
		if got != " "+c.want {
			t.Errorf("length %v:%s, want %s", c.length, got, c.want)
		}
	}
}
