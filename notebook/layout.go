package notebook

import (
	"math"

	"github.com/gcn-layerwise/gcn/study/figure"
)

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
