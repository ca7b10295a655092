package tune

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Figure shows a search, of the rows that Search.Run returns: the scores of all settings over
// mini-batches, and for each option the scores over its values, rung by rung. score names the
// metric.
func Figure(space []Dimension, settings []Setting, rows []Row, score string) *figure.Figure {
	f := &figure.Figure{Title: "Search of settings", Columns: 3}
	first := figure.Panel{Title: "settings over training", X: "mini-batches", Y: "validation " + score, LogX: true}
	first.Lines = figure.Curves(rows, func(r Row) (string, float64, float64, float64) {
		return strconv.Itoa(r.Setting), float64(r.Batches), r.Valid, known(r.SEM)
	})
	for k, line := range first.Lines {
		if first.Lines[k].Name = ""; line.Name == strconv.Itoa(Best(rows).Setting) {
			first.Lines[k].Name = "the best setting"
		}
	}
	// The line of the best setting is drawn over the others.
	slices.SortStableFunc(first.Lines, func(a, b figure.Series) int { return len(a.Name) - len(b.Name) })
	f.Panels = append(f.Panels, first)
	for k := range space {
		f.Panels = append(f.Panels, panel(&space[k], k, settings, rows, score))
	}
	return f
}

// panel shows the scores over the values of dimension k.
func panel(d *Dimension, k int, settings []Setting, rows []Row, score string) figure.Panel {
	p := figure.Panel{Title: d.Option, X: d.Option, Y: "validation " + score, Names: d.Values}
	at := func(s Setting) float64 { return float64(slices.Index(d.Values, s[k])) }
	if len(d.Values) == 0 {
		at = func(s Setting) float64 {
			x, _ := strconv.ParseFloat(s[k], 64) // Draw wrote a number
			return x
		}
		p.LogX = d.Log
	}
	p.Points = figure.Curves(rows, func(r Row) (string, float64, float64, float64) {
		return fmt.Sprintf("after %d mini-batches", r.Batches), at(settings[r.Setting]), r.Valid, known(r.SEM)
	})
	return p
}

// known returns the length of an error bar, 0 if it is not known.
func known(x float64) float64 {
	if !finite.Is(x) {
		return 0
	}
	return x
}
