package notebook

import (
	"cmp"
	"fmt"
	"html"
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
		d.node(&b, node, at[k], colour(classes, d.class(node)))
	}
	d.legend(&b, classes)
	b.WriteString("</svg>")
	return &Chart{title: d.Title, svg: string(markup.Clean([]byte(b.String())))}, nil
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

const otherColour = "#bbbbbb"

// colour returns the colour of a class. The first classes have their own.
func colour(classes []int32, class int32) string {
	palette := figure.Palette()[1:] // black is for outlines
	k := slices.Index(classes, class)
	if k < 0 || k >= len(palette) {
		return otherColour
	}
	return fmt.Sprintf("#%02x%02x%02x", palette[k].R, palette[k].G, palette[k].B)
}

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
	fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="5" fill="%s" stroke="white" stroke-width="0.7"><title>%s</title></circle>`,
		at[0], at[1], fill, html.EscapeString(title))
}

func diamond(at [2]float64) string {
	return fmt.Sprintf("M%.1f %.1fl6.5 6.5l-6.5 6.5l-6.5 -6.5z", at[0], at[1]-6.5)
}

// legend lists the colours beside the drawing.
func (d Drawing) legend(b *strings.Builder, classes []int32) {
	x, y := float64(drawingWidth-legendColumn+8), float64(drawingTop+12)
	line := func(mark, text string) {
		room := float64(legendColumn - 8 - 14 - 4)
		fmt.Fprintf(b, `%s<text %sx="%.0f" y="%.0f" fill="black">%s</text>`, mark, figure.TextLength(text, 13, room), x+14, y+4.5, html.EscapeString(text))
		y += 22
	}
	disc := func(fill string) string {
		return fmt.Sprintf(`<circle cx="%.0f" cy="%.0f" r="5" fill="%s"/>`, x, y, fill)
	}
	own := min(len(classes), len(figure.Palette())-1)
	for _, c := range classes[:own] {
		line(disc(colour(classes, c)), d.name(c))
	}
	if len(classes) > own {
		line(disc(otherColour), "other classes")
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
		mark := fmt.Sprintf(`<path d="%s" fill="white" stroke="black" stroke-width="1.5"/>`, diamond([2]float64{x, y}))
		line(mark, fmt.Sprintf("wrong: %d of %d", wrong, known))
	}
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
