package notebook

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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
	mostDrawn = 1000
	mostNamed = 9 // classes with a colour of their own

	nodeRadius = 4 // points
)

// Chart lays the nodes out and draws them. Equal drawings give equal pictures. The
// nine most frequent classes have colours of their own. The error names the field
// that does not fit. Cost: quadratic in the number of nodes; 0.1 s for 200.
func (d Drawing) Chart() (*Chart, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	pairs := d.edges()
	at := layout(len(d.Nodes), pairs)
	panel := figure.Panel{Bare: true}
	for _, e := range pairs {
		panel.Edges = append(panel.Edges, [2]figure.XY{at[e[0]], at[e[1]]})
	}
	classes := d.classes()
	series := make([]figure.Series, 2+len(classes)) // wrong ones, a black edge below the node's mark; without a class; by class
	for k := range series {
		series[k].Disc = nodeRadius
	}
	add := func(k int, p figure.XY) {
		series[k].X, series[k].Y = append(series[k].X, p.X), append(series[k].Y, p.Y)
	}
	known, wrong := 0, 0
	for k, node := range d.Nodes {
		add(2+slices.Index(classes, d.class(node)), at[k]) // -1: without a class
		if d.Class == nil || d.Truth == nil || d.Truth[node] < 0 {
			continue
		}
		if known++; d.Class[node] != d.Truth[node] {
			wrong++
			add(0, at[k])
		}
	}
	if series[0].Disc *= 1.5; known > 0 {
		series[0].Name = fmt.Sprintf("wrong: %d of %d", wrong, known)
	}
	for n, c := range classes {
		name := &series[2+n].Name
		if *name = fmt.Sprintf("class %d", c); n >= mostNamed {
			*name = "other classes"
		} else if int(c) < len(d.Names) {
			*name = d.Names[c]
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

func (d Drawing) class(node int32) int32 {
	if d.Class == nil {
		return -1
	}
	return d.Class[node]
}

// classes returns the drawn classes, the most frequent first.
func (d Drawing) classes() []int32 {
	count := map[int32]int{}
	for _, node := range d.Nodes {
		count[d.class(node)]++
	}
	maps.DeleteFunc(count, func(class int32, _ int) bool { return class < 0 })
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
