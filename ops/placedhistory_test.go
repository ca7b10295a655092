package ops

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// historyGraph is sum(elu(Propagate(dropout(act(x)))·w)) over a slot that keeps a history.
type historyGraph struct {
	slot *Slot
	mode *Mode
	loss *G.Node

	params, grads G.Nodes
}

const historyNodes, historyWidth, historyDst, historySrc = 40, 5, 6, 9

func newHistoryGraph(t *testing.T, act Activation, rate float64) *historyGraph {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	g := G.NewGraph()
	h := &historyGraph{slot: NewSlot(historyDst, historySrc), mode: new(Mode)}
	h.slot.KeepHistory(historyNodes)
	h.params = G.Nodes{
		input{"x", historySrc, historyWidth, randomValues(rng, historySrc*historyWidth)}.node(g),
		input{"w", historyWidth, 2, randomValues(rng, historyWidth*2)}.node(g),
	}
	below, err := Activate(h.params[0], act, rate, h.mode)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Propagate(h.slot, below)
	if err != nil {
		t.Fatal(err)
	}
	product, err := MatMul(out, h.params[1])
	if err != nil {
		t.Fatal(err)
	}
	activated, err := ELU(product)
	if err != nil {
		t.Fatal(err)
	}
	if h.loss, err = Sum(activated); err != nil {
		t.Fatal(err)
	}
	if h.grads, err = G.Grad(h.loss, h.params...); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestHistoryOnDevice compares runs and the committed history with the CPU's, over blocks
// with and without a control.
func TestHistoryOnDevice(t *testing.T) {
	for _, c := range []struct {
		name string
		rate float64
		act  Activation
	}{
		{"activation and dropout", 0.4, ActivationELU},
		{"activation", 0, ActivationReLU},
		{"dropout", 0.4, ActivationNone},
		{"neither", 0, ActivationNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := testDevice(t)
			cpu, gpu := newHistoryGraph(t, c.act, c.rate), newHistoryGraph(t, c.act, c.rate)
			p := newPlanned(t, d, gpu.loss, gpu.params, gpu.grads)
			onCPU, onGPU := cpu.slot.Histories()[0], gpu.slot.Histories()[0]
			rng := rand.New(rand.NewPCG(5, 6))
			for run := range 12 {
				block := randomBlock(rng, historyDst, historySrc, historyNodes)
				if run != 3 {
					randomControl(rng, block, historyNodes)
				}
				for _, g := range []*historyGraph{cpu, gpu} {
					if err := g.slot.Set(block); err != nil {
						t.Fatal(err)
					}
					g.mode.Training, g.mode.Seed = run != 4, uint64(run)
				}
				want := evaluate(t, append(G.Nodes{cpu.loss}, cpu.grads...)...)
				got, err := p.run()
				if err != nil {
					t.Fatal(err)
				}
				if !near(got, want) {
					t.Fatalf("run %d: backend gives\n%v, reference\n%v", run, got, want)
				}
				switch run {
				case 5: // no commit
					continue
				case 6: // the host writes its rows between run and commit
					onCPU.Values()[7], onGPU.Values()[7] = 3, 3
				}
				onCPU.Commit()
				onGPU.Commit()
				if run%2 == 0 { // else the history stays on the device
					if err := p.Pull(true); err != nil {
						t.Fatal(err)
					}
					if !near(onGPU.Values(), onCPU.Values()) {
						t.Fatalf("run %d: the history is\n%v, on the CPU\n%v", run, onGPU.Values(), onCPU.Values())
					}
				}
				if run == 7 {
					for k := range onCPU.Values() {
						onCPU.Values()[k] = float32(k)
						onGPU.Values()[k] = float32(k)
					}
				}
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			p.Backend = nil
			if !near(onGPU.Values(), onCPU.Values()) {
				t.Error("the history did not survive its placement")
			}
		})
	}
}

// Commit stores the right rows while batches of later steps are already sent. After a
// failed step it stores nothing.
func TestHistoryWhileBatchesAreSent(t *testing.T) {
	d := testDevice(t)
	cpu, gpu := newHistoryGraph(t, ActivationELU, 0.3), newHistoryGraph(t, ActivationELU, 0.3)
	p := newPlanned(t, d, gpu.loss, gpu.params, gpu.grads)
	rng := rand.New(rand.NewPCG(5, 6))
	step := func() {
		t.Helper()
		block := randomBlock(rng, historyDst, historySrc, historyNodes)
		randomControl(rng, block, historyNodes)
		for _, g := range []*historyGraph{cpu, gpu} {
			if err := g.slot.Set(block); err != nil {
				t.Fatal(err)
			}
			g.mode.Training, g.mode.Seed = true, rng.Uint64()
		}
		gpu.mode.Seed = cpu.mode.Seed
		evaluate(t, cpu.loss)
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		gpu.slot.Histories()[0].Commit()
	}
	before := d.Counts()
	const steps = 30
	for k := range steps {
		if k == steps/2 { // its memory has grown
			before = d.Counts()
		}
		step()
		cpu.slot.Histories()[0].Commit()
	}
	// The history adds two kernels a step: its part of the sum, and the commit.
	if c := countsSince(d, before); c.CopiesIn != steps/2 || c.CopiesOut != 0 || c.Copies != 0 {
		t.Errorf("%d steps copy %d times to the device, %d from it, %d within: want one copy to it each", steps/2, c.CopiesIn, c.CopiesOut, c.Copies)
	}
	want := cpu.slot.Histories()[0].Values()
	if got := gpu.slot.Histories()[0].Values(); !near(got, want) {
		t.Fatalf("the history is\n%v, on the CPU\n%v", got, want)
	}
	// A new run drops the rows of the run before, even if it fails.
	kept := slices.Clone(gpu.slot.Histories()[0].Values())
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	block := gpu.slot.block
	gpu.slot.block = nil
	if err := p.Run(); err == nil {
		t.Fatal("a run without a block succeeds")
	}
	gpu.slot.block = block
	gpu.slot.Histories()[0].Commit()
	if !slices.Equal(gpu.slot.Histories()[0].Values(), kept) {
		t.Error("rows of an earlier run were committed")
	}

	p.model.Values[0] = float32(math.NaN())
	if err := p.Push(true); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if err := p.Update(kernel.Adam{}, 1); err != nil {
		t.Fatal(err)
	}
	gpu.slot.Histories()[0].Commit()
	if !slices.Equal(gpu.slot.Histories()[0].Values(), kept) {
		t.Error("rows were committed after a step that failed")
	}
}

// A history that does not fit on the device is an error, and all memory is freed.
func TestHistoryTooLarge(t *testing.T) {
	d := testDevice(t)
	g := newHistoryGraph(t, ActivationELU, 0)
	g.slot.Histories()[0].nodes = 1 << 40
	if _, err := plan.NewBackend(d, plan.Model{Loss: g.loss}); err == nil {
		t.Error("a history of 20 TB was placed")
	} else {
		t.Log(err)
	}
}
