package datasets

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gcn-layerwise/gcn/graph"
)

// communities returns the graph of two communities of 200 nodes: 2400 edges, a tenth of them
// between the two.
func communities(t *testing.T) *graph.CSR {
	b, err := graph.NewBuilder(400)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for k := range 2400 {
		u, v := random.IntN(400), random.IntN(200)
		if own := u / 200 * 200; k%10 > 0 {
			v += own
		} else {
			v += 200 - own
		}
		if err := b.Add(int32(u), int32(v)); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := b.Build()
	return a
}

// The columns are orthogonal, and the same for any number of cores. Each node of two
// communities is nearer to the mean of its own.
func TestPositionFeatures(t *testing.T) {
	a := communities(t)
	x, err := positionFeatures(t.Context(), a, false)
	if err != nil {
		t.Fatal(err)
	}
	checkBasis(t, "two communities", x, positionWidth)
	large := open(t, "synth:demo?nodes=5000&edges=20000").Graph // several chunks
	var first *graph.Features
	for _, cores := range []int{1, 2, 5} {
		before := runtime.GOMAXPROCS(cores)
		x, err := positionFeatures(t.Context(), large, false)
		runtime.GOMAXPROCS(before)
		if first == nil {
			first = x
		}
		if err != nil || !slices.Equal(x.Data, first.Data) {
			t.Errorf("%d cores: other features, or %v", cores, err)
		}
	}
	checkBasis(t, "synth:demo", first, positionWidth)
	means := make([][]float64, 2)
	for c := range means {
		means[c] = make([]float64, x.Cols)
		for i := c * 200; i < c*200+200; i++ {
			for k, v := range x.Row(i) {
				means[c][k] += float64(v) / 200
			}
		}
	}
	right := 0
	for i := range 400 {
		score := 0.0
		for k, v := range x.Row(i) {
			score += (float64(v) - (means[0][k]+means[1][k])/2) * (means[i/200][k] - means[1-i/200][k])
		}
		if score > 0 {
			right++
		}
	}
	if right < 380 {
		t.Errorf("%d of 400 nodes are nearer to their own community", right)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := positionFeatures(ctx, a, false); err == nil {
		t.Error("no error after a cancellation")
	}
}

// checkBasis fails the test unless the first rank columns are orthogonal with mean square 1, and
// the others of position 0.
func checkBasis(t *testing.T, name string, x *graph.Features, rank int) {
	t.Helper()
	if x.Cols != positionWidth+2 {
		t.Fatalf("%s: %d features", name, x.Cols)
	}
	found := 0
	for j := range positionWidth {
		for k := range j + 1 {
			sum := 0.0
			for i := range x.Rows {
				sum += float64(x.Row(i)[j]) * float64(x.Row(i)[k]) / float64(x.Rows)
			}
			switch {
			case j == k && math.Abs(sum-1) < 1e-3:
				found++
			case !(math.Abs(sum) < 1e-3):
				t.Fatalf("%s: columns %d and %d have the mean product %v", name, j, k, sum)
			}
		}
	}
	if found != rank {
		t.Errorf("%s: %d columns are not 0, want %d", name, found, rank)
	}
}

// The columns span the leading eigenvectors of the regularised matrix.
func TestPositionSpan(t *testing.T) {
	a := communities(t)
	n := a.Rows
	x, err := positionFeatures(t.Context(), a, false)
	if err != nil {
		t.Fatal(err)
	}
	tau := 0.1 + 0.1*float64(a.NNZ())/float64(n)
	p := mat.NewSymDense(n, nil)
	for i := range n {
		scale := math.Sqrt(float64(a.Degree(i)) + 1 + tau)
		p.SetSym(i, i, 1/scale/scale)
		for _, j := range a.Row(i) {
			p.SetSym(i, int(j), 1/scale/math.Sqrt(float64(a.Degree(int(j)))+1+tau))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(p, true) {
		t.Fatal("no eigenvectors")
	}
	values, vectors := eigen.Values(nil), new(mat.Dense)
	eigen.VectorsTo(vectors)
	order := make([]int, n)
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(i, j int) int { return int(math.Copysign(1, math.Abs(values[j])-math.Abs(values[i]))) })
	for _, k := range order[:10] {
		within := 0.0
		for j := range positionWidth {
			sum := 0.0
			for i := range n {
				sum += vectors.At(i, k) * float64(x.Row(i)[j]) / math.Sqrt(float64(n))
			}
			within += sum * sum
		}
		if within < 0.99 {
			t.Errorf("eigenvalue %.3f: %.4f of its vector is in the span", values[k], within)
		}
	}
}

// Graphs of few nodes or of a small rank have as many columns as they can, and isolated nodes and
// several components are no trouble.
func TestPositionOfOddGraphs(t *testing.T) {
	edges := func(n int, ends ...[2]int32) *graph.CSR {
		b, err := graph.NewBuilder(n)
		for _, e := range ends {
			if err == nil {
				err = b.Add(e[0], e[1])
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		a, _ := b.Build()
		return a
	}
	var all [][2]int32
	for i := range int32(100) {
		for j := range i {
			all = append(all, [2]int32{i, j})
		}
	}
	for name, c := range map[string]struct {
		graph *graph.CSR
		rank  int
	}{
		"one node":                      {edges(1), 1},
		"two nodes":                     {edges(2, [2]int32{0, 1}), 1}, // rows of A+I are the same
		"no edges":                      {edges(70), positionWidth},
		"a triangle and isolated nodes": {edges(10, [2]int32{0, 1}, [2]int32{1, 2}, [2]int32{0, 2}), 8},
		"complete":                      {edges(100, all...), 1},
	} {
		for _, directed := range []bool{false, true} {
			x, err := positionFeatures(t.Context(), c.graph, directed)
			if err != nil {
				t.Fatal(err)
			}
			checkBasis(t, name, x, c.rank)
			if want := degreeFeatures(c.graph); !slices.Equal(x.Row(0)[positionWidth:], want.Row(0)) {
				t.Errorf("%s: degree %v", name, x.Row(0)[positionWidth:])
			}
		}
	}
}
