package ops

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	G "gorgonia.org/gorgonia"
)

// dropoutMasks returns the masks of the first count dropouts of a mode with that seed,
// for rows×cols matrices. A mask includes the factor 1/(1−rate).
func dropoutMasks(t *testing.T, seed uint64, rate float64, rows, cols, count int) [][]float32 {
	t.Helper()
	ones := slices.Repeat([]float32{1}, rows*cols)
	g := G.NewGraph()
	mode := &Mode{Training: true, Seed: seed}
	var outs G.Nodes
	in := input{"ones", rows, cols, ones}.node(g)
	for range count {
		out, err := Dropout(in, rate, mode)
		if err != nil {
			t.Fatal(err)
		}
		outs = append(outs, out)
	}
	m := G.NewTapeMachine(g)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	var masks [][]float32
	for _, out := range outs {
		masks = append(masks, slices.Clone(out.Value().Data().([]float32)))
	}
	return masks
}

func TestDropoutMasks(t *testing.T) {
	const rows, cols = 400, 50
	for _, rate := range []float64{0.1, 0.2, 0.5, 0.9} {
		masks := dropoutMasks(t, 7, rate, rows, cols, 2)
		if slices.Equal(masks[0], masks[1]) {
			t.Errorf("rate %v: two dropouts of one input have the same mask", rate)
		}
		again := dropoutMasks(t, 7, rate, rows, cols, 2)
		if !slices.Equal(masks[0], again[0]) || !slices.Equal(masks[1], again[1]) {
			t.Errorf("rate %v: equal seeds give different masks", rate)
		}
		if slices.Equal(masks[0], dropoutMasks(t, 8, rate, rows, cols, 1)[0]) {
			t.Errorf("rate %v: different seeds give the same mask", rate)
		}
		var dropped float64
		for k, v := range masks[0] {
			switch {
			case v == 0:
				dropped++
			case math.Abs(float64(v)*(1-rate)-1) > 1e-3:
				t.Fatalf("rate %v: element %d is scaled by %v", rate, k, v)
			}
		}
		n := float64(rows * cols)
		if d := math.Abs(dropped - rate*n); d > 5*math.Sqrt(n*rate*(1-rate)) {
			t.Errorf("rate %v: %v of %v elements dropped", rate, dropped, n)
		}
	}
	masks := dropoutMasks(t, 7, 0.3, rows, cols, 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if !slices.Equal(masks[0], dropoutMasks(t, 7, 0.3, rows, cols, 1)[0]) {
		t.Error("the mask depends on the number of cores")
	}
}

// Dropout is a product with its mask, also after an activation. Outside training the mask
// is 1, forward and backward.
func TestDropoutGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const rows, cols, rate = 7, 5, 0.3
	x := input{"x", rows, cols, randomValues(rng, rows*cols)}
	c := randomValues(rng, rows*cols)
	masks := map[bool]dense{
		true:  denseOf(rows, cols, dropoutMasks(t, 11, rate, rows, cols, 1)[0]),
		false: denseOf(rows, cols, slices.Repeat([]float32{1}, rows*cols)),
	}
	for act, reference := range map[Activation]func(dense) dense{
		ActivationNone: func(x dense) dense { return x },
		ActivationELU:  refELU,
		ActivationReLU: refReLU,
		ActivationGELU: refGELU,
	} {
		for training, mask := range masks {
			e := expression{
				[]input{x},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					y, err := Activate(v[0], act, rate, &Mode{Training: training, Seed: 11})
					if err != nil {
						return nil, err
					}
					return probe(y, c)
				},
				func(v []dense) float64 { return refProbe(refTimes(reference(v[0]), mask), c) },
			}
			t.Run(fmt.Sprintf("%v/training=%v", act, training), e.check)
		}
	}
}

func TestDropoutArguments(t *testing.T) {
	x := input{"x", 2, 2, make([]float32, 4)}.node(G.NewGraph())
	for _, rate := range []float64{-0.1, 1, 1.5, math.NaN()} {
		if _, err := Dropout(x, rate, new(Mode)); err == nil {
			t.Errorf("rate %v is accepted", rate)
		}
	}
	if _, err := Dropout(x, 0.5, nil); err == nil {
		t.Error("a rate without a mode is accepted")
	}
	if y, err := Dropout(x, 0, nil); err != nil || y != x {
		t.Errorf("rate 0 gives %v, %v; want x itself", y, err)
	}
}
