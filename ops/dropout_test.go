package ops

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
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

// TestScaledNoise runs Activate of the input of a block that scales its noise. Other runs of
// the same graph have blocks without scales. The reference is y + c·(mask⊙y − y).
func TestScaledNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const dst, src, cols, nodes, rate = 6, 9, 5, 30, 0.3
	x := input{"x", src, cols, randomValues(rng, src*cols)}
	c := randomValues(rng, dst*cols)
	mask := denseOf(src, cols, dropoutMasks(t, 11, rate, src, cols, 1)[0])
	block := randomBlock(rng, dst, src, nodes)
	slot := NewSlot(dst, src)
	for act, reference := range map[Activation]func(dense) dense{
		ActivationNone: func(x dense) dense { return x },
		ActivationELU:  refELU,
		ActivationReLU: refReLU,
	} {
		for _, scaled := range []bool{false, true, false} {
			e := expression{
				[]input{x},
				func(_ *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					y, err := ActivateSources(slot, v[0], act, rate, &Mode{Training: true, Seed: 11})
					if err != nil {
						return nil, err
					}
					if y, err = Propagate(slot, y); err != nil {
						return nil, err
					}
					return probe(y, c)
				},
				func(v []dense) float64 {
					y := reference(v[0])
					y = y.each(func(i, j int) float64 {
						scale := 1.0
						if scaled {
							scale = float64(block.NoiseScale[i])
						}
						return y.at(i, j) * (1 + scale*(mask.at(i, j)-1))
					})
					return refProbe(refMul(refCSR(&block.Matrix), y), c)
				},
			}
			block.NoiseScale = nil
			if scaled {
				block.NoiseScale = []float32{0, 1, 0.5, 2, 0.9, 0.1, 0.7, 1.5, 0.3}
			}
			slot.scalesNoise = true // of the graph to come
			if err := slot.Set(block); err != nil {
				t.Fatal(err)
			}
			t.Run(fmt.Sprintf("%v/scaled=%v", act, scaled), e.check)
		}
	}
}

// A block that scales the noise needs a slot with an input that obeys, and without other
// readers.
func TestScaledNoiseErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const dst, src, nodes = 2, 3, 9
	for want, c := range map[string]struct {
		scale []float32
		build func(*Slot, *G.Node) (*G.Node, error)
	}{
		"ActivateSources": {[]float32{1, 1, 1}, func(_ *Slot, x *G.Node) (*G.Node, error) { return Dropout(x, 0.5, new(Mode)) }},
		"2 noise scales":  {[]float32{1, 1}, nil},
		"noise scale NaN": {[]float32{1, 1, float32(math.NaN())}, nil},
		"noise scale -1":  {[]float32{1, -1, 1}, nil},
		"OwnRows reads":   {[]float32{1, 1, 1}, OwnRows},
		"Attention reads": {[]float32{1, 1, 1}, func(s *Slot, x *G.Node) (*G.Node, error) {
			source := input{"source", 0, 4, make([]float32, 4)}.node(x.Graph())
			return Attention(s, x, source, source, nil, AttentionOptions{})
		}},
	} {
		slot := NewSlot(dst, src)
		x := input{"x", src, 4, make([]float32, src*4)}.node(G.NewGraph())
		build := func(s *Slot, x *G.Node) (*G.Node, error) { return ActivateSources(s, x, ActivationELU, 0.5, new(Mode)) }
		if want != "ActivateSources" {
			if _, err := build(slot, x); err != nil {
				t.Fatal(err)
			}
		}
		if c.build != nil {
			if _, err := c.build(slot, x); err != nil {
				t.Fatal(err)
			}
		}
		block := randomBlock(rng, dst, src, nodes)
		if err := slot.Set(block); err != nil {
			t.Fatalf("%s: without scales: %v", want, err)
		}
		block.NoiseScale = c.scale
		if err := slot.Set(block); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
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
