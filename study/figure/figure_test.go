package figure

import (
	"bytes"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// sample is a figure with every kind of panel.
func sample() *Figure {
	return &Figure{
		Title: "All kinds",
		Panels: []Panel{
			{
				Title: "lines", X: "size", Y: "error", LogX: true, LogY: true,
				Lines: []Series{
					{Name: "one", X: []float64{1, 2, 4}, Y: []float64{3, 2, 1}, Error: []float64{0.1, 5, 0}},
					{Name: "two", X: []float64{1, 2, 4}, Y: []float64{30, math.NaN(), 10}},
				},
			},
			{Title: "cloud", X: "x", Y: "y", Points: []Series{{X: []float64{1, 3}, Y: []float64{2, 4}, Cloud: true}}, Lines: []Series{Straight("fitted", 1, 1, []float64{1, 3})}},
			{Title: "bars", X: "x", Y: "count", FromZero: true, Bars: &Bars{Low: 0, High: 3, Counts: []int{1, 4, 2}}},
			{Title: "names", Y: "score", Names: []string{"first", "second"}, Points: []Series{{Name: "three", X: []float64{0, 1}, Y: []float64{5, 6}, Error: []float64{1, 1}}}},
			{Title: "empty", X: "x", Y: "y", LogX: true, LogY: true},
			{Title: "single", X: "x", Y: "y", LogX: true, LogY: true, Lines: []Series{{Name: "one", X: []float64{8}, Y: []float64{2}}}},
		},
	}
}

func TestSave(t *testing.T) {
	base := filepath.Join(t.TempDir(), "sample")
	if err := sample().Save(base); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(base + ".svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"All kinds", "lines", "one", "two", "three", "fitted", "second", "empty", "Helvetica"} {
		if !strings.Contains(string(svg), word) {
			t.Errorf("the SVG file does not say %q", word)
		}
	}
	text, err := os.ReadFile(base + ".png")
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() < 1000 || b.Dy() < 600 {
		t.Errorf("the PNG file is %v", b)
	}
}

// TestTextWidths checks that every text has the width that the layout gave it, so that
// another font is not cut off.
func TestTextWidths(t *testing.T) {
	svg, err := sample().SVG()
	if err != nil {
		t.Fatal(err)
	}
	texts, widths := strings.Count(string(svg), "<text "), strings.Count(string(svg), `<text textLength="`)
	if texts < 20 || widths != texts {
		t.Errorf("%d of %d texts have a width", widths, texts)
	}
}

// TestTextLength checks the width of digits, 0.556 of the size in Liberation Sans, in a figure
// that is a title alone.
func TestTextLength(t *testing.T) {
	svg, err := (&Figure{Title: "1234"}).SVG()
	if err != nil || !strings.Contains(string(svg), `textLength="28.92"`) {
		t.Errorf("%v, no width in %s", err, svg)
	}
}

// TestLegendBesidePanels checks that the legend begins to the right of the panels.
func TestLegendBesidePanels(t *testing.T) {
	f := sample()
	legend := f.legend()
	width, height := f.Size()
	columns, _ := f.grid()
	need := legend.Rectangle(draw.New(vgimg.New(width, height))).Size().X
	if room := width - panelWidth*vg.Length(columns); room < need {
		t.Errorf("the legend needs %v, the strip has %v", need, room)
	}
}

// TestStraight checks that places that are not numbers do not end a line.
func TestStraight(t *testing.T) {
	if got := Straight("", 1, 2, []float64{math.NaN(), 3, 0, math.Inf(1)}); !slices.Equal(got.X, []float64{0, 3}) || !slices.Equal(got.Y, []float64{1, 7}) {
		t.Errorf("line %+v", got)
	}
}

func TestErrors(t *testing.T) {
	base := filepath.Join(t.TempDir(), "none")
	if err := (&Figure{}).Save(base); err == nil {
		t.Error("no error about a figure without panels")
	}
	f := &Figure{Panels: []Panel{{Title: "odd", Lines: []Series{{Name: "a", X: []float64{1}, Y: nil}}}}}
	if err := f.Save(base); err == nil || !strings.Contains(err.Error(), "odd") {
		t.Errorf("error %v, want one that names the panel", err)
	}
	if err := sample().Save(filepath.Join(t.TempDir(), "missing", "x")); err == nil {
		t.Error("no error about a folder that is not there")
	}
}

// TestPalette checks that the first dozen series differ in colour or dashes.
func TestPalette(t *testing.T) {
	seen := map[string]bool{}
	for k := range 12 {
		line, glyph := Series{}.style(k)
		r, g, b, _ := line.Color.RGBA()
		key := fmt.Sprint(r, g, b, line.Dashes)
		if seen[key] {
			t.Errorf("series %d looks like another", k)
		}
		seen[key] = true
		if glyph.Color != line.Color {
			t.Errorf("series %d has markers of another colour", k)
		}
	}
}

// TestUnnamedSeries checks that series without a name take no space in a legend.
func TestUnnamedSeries(t *testing.T) {
	line := Series{X: []float64{1, 2}, Y: []float64{3, 4}}
	f := &Figure{Panels: []Panel{{Lines: []Series{line}}}}
	bare, _ := f.Size()
	if bare != panelWidth {
		t.Errorf("%v wide without a name, want a panel's %v", bare, panelWidth)
	}
	line.Name = "named"
	f.Panels[0].Lines = append(f.Panels[0].Lines, line)
	if named, _ := f.Size(); named <= bare {
		t.Errorf("%v wide with a name", named)
	}
}

// TestColorsApart checks that no two of the first eleven colours, as many as a drawing has,
// look alike.
func TestColorsApart(t *testing.T) {
	for k := range 11 {
		for j := range k {
			a, b := Color(k), Color(j)
			square := func(x, y uint8) float64 { return math.Pow(float64(x)-float64(y), 2) }
			if distance := math.Sqrt(square(a.R, b.R) + square(a.G, b.G) + square(a.B, b.B)); distance < 60 {
				t.Errorf("colours %d and %d are %v and %v", j, k, b, a)
			}
		}
	}
}
