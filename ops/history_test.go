package ops

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	G "gorgonia.org/gorgonia"
)

// randomControl gives b a control over the given number of nodes.
func randomControl(rng *rand.Rand, b *graph.Block, nodes int) {
	m := graph.CSR{Rows: len(b.Dst), Cols: nodes, Ptr: []int64{0}, Val: []float32{}}
	for i := range b.Dst {
		for j := range nodes {
			if i != 2 && rng.IntN(4) == 0 {
				m.Idx, m.Val = append(m.Idx, int32(j)), append(m.Val, float32(rng.NormFloat64()))
			}
		}
		m.Ptr = append(m.Ptr, int64(len(m.Idx)))
	}
	b.Control = &m
	b.Finish()
}

// TestHistory runs dropout(elu(x)) → Propagate several times, over blocks with and without
// a control. The output must be P̃·H + C·H̄ and the gradient P̃ᵀ·G. Commit must store the
// activations before dropout.
func TestHistory(t *testing.T) {
	const nodes, width, dst, src = 30, 5, 6, 9
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		name string
		rate float64
		act  Activation
	}{
		{"activation and dropout", 0.4, ActivationELU},
		{"activation", 0, ActivationELU},
		{"dropout", 0.4, ActivationNone},
		{"neither", 0, ActivationNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := G.NewGraph()
			slot, mode := NewSlot(dst, src), new(Mode)
			slot.KeepHistory(nodes)
			in := input{"x", src, width, randomValues(rng, src*width)}
			x := in.node(g)
			h, err := Activate(x, c.act, c.rate, mode)
			if err != nil {
				t.Fatal(err)
			}
			out, err := Propagate(slot, h)
			if err != nil {
				t.Fatal(err)
			}
			w := input{"w", width, 1, randomValues(rng, width)}
			product, err := MatMul(out, w.node(g))
			if err != nil {
				t.Fatal(err)
			}
			loss, err := Sum(product)
			if err != nil {
				t.Fatal(err)
			}
			upstream := newDense(dst, width).each(func(_, j int) float64 { return float64(w.data[j]) })
			grads, err := G.Grad(loss, x)
			if err != nil {
				t.Fatal(err)
			}
			machine := G.NewTapeMachine(g)
			defer machine.Close()
			histories := slot.Histories()
			if len(histories) != 1 || histories[0].Bytes() != 4*nodes*width || histories[0].Width() != width {
				t.Fatalf("%d histories, the first of %d bytes", len(histories), histories[0].Bytes())
			}
			history := histories[0]
			kept := newDense(nodes, width) // the expected history
			for run := range 6 {
				block := randomBlock(rng, dst, src, nodes)
				if run != 3 {
					randomControl(rng, block, nodes)
				}
				if err := slot.Set(block); err != nil {
					t.Fatal(err)
				}
				mode.Training, mode.Seed = run != 4, uint64(run)
				if err := machine.RunAll(); err != nil {
					t.Fatal(err)
				}
				active := in.dense()
				if c.act == ActivationELU {
					active = refELU(active)
				}
				dropped := denseOf(src, width, h.Value().Data().([]float32))
				want := refMul(refCSR(&block.Matrix), dropped)
				if block.Control != nil {
					exact := refMul(refCSR(block.Control), kept)
					want = want.each(func(i, j int) float64 { return want.at(i, j) + exact.at(i, j) })
				}
				compare(t, "output", out.Value().Data().([]float32), want)

				mask := dropped.each(func(i, j int) float64 {
					if active.at(i, j) == 0 {
						return 0
					}
					return dropped.at(i, j) / active.at(i, j)
				})
				back := refMul(transpose(refCSR(&block.Matrix)), upstream)
				compare(t, "gradient", grads[0].Value().Data().([]float32), back.each(func(i, j int) float64 {
					slope := 1.0
					if v := in.dense().at(i, j); c.act == ActivationELU && v < 0 {
						slope = math.Exp(v)
					}
					return back.at(i, j) * mask.at(i, j) * slope
				}))
				machine.Reset()

				before := slices.Clone(history.Values())
				if run == 5 {
					continue // not committed
				}
				history.Commit()
				if run == 3 && !slices.Equal(before, history.Values()) {
					t.Error("a run without a control changed the history")
				}
				if block.Control != nil {
					for k, node := range block.Src {
						copy(kept.data[int(node)*width:][:width], active.data[k*width:])
					}
				}
				compare(t, "history", history.Values(), kept)
			}
		})
	}
}

func compare(t *testing.T, what string, got []float32, want dense) {
	t.Helper()
	if len(got) != len(want.data) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want.data))
	}
	for k, w := range want.data {
		if math.Abs(float64(got[k])-w) > 1e-4*(1+math.Abs(w)) {
			t.Fatalf("%s: element %d is %v, want %v", what, k, got[k], w)
		}
	}
}

func transpose(m dense) dense {
	return newDense(m.cols, m.rows).each(func(i, j int) float64 { return m.at(j, i) })
}

// TestSlotControl checks which controls a slot accepts.
func TestSlotControl(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	block := randomBlock(rng, 3, 4, 10)
	randomControl(rng, block, 10)
	if err := NewSlot(3, 4).Set(block); err == nil {
		t.Error("a control without a history: no error")
	}
	for name, change := range map[string]func(){
		"rows":        func() { block.Control.Rows++ },
		"nodes":       func() { block.Control.Cols++ },
		"column":      func() { block.Control.Idx[0] = 10 },
		"input nodes": func() { block.Src[0] = 10 },
	} {
		block = randomBlock(rng, 3, 4, 10)
		randomControl(rng, block, 10)
		slot := NewSlot(3, 4)
		slot.KeepHistory(10)
		if err := slot.Set(block); err != nil {
			t.Fatal(err)
		}
		change()
		if err := slot.Set(block); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
