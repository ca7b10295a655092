package notebook

import (
	"cmp"
	"fmt"
	"html"
	"image/color"
	"io"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/markup"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Drawing is a picture of a small part of a graph, its nodes coloured by class.
type Drawing struct {
	Title string
	Graph *graph.CSR // undirected adjacency matrix; required

	// Nodes are the drawn nodes, distinct, with all edges between them. At most 1000;
	// required. Neighborhood returns some.
	Nodes []int32

	Class []int32  // one a node of the graph, -1 for none; nil draws all alike
	Truth []int32  // likewise; a node is a diamond if its truth is known and differs from Class
	Names []string // names of the classes; nil means their numbers
}

const (
	drawingWidth, drawingHeight = 760, 460
	drawingTop, drawingEdge     = 40, 14
	legendColumn                = 150
	mostDrawn                   = 1000
	discRadius                  = 5
	diamondRadius               = 6.5
)

// Chart lays the nodes out and draws them. Equal drawings give equal pictures. The
// six most frequent classes have colours of their own. The error names the field
// that does not fit. Cost: quadratic in the number of nodes; 0.1 s for 200.
func (d Drawing) Chart() (*Chart, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	edges := d.edges()
	at := layout(len(d.Nodes), edges)
	for k := range at {
		at[k][0] = drawingEdge + at[k][0]*(drawingWidth-legendColumn-2*drawingEdge)
		at[k][1] = drawingTop + at[k][1]*(drawingHeight-drawingTop-drawingEdge)
	}
	classes := d.byNumber()
	legend := d.legend(classes)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" style="max-width:100%%" font-family="%s" font-size="13">`,
		drawingWidth, drawingHeight, drawingWidth, drawingHeight, figure.Fonts)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/><text %sx="%d" y="22" font-size="15" fill="black">%s</text>`,
		drawingWidth, drawingHeight, figure.TextLength(d.Title, 15, drawingWidth-2*drawingEdge), drawingEdge, html.EscapeString(d.Title))
	b.WriteString(`<path stroke="#888" stroke-opacity="0.45" fill="none" d="`)
	for _, e := range edges {
		p, q := at[e[0]], at[e[1]]
		fmt.Fprintf(&b, "M%.1f %.1fL%.1f %.1f", p[0], p[1], q[0], q[1])
	}
	b.WriteString(`"/>`)
	for k, node := range d.Nodes {
		d.node(&b, node, at[k], hex(colour(classes, d.class(node))))
	}
	for _, l := range legend {
		l.writeSVG(&b)
	}
	b.WriteString("</svg>")
	paint := func(p *painter) {
		p.text(d.Title, drawingEdge, 22, 15, drawingWidth-2*drawingEdge)
		for _, e := range edges {
			p.line(at[e[0]], at[e[1]], color.NRGBA{0x88, 0x88, 0x88, 0x73})
		}
		for k, node := range d.Nodes {
			if fill := colour(classes, d.class(node)); d.wrong(node) {
				p.diamond(at[k], fill)
			} else {
				p.disc(at[k], discRadius, fill)
			}
		}
		for _, l := range legend {
			l.paint(p)
		}
	}
	return &Chart{title: d.Title, svg: string(markup.Clean([]byte(b.String()))), png: func(w io.Writer) error {
		return writePNG(w, drawingWidth, drawingHeight, paint)
	}}, nil
}

func (d Drawing) check() error {
	if d.Graph == nil || len(d.Nodes) == 0 || len(d.Nodes) > mostDrawn {
		return fmt.Errorf("notebook: a drawing needs a graph and 1 to %d nodes, not %d", mostDrawn, len(d.Nodes))
	}
	if err := d.Graph.Validate(); err != nil {
		return fmt.Errorf("notebook: %w", err)
	}
	n := d.Graph.Rows
	for _, classes := range [][]int32{d.Class, d.Truth} {
		if classes != nil && len(classes) != n {
			return fmt.Errorf("notebook: classes of %d nodes for a graph of %d", len(classes), n)
		}
	}
	for k, node := range d.Nodes {
		if node < 0 || int(node) >= n {
			return fmt.Errorf("notebook: node %d of the drawing is %d, outside [0, %d)", k, node, n)
		}
	}
	return nil
}

// edges returns each edge between the drawn nodes once, as indices into Nodes.
func (d Drawing) edges() [][2]int32 {
	place := make(map[int32]int32, len(d.Nodes))
	for k, node := range d.Nodes {
		place[node] = int32(k)
	}
	var edges [][2]int32
	for k, node := range d.Nodes {
		for _, j := range d.Graph.Row(int(node)) {
			if other, drawn := place[j]; drawn && other > int32(k) {
				edges = append(edges, [2]int32{int32(k), other})
			}
		}
	}
	return edges
}

func (d Drawing) class(node int32) int32 {
	if d.Class == nil {
		return -1
	}
	return d.Class[node]
}

// wrong reports whether the true class of a node is known and differs from Class.
func (d Drawing) wrong(node int32) bool {
	return d.Class != nil && d.Truth != nil && d.Truth[node] >= 0 && d.Class[node] != d.Truth[node]
}

func (d Drawing) name(class int32) string {
	if class >= 0 && int(class) < len(d.Names) {
		return d.Names[class]
	}
	return fmt.Sprintf("class %d", class)
}

// byNumber returns the drawn classes, the most frequent first.
func (d Drawing) byNumber() []int32 {
	count := map[int32]int{}
	var classes []int32
	for _, node := range d.Nodes {
		c := d.class(node)
		if c < 0 {
			continue
		}
		if count[c] == 0 {
			classes = append(classes, c)
		}
		count[c]++
	}
	slices.SortFunc(classes, func(a, b int32) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	return classes
}

func otherColour() color.RGBA { return color.RGBA{0xbb, 0xbb, 0xbb, 0xff} }

// colour returns the colour of a class. The first classes have their own.
func colour(classes []int32, class int32) color.RGBA {
	palette := figure.Palette()[1:] // black is for outlines
	k := slices.Index(classes, class)
	if k < 0 || k >= len(palette) {
		return otherColour()
	}
	return palette[k]
}

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// node draws a node: a disc, or an outlined diamond if its class is wrong.
func (d Drawing) node(b *strings.Builder, node int32, at [2]float64, fill string) {
	title := fmt.Sprintf("node %d", node)
	if c := d.class(node); c >= 0 {
		title += ": " + d.name(c)
	}
	if d.wrong(node) {
		title += ", not " + d.name(d.Truth[node])
		fmt.Fprintf(b, `<path d="%s" fill="%s" stroke="black" stroke-width="1.5"><title>%s</title></path>`, diamond(at), fill, html.EscapeString(title))
		return
	}
	fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="%d" fill="%s" stroke="white" stroke-width="0.7"><title>%s</title></circle>`,
		at[0], at[1], discRadius, fill, html.EscapeString(title))
}

func diamond(at [2]float64) string {
	return fmt.Sprintf("M%.1f %.1fl6.5 6.5l-6.5 6.5l-6.5 -6.5z", at[0], at[1]-diamondRadius)
}

// legendLine is a mark with its meaning, beside the drawing.
type legendLine struct {
	at      [2]float64
	fill    color.RGBA
	diamond bool
	text    string
}

const legendRoom = legendColumn - 8 - 14 - 4 // of a text

func (l legendLine) writeSVG(b *strings.Builder) {
	if l.diamond {
		fmt.Fprintf(b, `<path d="%s" fill="white" stroke="black" stroke-width="1.5"/>`, diamond(l.at))
	} else {
		fmt.Fprintf(b, `<circle cx="%.0f" cy="%.0f" r="%d" fill="%s"/>`, l.at[0], l.at[1], discRadius, hex(l.fill))
	}
	fmt.Fprintf(b, `<text %sx="%.0f" y="%.0f" fill="black">%s</text>`, figure.TextLength(l.text, 13, legendRoom), l.at[0]+14, l.at[1]+4.5, html.EscapeString(l.text))
}

func (l legendLine) paint(p *painter) {
	if l.diamond {
		p.diamond(l.at, color.White)
	} else {
		p.disc(l.at, discRadius, l.fill)
	}
	p.text(l.text, l.at[0]+14, l.at[1]+4.5, 13, legendRoom)
}

// legend lists the colours.
func (d Drawing) legend(classes []int32) []legendLine {
	var lines []legendLine
	line := func(l legendLine) {
		l.at = [2]float64{drawingWidth - legendColumn + 8, float64(drawingTop + 12 + 22*len(lines))}
		lines = append(lines, l)
	}
	own := min(len(classes), len(figure.Palette())-1)
	for _, c := range classes[:own] {
		line(legendLine{fill: colour(classes, c), text: d.name(c)})
	}
	if len(classes) > own {
		line(legendLine{fill: otherColour(), text: "other classes"})
	}
	known, wrong := 0, 0
	for _, node := range d.Nodes {
		if d.Class == nil || d.Truth == nil || d.Truth[node] < 0 {
			continue
		}
		known++
		if d.wrong(node) {
			wrong++
		}
	}
	if known > 0 {
		line(legendLine{diamond: true, text: fmt.Sprintf("wrong: %d of %d", wrong, known)})
	}
	return lines
}

// Neighborhood returns up to most nodes around start, breadth first, beginning with
// start. It visits up to fan neighbours of each node, evenly spaced over its row, so
// that a hub does not fill the picture. fan 0 means all. The error names the
// argument that does not fit.
func Neighborhood(g *graph.CSR, start int32, most, fan int) ([]int32, error) {
	if g == nil {
		return nil, fmt.Errorf("notebook: a neighbourhood needs a graph")
	}
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("notebook: %w", err)
	}
	if g.Rows != g.Cols {
		return nil, fmt.Errorf("notebook: a neighbourhood needs a square matrix, not %d×%d", g.Rows, g.Cols)
	}
	if start < 0 || int(start) >= g.Rows {
		return nil, fmt.Errorf("notebook: node %d is outside [0, %d)", start, g.Rows)
	}
	nodes, seen := []int32{start}, map[int32]bool{start: true}
	for k := 0; k < len(nodes); k++ {
		row := g.Row(int(nodes[k]))
		step := 1.0
		if fan > 0 && len(row) > fan {
			step = float64(len(row)) / float64(fan)
		}
		for at := 0.0; int(at) < len(row); at += step {
			if len(nodes) >= most {
				return nodes, nil
			}
			if j := row[int(at)]; !seen[j] {
				seen[j] = true
				nodes = append(nodes, j)
			}
		}
	}
	return nodes, nil
}
