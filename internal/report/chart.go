package report

import (
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"

	"gonum.org/v1/plot"

	"github.com/gcn-layerwise/gcn/internal/axis"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// chart is one SVG: lines, or bars, one value with an error bar for each name.
type chart struct {
	Title, X, Y string
	Lines       []line
	Bars        []bar
}

// line is a curve in the style of its group.
type line struct {
	Name  string // for the tooltip
	Group int
	X, Y  []float64
	SD    []float64 // half the height of the band around the curve; nil for none
	Thin  bool
}

// bar is a mean with its standard deviation, and the values behind it. A chart can
// show the mean and the values.
type bar struct {
	Name   string
	Group  int
	Values []float64
	Mean   float64
	SD     float64
}

// The layout of a chart, in the units of its view box.
const (
	chartWidth, chartHeight = 560, 340
	marginLeft, marginRight = 84, 16
	marginTop, marginBottom = 36, 46
	barHeight               = 34
	plotWidth               = chartWidth - marginLeft - marginRight
)

// titleLength, labelLength and tickLength return the width attributes of a text of that
// class. The style sheet has the same sizes.
func titleLength(text string) string { return figure.TextLength(text, 16, plotWidth) }

func labelLength(text string, most float64) string { return figure.TextLength(text, 13, most) }

func tickLength(text string, most float64) string { return figure.TextLength(text, 12, most) }

// styles is the number of line styles in the page's style sheet.
const styles = 8

// SVG renders the chart.
func (c *chart) SVG() template.HTML {
	if len(c.Bars) > 0 {
		return c.barSVG()
	}
	return c.lineSVG()
}

func (c *chart) lineSVG() template.HTML {
	var b strings.Builder
	x, y := newScale(marginLeft, chartWidth-marginRight), newScale(chartHeight-marginBottom, marginTop)
	for _, l := range c.Lines {
		for k := range l.X {
			if drawable(l.X[k], l.Y[k]) {
				x.Include(l.X[k])
				y.Include(l.Y[k])
				if l.SD != nil {
					y.Include(l.Y[k] - l.SD[k])
					y.Include(l.Y[k] + l.SD[k])
				}
			}
		}
	}
	if x.Low > 0 && x.Low < 0.2*x.High {
		x.Include(0)
	}
	x.widen(0)
	y.widen(0.04)
	c.open(&b, chartHeight)
	for _, v := range y.ticks(6) {
		at := y.at(v.Value)
		fmt.Fprintf(&b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`, marginLeft, chartWidth-marginRight, at, at)
		fmt.Fprintf(&b, `<text %sclass="tick" x="%d" y="%.1f" text-anchor="end">%s</text>`, tickLength(v.Label, marginLeft-30), marginLeft-8, at+4, v.Label)
	}
	for _, v := range x.ticks(6) {
		at := x.at(v.Value)
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`, at, at, marginTop, chartHeight-marginBottom)
		fmt.Fprintf(&b, `<text %sclass="tick" x="%.1f" y="%d" text-anchor="middle">%s</text>`, tickLength(v.Label, chartWidth/7), at, chartHeight-marginBottom+18, v.Label)
	}
	c.labels(&b, chartHeight)
	empty := true
	for _, l := range c.Lines { // below all curves
		if band := l.band(x, y); band != "" {
			fmt.Fprintf(&b, `<path class="band s%d" d="%s"/>`, l.Group%styles, band)
		}
	}
	for _, l := range c.Lines {
		path, points := l.path(x, y)
		if points == 0 {
			continue
		}
		empty = false
		class := "curve"
		if l.Thin {
			class = "curve thin"
		}
		fmt.Fprintf(&b, `<path class="%s s%d" d="%s"><title>%s</title></path>`, class, l.Group%styles, path, html.EscapeString(l.Name))
		if points == 1 {
			fmt.Fprintf(&b, `<circle class="dot s%d" r="3" cx="%s"/>`, l.Group%styles, strings.Replace(strings.TrimPrefix(path, "M"), ",", `" cy="`, 1))
		}
	}
	if empty {
		fmt.Fprintf(&b, `<text %sclass="label" x="%d" y="%d" text-anchor="middle">no evaluation yet</text>`, labelLength("no evaluation yet", plotWidth),
			(marginLeft+chartWidth-marginRight)/2, (marginTop+chartHeight-marginBottom)/2)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) // every text in it is escaped
}

// path returns the line's SVG path and its number of points. The path is broken at
// missing values.
func (l *line) path(x, y *scale) (string, int) {
	var b strings.Builder
	points, pen := 0, "M"
	for k := range l.X {
		if !drawable(l.X[k], l.Y[k]) {
			pen = "M"
			continue
		}
		fmt.Fprintf(&b, "%s%.1f,%.1f", pen, x.at(l.X[k]), y.at(l.Y[k]))
		pen = "L"
		points++
	}
	return b.String(), points
}

// band returns the SVG path around the parts of the line that have a standard deviation.
func (l *line) band(x, y *scale) string {
	if l.SD == nil {
		return ""
	}
	var b strings.Builder
	from := 0
	for k := 0; k <= len(l.X); k++ {
		if k < len(l.X) && drawable(l.X[k], l.Y[k]-l.SD[k], l.Y[k]+l.SD[k]) {
			continue
		}
		if k-from > 1 {
			pen := "M"
			for i := from; i < k; i++ {
				fmt.Fprintf(&b, "%s%.1f,%.1f", pen, x.at(l.X[i]), y.at(l.Y[i]+l.SD[i]))
				pen = "L"
			}
			for i := k - 1; i >= from; i-- {
				fmt.Fprintf(&b, "L%.1f,%.1f", x.at(l.X[i]), y.at(l.Y[i]-l.SD[i]))
			}
			b.WriteString("Z")
		}
		from = k + 1
	}
	return b.String()
}

// barSVG draws one row for each bar: the name, dots for the values, mean and
// standard deviation.
func (c *chart) barSVG() template.HTML {
	const names = 300
	var b strings.Builder
	height := marginTop + len(c.Bars)*barHeight + marginBottom
	x := newScale(names, chartWidth+names-80)
	for _, v := range c.Bars {
		for _, value := range slices.Concat(v.Values, []float64{v.Mean, v.Mean - v.SD, v.Mean + v.SD}) {
			x.Include(value)
		}
	}
	x.widen(0.05)
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`, chartWidth+names, height, html.EscapeString(c.Title))
	fmt.Fprintf(&b, `<text %sclass="title" x="%d" y="20" text-anchor="middle">%s</text>`, titleLength(c.Title), (chartWidth+2*names-80)/2, html.EscapeString(c.Title))
	for _, v := range x.ticks(7) {
		at := x.at(v.Value)
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`, at, at, marginTop, height-marginBottom)
		fmt.Fprintf(&b, `<text %sclass="tick" x="%.1f" y="%d" text-anchor="middle">%s</text>`, tickLength(v.Label, chartWidth/8), at, height-marginBottom+18, v.Label)
	}
	fmt.Fprintf(&b, `<text %sclass="label" x="%d" y="%d" text-anchor="middle">%s</text>`, labelLength(c.X, plotWidth), (chartWidth+2*names-80)/2, height-8, html.EscapeString(c.X))
	labels := c.barLabels(44)
	for k, v := range c.Bars {
		at := float64(marginTop + k*barHeight + barHeight/2)
		style := v.Group % styles
		fmt.Fprintf(&b, `<text %sclass="tick" x="%d" y="%.1f" text-anchor="end">%s</text>`, tickLength(labels[k], names-20), names-14, at+4, html.EscapeString(labels[k]))
		for _, value := range v.Values {
			fmt.Fprintf(&b, `<circle class="faint s%d" cx="%.1f" cy="%.1f" r="3"/>`, style, x.at(value), at)
		}
		text := fmt.Sprintf("%s: %s", v.Name, axis.Text(v.Mean))
		if v.SD > 0 && drawable(v.Mean-v.SD, v.Mean+v.SD) {
			low, high := x.at(v.Mean-v.SD), x.at(v.Mean+v.SD)
			fmt.Fprintf(&b, `<path class="error s%d" d="M%.1f,%.1fH%.1fM%.1f,%.1fv10M%.1f,%.1fv10"/>`, style, low, at, high, low, at-5, high, at-5)
			text += " ± " + axis.Text(v.SD)
		}
		text += fmt.Sprintf(", %d runs", len(v.Values))
		fmt.Fprintf(&b, `<circle class="dot s%d" cx="%.1f" cy="%.1f" r="5"><title>%s</title></circle>`, style, x.at(v.Mean), at, html.EscapeString(text))
		mean := fmt.Sprintf("%.4g", v.Mean)
		fmt.Fprintf(&b, `<text %sclass="value" x="%d" y="%.1f">%s</text>`, tickLength(mean, 70), chartWidth+names-72, at+4, mean)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) // every text in it is escaped
}

// drawable reports whether a chart can show all the values.
func drawable(values ...float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return !axis.Drawable(v) })
}

func (c *chart) open(b *strings.Builder, height int) {
	fmt.Fprintf(b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`, chartWidth, height, html.EscapeString(c.Title))
	fmt.Fprintf(b, `<text %sclass="title" x="%d" y="20" text-anchor="middle">%s</text>`, titleLength(c.Title), (marginLeft+chartWidth-marginRight)/2, html.EscapeString(c.Title))
}

func (c *chart) labels(b *strings.Builder, height int) {
	fmt.Fprintf(b, `<text %sclass="label" x="%d" y="%d" text-anchor="middle">%s</text>`, labelLength(c.X, plotWidth), (marginLeft+chartWidth-marginRight)/2, height-8, html.EscapeString(c.X))
	middle := (marginTop + height - marginBottom) / 2
	fmt.Fprintf(b, `<text %sclass="label" x="14" y="%d" text-anchor="middle" transform="rotate(-90 14 %d)">%s</text>`, labelLength(c.Y, float64(height-marginTop-marginBottom)), middle, middle, html.EscapeString(c.Y))
}

// scale maps values to coordinates.
type scale struct {
	from, to float64 // coordinates
	axis.Range
}

func newScale(from, to float64) *scale {
	return &scale{from, to, axis.Empty()}
}

// widen adds room of the given share at both ends of the range.
func (s *scale) widen(share float64) {
	s.Range = s.Widened()
	pad := share * (s.High - s.Low)
	s.Low, s.High = s.Low-pad, s.High+pad
}

func (s *scale) at(v float64) float64 {
	return s.from + (v-s.Low)/(s.High-s.Low)*(s.to-s.from)
}

// ticks returns the labelled ticks, up to n+1.
func (s *scale) ticks(n int) []plot.Tick {
	return slices.DeleteFunc(s.Ticks(n), plot.Tick.IsMinor)
}

// barLabels returns different labels of the bars, of at most the given number of letters.
// The parts that all names share are left out.
func (c *chart) barLabels(most int) []string {
	const between = " · "
	count := map[string]int{}
	for _, b := range c.Bars {
		for _, part := range strings.Split(b.Name, between) {
			count[part]++
		}
	}
	labels := make([]string, len(c.Bars))
	taken := map[string]bool{}
	for k, b := range c.Bars {
		own := slices.DeleteFunc(strings.Split(b.Name, between), func(part string) bool { return count[part] >= len(c.Bars) })
		name := b.Name
		if len([]rune(name)) > most && len(own) > 0 {
			name = strings.Join(own, between)
		}
		labels[k] = shorten(name, most)
		if taken[labels[k]] {
			number := fmt.Sprintf(" (%d)", k+1)
			labels[k] = shorten(name, most-len(number)) + number
		}
		taken[labels[k]] = true
	}
	return labels
}

// shorten replaces the middle of a long name by an ellipsis.
func shorten(name string, most int) string {
	letters := []rune(name)
	if len(letters) <= most {
		return name
	}
	half := (most - 1) / 2
	return string(letters[:half]) + "…" + string(letters[len(letters)-half:])
}
