package notebook

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
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
	Truth []int32  // likewise; a node has a black edge if its truth is known and differs from Class
	Names []string // names of the classes; nil means their numbers
}

const (
	mostDrawn  = 1000
	nodeRadius = 4 // points
)

// Chart lays the nodes out and draws them. Equal drawings give equal pictures. The most frequent
// classes have the most different colours. The error names the field that does not fit. Cost:
// quadratic in the number of nodes; 0.1 s for 200.
func (d Drawing) Chart() (*Chart, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	if d.Class == nil {
		d.Class, d.Truth = slices.Repeat([]int32{-1}, d.Graph.Rows), nil
	}
	pairs := d.edges()
	at := layout(len(d.Nodes), pairs)
	panel := figure.Panel{Bare: true}
	for _, e := range pairs {
		panel.Edges = append(panel.Edges, [2]figure.XY{at[e[0]], at[e[1]]})
	}
	classes := d.classes()
	series := make([]figure.Series, 2+len(classes)) // wrong ones, a black edge below the node's mark; without a class; by class
	add := func(k int, p figure.XY) {
		series[k].X, series[k].Y = append(series[k].X, p.X), append(series[k].Y, p.Y)
	}
	known, wrong := 0, 0
	for k, node := range d.Nodes {
		add(2+slices.Index(classes, d.Class[node]), at[k]) // -1: without a class
		if d.Truth == nil || d.Truth[node] < 0 {
			continue
		}
		if known++; d.Class[node] != d.Truth[node] {
			wrong++
			add(0, at[k])
		}
	}
	for k := range series {
		series[k].Disc = nodeRadius
	}
	if series[0].Disc *= 1.5; known > 0 {
		series[0].Name = fmt.Sprintf("wrong: %d of %d", wrong, known)
	}
	for k, c := range classes {
		series[2+k].Name = fmt.Sprintf("class %d", c)
		if int(c) < len(d.Names) {
			series[2+k].Name = d.Names[c]
		}
	}
	if len(series[1].X) == 0 {
		series = slices.Delete(series, 1, 2)
	}
	panel.Points = series
	return Draw(&figure.Figure{Title: d.Title, Panels: []figure.Panel{panel}}), nil
}

func (d Drawing) check() error {
	if d.Graph == nil || len(d.Nodes) == 0 || len(d.Nodes) > mostDrawn {
		return fmt.Errorf("notebook: a drawing needs a graph and 1 to %d nodes, not %d", mostDrawn, len(d.Nodes))
	}
	for _, classes := range [][]int32{d.Class, d.Truth} {
		if classes != nil && len(classes) != d.Graph.Rows {
			return fmt.Errorf("notebook: classes of %d nodes for a graph of %d", len(classes), d.Graph.Rows)
		}
	}
	return checkNodes(d.Graph, d.Nodes...)
}

// checkNodes returns an error unless the graph is valid and has the nodes.
func checkNodes(g *graph.CSR, nodes ...int32) error {
	if g == nil {
		return errors.New("notebook: the graph is nil")
	}
	if err := g.Validate(); err != nil {
		return fmt.Errorf("notebook: %w", err)
	}
	for k, node := range nodes {
		if node < 0 || int(node) >= min(g.Rows, g.Cols) || g.Rows != g.Cols {
			return fmt.Errorf("notebook: node %d of the list is %d, in a matrix of %d×%d", k, node, g.Rows, g.Cols)
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

// classes returns the drawn classes, the most frequent first.
func (d Drawing) classes() []int32 {
	count := map[int32]int{}
	for _, node := range d.Nodes {
		if c := d.Class[node]; c >= 0 {
			count[c]++
		}
	}
	return slices.SortedFunc(maps.Keys(count), func(a, b int32) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
}

// Neighborhood returns up to most nodes around start, breadth first, beginning with
// start. It visits up to fan neighbours of each node, evenly spaced over its row, so
// that a hub does not fill the picture. fan 0 means all. The error names the
// argument that does not fit.
func Neighborhood(g *graph.CSR, start int32, most, fan int) ([]int32, error) {
	if err := checkNodes(g, start); err != nil {
		return nil, err
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

// layout places the vertices of a small graph in the plane by the algorithm
// of Fruchterman & Reingold (1991): edges pull, all pairs push, and steps shrink.
// edges are pairs of vertices below n. Vertices with neighbouring numbers start near
// each other, on a spiral, so that the result depends only on the arguments.
// gonum's layouts do not serve: they iterate over maps in random order. Cost:
// O(rounds·n²).
func layout(n int, edges [][2]int32) []figure.XY {
	const rounds = 400
	at, force := make([]figure.XY, n), make([]figure.XY, n)
	for k := range at {
		radius := math.Sqrt((float64(k) + 0.5) / float64(n))
		angle := float64(k) * math.Pi * (3 - math.Sqrt(5))
		at[k] = figure.XY{X: radius * math.Cos(angle), Y: radius * math.Sin(angle)}
	}
	ideal := 1.8 / math.Sqrt(float64(max(n, 1)))
	// push moves i away from j by their distance times strength.
	push := func(i, j int, dx, dy, strength float64) {
		force[i].X, force[i].Y = force[i].X+dx*strength, force[i].Y+dy*strength
		force[j].X, force[j].Y = force[j].X-dx*strength, force[j].Y-dy*strength
	}
	for round := range rounds {
		clear(force)
		for i, p := range at {
			for j, q := range at[:i] {
				dx, dy := p.X-q.X, p.Y-q.Y
				push(i, j, dx, dy, ideal*ideal/max(dx*dx+dy*dy, 1e-6))
			}
			// A little gravity keeps unconnected parts on the page.
			force[i].X, force[i].Y = force[i].X-0.3*p.X, force[i].Y-0.3*p.Y
		}
		for _, e := range edges {
			i, j := int(e[0]), int(e[1])
			dx, dy := at[i].X-at[j].X, at[i].Y-at[j].Y
			push(i, j, dx, dy, -math.Sqrt(dx*dx+dy*dy)/ideal)
		}
		step := 0.2 * (1 - float64(round)/rounds)
		for k, f := range force {
			if size := math.Hypot(f.X, f.Y); size > 0 {
				scale := min(size, step) / size
				at[k].X, at[k].Y = at[k].X+f.X*scale, at[k].Y+f.Y*scale
			}
		}
	}
	return at
}

// Classes returns the predicted class of each row of logits, (rows, classes): the
// class with the highest score, the first of equal ones. It ignores an incomplete
// last row. Without classes it returns nil.
func Classes(logits []float32, classes int) []int32 {
	if classes <= 0 {
		return nil
	}
	best := make([]int32, len(logits)/classes)
	for i := range best {
		row := logits[i*classes : (i+1)*classes]
		for c, v := range row {
			if v > row[best[i]] {
				best[i] = int32(c)
			}
		}
	}
	return best
}

// Agreement returns the share of nodes with the same class in a and b, which hold a
// class for every node of the graph; 0 without nodes. A node outside a or b does
// not agree.
func Agreement(a, b, nodes []int32) float64 {
	if len(nodes) == 0 {
		return 0
	}
	same := 0
	for _, i := range nodes {
		if i >= 0 && int(i) < len(a) && int(i) < len(b) && a[i] == b[i] {
			same++
		}
	}
	return float64(same) / float64(len(nodes))
}
