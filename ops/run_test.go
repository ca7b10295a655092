package ops

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// in returns n with slots, targets and a mode for r alone.
func (n *network) in(r *plan.Run) *network {
	own := &network{mode: new(Mode), targets: n.targets.For(r)}
	plan.Use(r, n.mode, own.mode)
	for _, s := range n.slots {
		own.slots = append(own.slots, s.For(r))
	}
	for _, s := range n.squares {
		own.squares = append(own.squares, s.For(r))
	}
	if n.linear != nil {
		linear := *n.linear
		linear.rows = linear.rows.For(r)
		own.linear = &linear
	}
	return own
}

// newExecutor returns an executor of p on the CPU.
func newExecutor(t *testing.T, p *plan.Plan, grads []float32) *plan.Executor {
	e, err := plan.NewExecutor(p, plan.ExecutorOptions{Gradients: plan.Floats{Data: grads}})
	if err != nil {
		t.Error(err)
	}
	return e
}

// Runs of one plan work side by side, each on a batch of its own, and give the bits of one
// run after the other.
func TestRunsSideBySide(t *testing.T) {
	x, y := networkData()
	for name, middle := range middles {
		t.Run(name, func(t *testing.T) {
			n, err := newNetworkGraph(x, y, [3]int{5, 9, 3}, middle)
			if err != nil {
				t.Fatal(err)
			}
			p, err := plan.New(plan.Spec{Output: n.loss, Parameters: n.params, Gradients: n.grads})
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, 2))
			var batches [6][]*graph.Block
			for k := range batches {
				batches[k] = randomChain(rng, networkNodes, 1+rng.IntN(30), 1+rng.IntN(30), 1+rng.IntN(30))
			}
			compute := func(r *plan.Executor, n *network, k int, grads []float32) ([]float32, error) {
				if err := n.set(batches[k], uint64(k)); err != nil {
					return nil, err
				}
				if err := r.Compute(); err != nil {
					return nil, err
				}
				loss, err := r.Result(0).Append(nil)
				return append(loss, grads...), err
			}
			total := 0
			for _, param := range n.params {
				total += param.Shape().TotalSize()
			}
			grads := make([]float32, total)
			alone := newExecutor(t, p, grads)
			var want [len(batches)][]float32
			for k := range batches {
				if want[k], err = compute(alone, n, k, grads); err != nil {
					t.Fatal(err)
				}
			}
			var all sync.WaitGroup
			for first := range 3 {
				all.Go(func() {
					grads := make([]float32, total)
					r := newExecutor(t, p, grads)
					own := n.in(r.Run)
					for k := range batches {
						k = (k + first) % len(batches)
						if got, err := compute(r, own, k, grads); err != nil || !sameBits(got, want[k]) {
							t.Errorf("batch %d gives\n%v (%v), alone\n%v", k, got, err, want[k])
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// A run with a slot of its own reads a history, and leaves nothing for Commit.
func TestHistoryOfRunsSideBySide(t *testing.T) {
	h := newHistoryGraph(t, ActivationELU, 0.4)
	h.mode.Training, h.mode.Seed = true, 1
	of := h.slot.Histories()[0]
	copy(of.Values(), randomValues(rand.New(rand.NewPCG(7, 8)), len(of.Values())))
	before := slices.Clone(of.Values())
	block := randomBlock(rand.New(rand.NewPCG(5, 6)), historyDst, historySrc, historyNodes)
	randomControl(rand.New(rand.NewPCG(5, 6)), block, historyNodes)
	p, err := plan.New(plan.Spec{Output: h.loss})
	if err != nil {
		t.Fatal(err)
	}
	r := newExecutor(t, p, nil)
	if err := h.slot.For(r.Run).Set(block); err != nil {
		t.Fatal(err)
	}
	if err := r.Compute(); err != nil {
		t.Fatal(err)
	}
	got, err := r.Result(0).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if of.Commit(); !slices.Equal(of.Values(), before) {
		t.Error("a run with a slot of its own has left rows for Commit")
	}
	if err := h.slot.Set(block); err != nil {
		t.Fatal(err)
	}
	want, err := newPlanned(t, nil, h.loss, h.params, h.grads).run()
	if err != nil || got[0] != want[0] {
		t.Errorf("loss %v, over the shared slot %v (%v)", got, want[0], err)
	}
	if of.Commit(); slices.Equal(of.Values(), before) {
		t.Error("a run over the shared slot has left no rows for Commit")
	}
}
