package tune

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// mostPanels is the greatest number of options that a figure shows.
const mostPanels = 8

// Figure shows a search, of the rows that Search.Run returns: the scores of all settings over
// mini-batches, and for each option the scores over its values, rung by rung. score names the
// metric.
func Figure(space []Dimension, settings []Setting, rows []Row, score string) *figure.Figure {
	f := &figure.Figure{Title: "Search of settings", Columns: 3}
	first := figure.Panel{Title: "settings over training", X: "mini-batches", Y: "validation " + score, LogX: true}
	best := -1
	for _, r := range rows {
		if r.Kept {
			best = r.Setting // the last one is of the last rung
		}
	}
	for k := range settings {
		line := figure.Series{}
		if k == best {
			line.Name = "the best setting"
		}
		for _, r := range rows {
			if r.Setting == k {
				line.X, line.Y = append(line.X, float64(r.Batches)), append(line.Y, float64(r.Valid))
				line.Error = append(line.Error, known(r.SEM))
			}
		}
		first.Lines = append(first.Lines, line)
	}
	// The line of the best setting is drawn over the others.
	slices.SortStableFunc(first.Lines, func(a, b figure.Series) int { return len(a.Name) - len(b.Name) })
	f.Panels = append(f.Panels, first)
	for k := range space[:min(len(space), mostPanels)] {
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
		p.Decades = d.Log && d.High >= 100*d.Low
	}
	for _, r := range rows {
		name := fmt.Sprintf("after %d mini-batches", r.Batches)
		s := slices.IndexFunc(p.Points, func(s figure.Series) bool { return s.Name == name })
		if s < 0 {
			s = len(p.Points)
			p.Points = append(p.Points, figure.Series{Name: name})
		}
		of := &p.Points[s]
		of.X, of.Y = append(of.X, at(settings[r.Setting])), append(of.Y, float64(r.Valid))
		of.Error = append(of.Error, known(r.SEM))
	}
	return p
}

// known returns the length of an error bar, 0 if it is not known.
func known(x finite.Number) float64 {
	if !finite.Is(float64(x)) {
		return 0
	}
	return float64(x)
}
