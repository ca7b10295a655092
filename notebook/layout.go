package notebook

import "math"

// layout places the vertices of a small graph in the unit square by the algorithm
// of Fruchterman & Reingold (1991): edges pull, all pairs push, and steps shrink.
// edges are pairs of vertices below n. Vertices with neighbouring numbers start near
// each other, on a spiral, so that the result depends only on the arguments.
// gonum's layouts do not serve: they iterate over maps in random order. Cost:
// O(rounds·n²).
func layout(n int, edges [][2]int32) [][2]float64 {
	const rounds = 400
	at := make([][2]float64, n)
	for k := range at {
		radius := math.Sqrt((float64(k) + 0.5) / float64(n))
		angle := float64(k) * math.Pi * (3 - math.Sqrt(5))
		at[k] = [2]float64{radius * math.Cos(angle), radius * math.Sin(angle)}
	}
	ideal := 1.8 / math.Sqrt(float64(max(n, 1)))
	force := make([][2]float64, n)
	for round := range rounds {
		clear(force)
		for i := range at {
			for j := range i {
				dx, dy := at[i][0]-at[j][0], at[i][1]-at[j][1]
				push := ideal * ideal / max(dx*dx+dy*dy, 1e-6)
				force[i][0], force[i][1] = force[i][0]+dx*push, force[i][1]+dy*push
				force[j][0], force[j][1] = force[j][0]-dx*push, force[j][1]-dy*push
			}
			// A little gravity keeps unconnected parts on the page.
			force[i][0], force[i][1] = force[i][0]-0.3*at[i][0], force[i][1]-0.3*at[i][1]
		}
		for _, e := range edges {
			i, j := e[0], e[1]
			dx, dy := at[i][0]-at[j][0], at[i][1]-at[j][1]
			pull := math.Sqrt(dx*dx+dy*dy) / ideal
			force[i][0], force[i][1] = force[i][0]-dx*pull, force[i][1]-dy*pull
			force[j][0], force[j][1] = force[j][0]+dx*pull, force[j][1]+dy*pull
		}
		step := 0.2 * (1 - float64(round)/rounds)
		for k, f := range force {
			if size := math.Hypot(f[0], f[1]); size > 0 {
				scale := min(size, step) / size
				at[k][0], at[k][1] = at[k][0]+f[0]*scale, at[k][1]+f[1]*scale
			}
		}
	}
	return intoSquare(at)
}

// intoSquare stretches points to fill the unit square, each axis on its own.
func intoSquare(at [][2]float64) [][2]float64 {
	for axis := range 2 {
		low, high := math.Inf(1), math.Inf(-1)
		for _, p := range at {
			low, high = min(low, p[axis]), max(high, p[axis])
		}
		for k := range at {
			if high > low {
				at[k][axis] = (at[k][axis] - low) / (high - low)
			} else {
				at[k][axis] = 0.5
			}
		}
	}
	return at
}
