package figure

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostile are values that are close to each other, far apart, or not numbers.
func hostile() map[string][]float64 {
	return map[string][]float64{
		"none": nil, "NaN": {math.NaN(), math.NaN()}, "infinite": {math.Inf(1), math.Inf(-1), 1}, "zero": {0, 0}, "one": {0.35},
		"one ulp": {0.1, math.Nextafter(0.1, 1)}, "large ulp": {1e17, math.Nextafter(1e17, 1e18)}, "denormal": {5e-324, 1e-310},
		"largest": {-math.MaxFloat64, math.MaxFloat64}, "far apart": {1e-290, 1, 1e290}, "mixed": {0.2, math.NaN(), 0.4, math.Inf(1), 0.3},
	}
}

// hostilePanels shows values in every kind of panel.
func hostilePanels(name string, values []float64) []Panel {
	places := make([]float64, len(values))
	for k := range values {
		places[k] = float64(k)
	}
	cloud := []Series{{X: values, Y: values, Cloud: true}}
	line := []Series{{Name: "line", X: values, Y: values, Error: values}}
	panels := []Panel{
		{Title: name + ": lines", X: "x", Y: "y", Lines: line},
		{Title: name + ": log", X: "x", Y: "y", LogX: true, LogY: true, Lines: line},
		{Title: name + ": from 0", X: "x", Y: "y", LogX: true, FromZero: true, Lines: line},
		{Title: name + ": names", Y: "y", Names: []string{"a", "b", "c", "d", "e"}, Points: []Series{{Name: "points", X: places, Y: values, Error: values}}},
		{Title: name + ": cloud", X: "x", Y: "y", Points: cloud},
		{Title: name + ": log cloud", X: "x", Y: "y", LogX: true, LogY: true, Points: cloud},
		{Title: name + ": no counts", X: "x", Y: "y", FromZero: true, Bars: &Bars{Low: 0, High: 1}},
	}
	for _, v := range values {
		panels[4].Lines = []Series{Straight("fit", v, v, values)}
		panels[5].Lines = panels[4].Lines
		panels = append(panels, Panel{Title: name + ": bars", X: "x", Y: "y", FromZero: true, Bars: &Bars{Low: values[0], High: v, Counts: []int{3, 1, 2}}})
	}
	return panels
}

// TestHostileValues draws all of them. The figures are small and well-formed, and
// all coordinates are numbers.
func TestHostileValues(t *testing.T) {
	dir := t.TempDir()
	for name, values := range hostile() {
		t.Run(name, func(t *testing.T) {
			base := filepath.Join(dir, name)
			if err := (&Figure{Title: name, Panels: hostilePanels("panel", values), Columns: 4}).Save(base); err != nil {
				t.Fatal(err)
			}
			svg, err := os.ReadFile(base + ".svg")
			if err != nil {
				t.Fatal(err)
			}
			wantWellFormed(t, string(svg))
			if body := strings.ReplaceAll(string(svg), ">NaN<", "><"); strings.Contains(body, "NaN") || strings.Contains(body, "Inf") {
				t.Error("a coordinate is not a number")
			}
			if len(svg) > 300_000 {
				t.Errorf("%d bytes", len(svg))
			}
		})
	}
}

func wantWellFormed(t *testing.T, svg string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestHostileNames checks that names are escaped in the document.
func TestHostileNames(t *testing.T) {
	const name = "</text><script>alert(1)</script>&\"'\x1b[31m\x00\u202e\xff"
	f := &Figure{Title: name, Panels: []Panel{{
		Title: name, X: name, Y: name, Names: []string{name}, Caption: name, Lines: []Series{{Name: name, X: []float64{0}, Y: []float64{1}}},
	}}}
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	wantWellFormed(t, string(svg))
	for _, raw := range []string{"<script", "\x1b", "\x00", "\u202e"} {
		if strings.Contains(string(svg), raw) {
			t.Errorf("the document holds %q", raw)
		}
	}
	if err := f.Save(filepath.Join(t.TempDir(), "names")); err != nil {
		t.Error(err)
	}
}

// TestNil checks that a nil figure is an error.
func TestNil(t *testing.T) {
	var none *Figure
	if err := none.Save(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no error about no figure")
	}
}
