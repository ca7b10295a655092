package figure

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// numbers numbers the series over all panels.
func (f *Figure) numbers() (names []string, number map[string]int) {
	number = map[string]int{}
	for _, p := range f.Panels {
		for _, s := range append(append([]Series{}, p.Lines...), p.Points...) {
			if _, seen := number[s.Name]; !seen {
				number[s.Name] = len(names)
				names = append(names, s.Name)
			}
		}
	}
	return names, number
}

// legend lists every named series and fitted line once.
func (f *Figure) legend() (*plot.Legend, error) {
	l := plot.NewLegend()
	sans(&l.TextStyle)
	l.TextStyle.Font.Size = font.Points(textSize - 1)
	l.ThumbnailWidth = 1.2 * vg.Centimeter
	l.Padding = vg.Millimeter
	names, number := f.numbers()
	for _, name := range names {
		if name == "" {
			continue
		}
		line, err := plotter.NewLine(plotter.XYs{{}})
		if err != nil {
			return nil, err
		}
		points, err := plotter.NewScatter(plotter.XYs{{}})
		if err != nil {
			return nil, err
		}
		line.LineStyle, points.GlyphStyle = style(number[name])
		if f.onlyPoints(name) {
			l.Add(name, points)
		} else {
			l.Add(name, line, points)
		}
	}
	seen := map[string]bool{}
	for _, p := range f.Panels {
		if p.Fit != nil && !seen[p.Fit.Name] {
			seen[p.Fit.Name] = true
			line, err := plotter.NewLine(plotter.XYs{{}})
			if err != nil {
				return nil, err
			}
			line.LineStyle = fitStyle()
			l.Add(p.Fit.Name, line)
		}
	}
	return &l, nil
}

func (f *Figure) onlyPoints(name string) bool {
	for _, p := range f.Panels {
		for _, s := range p.Lines {
			if s.Name == name {
				return false
			}
		}
	}
	return true
}

// legendWidth returns the width of a legend, 0 for an empty one.
func legendWidth(l *plot.Legend) vg.Length {
	c := vgimg.New(50*vg.Centimeter, 50*vg.Centimeter)
	return l.Rectangle(draw.New(c)).Size().X
}
