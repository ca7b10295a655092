package figure

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// numbers numbers the names of series over all panels. It returns the first series of each.
func (f *Figure) numbers() (first []Series, number map[string]int) {
	number = map[string]int{}
	for _, p := range f.Panels {
		for _, s := range slices.Concat(p.Lines, p.Points) {
			if _, seen := number[s.Name]; !seen {
				number[s.Name] = len(first)
				first = append(first, s)
			}
		}
	}
	return first, number
}

// legend lists every named series and fitted line once.
func (f *Figure) legend() *plot.Legend {
	l := plot.NewLegend()
	sans(&l.TextStyle)
	l.TextStyle.Font.Size = font.Points(textSize - 1)
	l.ThumbnailWidth = 1.2 * vg.Centimeter
	l.Padding = vg.Millimeter
	first, _ := f.numbers()
	for k, s := range first {
		if s.Name == "" || f.NoLegend {
			continue
		}
		line, points := new(plotter.Line), new(plotter.Scatter)
		if line.LineStyle, points.GlyphStyle = s.style(k); f.onlyPoints(s.Name) {
			l.Add(s.Name, points)
		} else {
			l.Add(s.Name, line, points)
		}
	}
	seen := map[string]bool{}
	for _, p := range f.Panels {
		if p.Fit != nil && !seen[p.Fit.Name] {
			seen[p.Fit.Name] = true
			l.Add(p.Fit.Name, &plotter.Line{LineStyle: fitStyle()})
		}
	}
	return &l
}

func (f *Figure) onlyPoints(name string) bool {
	return !slices.ContainsFunc(f.Panels, func(p Panel) bool {
		return slices.ContainsFunc(p.Lines, func(s Series) bool { return s.Name == name })
	})
}

// legendWidth returns the width of a legend, 0 for an empty one.
func legendWidth(l *plot.Legend) vg.Length {
	return l.Rectangle(draw.Canvas{}).Size().X // it reads the corners only
}
