package datasets

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPositionFeatures checks the size of the features, and that neighbours have more similar
// ones than other nodes.
func TestPositionFeatures(t *testing.T) {
	d := open(t, "synth:demo?nodes=5000&edges=20000") // more nodes than a chunk
	x, err := positionFeatures(t.Context(), d.Graph)
	if err != nil {
		t.Fatal(err)
	}
	n := d.Nodes()
	if x.Rows != n || x.Cols != positionWidth {
		t.Fatalf("%d×%d features", x.Rows, x.Cols)
	}
	again, err := positionFeatures(t.Context(), d.Graph)
	if err != nil || !slices.Equal(x.Data, again.Data) {
		t.Error("other features the second time")
	}
	near, nearPairs := 0.0, 0
	far := 0.0
	for i := range n {
		if squares := dot(x.Row(i), x.Row(i)); math.Abs(squares-positionWidth) > 1e-2 {
			t.Fatalf("node %d: the squares add up to %v", i, squares)
		}
		for _, j := range d.Graph.Row(i) {
			near += dot(x.Row(i), x.Row(int(j))) / positionWidth
			nearPairs++
		}
		far += dot(x.Row(i), x.Row((i+n/2)%n)) / positionWidth
	}
	if near, far = near/float64(nearPairs), far/float64(n); near < far+0.1 {
		t.Errorf("cosine %.3f of neighbours, %.3f of any two nodes", near, far)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := positionFeatures(ctx, d.Graph); err == nil {
		t.Error("no error after a cancellation")
	}
}

func dot(a, b []float32) (sum float64) {
	for k := range a {
		sum += float64(a[k]) * float64(b[k])
	}
	return sum
}

// TestPositionSlow compares the features of a small graph with slow sums.
func TestPositionSlow(t *testing.T) {
	a := open(t, "synth:demo?nodes=40&edges=80").Graph
	got, err := positionFeatures(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	h := make([][]float64, a.Rows)
	random := rand.New(rand.NewPCG(0x706f736974696f6e, 0))
	for i := range h {
		for range positionWidth {
			h[i] = append(h[i], float64(float32(random.NormFloat64())))
		}
	}
	for range positionSteps {
		next := make([][]float64, a.Rows)
		for i := range next {
			next[i] = slices.Clone(h[i])
			for _, j := range a.Row(i) {
				for k := range next[i] {
					next[i][k] += h[j][k]
				}
			}
			for k := range next[i] {
				next[i][k] /= float64(1 + a.Degree(i))
			}
		}
		h = next
	}
	for k := range positionWidth {
		mean := 0.0
		for i := range h {
			mean += h[i][k] / float64(a.Rows)
		}
		for i := range h {
			h[i][k] -= mean
		}
	}
	for i := range h {
		squares := 0.0
		for _, v := range h[i] {
			squares += v * v
		}
		for k, v := range h[i] {
			if want := v * math.Sqrt(positionWidth/squares); math.Abs(float64(got.Row(i)[k])-want) > 1e-3 {
				t.Fatalf("node %d, feature %d is %v, want %v", i, k, got.Row(i)[k], want)
			}
		}
	}
}
