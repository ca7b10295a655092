package layers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/graph"
)

// rank is one of several goroutines that share rows.
type rank struct {
	number   int
	channels [][]chan []float32
}

func (r rank) Rank() int { return r.number }
func (r rank) Size() int { return len(r.channels) }

func (r rank) Gather(_ context.Context, parts [][]float32) error {
	for to := range r.channels {
		r.channels[r.number][to] <- slices.Clone(parts[r.number])
	}
	for from := range r.channels {
		copy(parts[from], <-r.channels[from][r.number])
	}
	return nil
}

func (r rank) Exchange(_ context.Context, send, receive [][]float32) error {
	for to := range r.channels {
		r.channels[r.number][to] <- slices.Clone(send[to])
	}
	for from := range r.channels {
		got := <-r.channels[from][r.number]
		if len(got) != len(receive[from]) {
			return fmt.Errorf("rank %d sent %d values to rank %d, which expects %d", from, len(got), r.number, len(receive[from]))
		}
		copy(receive[from], got)
	}
	return nil
}

func newRanks(size int) []rank {
	channels := make([][]chan []float32, size)
	for from := range channels {
		for range size {
			channels[from] = append(channels[from], make(chan []float32, 1))
		}
	}
	ranks := make([]rank, size)
	for number := range ranks {
		ranks[number] = rank{number, channels}
	}
	return ranks
}

// Ranks that share an inference get the bits of one process, in the first call and in later
// ones, which use a kept P·X. So does a process that goes on alone.
func TestInferOnRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, features = 9000, 40
	p := graph.NewLaplacian(randomGraph(t, rng, n, 3*n, true))
	x, y := randomFeatures(rng, n, features), randomLabels(rng, n, 3)
	some := make([]int32, 6000) // with repeats; two chunks
	for k := range some {
		some[k] = rng.Int32N(n / 2)
	}
	for name, o := range map[string]GCNOptions{
		"features first": {Hidden: 48, Residual: true, LayerNorm: true},
		"weights first":  {Hidden: 16},
		"feed-forward":   {Hidden: 24, InputLayer: true, HiddenResidual: ResidualIdentity, PreNorm: true, LayerNorm: true, FeedForward: true},
		"jumping":        {Hidden: 24, Jumping: JumpingConcat},
		"largest":        {Hidden: 24, Jumping: JumpingMax},
		"own state":      {Hidden: 24, InputLayer: true, OwnState: true, BatchNorm: true},
		"label inputs":   {Hidden: 24, InputLayer: true, LabelInputs: everyThird(n)},
		"residual":       {Hidden: 24, InputLayer: true, HiddenResidual: ResidualIdentity},
		"attention":      {Hidden: 16, Heads: 2},
	} {
		t.Run(name, func(t *testing.T) {
			_, alone := testModel(t, p, x, y, 2, o)
			for _, nodes := range [][]int32{nil, {17, 8000, 3}, some[:1500], some} {
				want, err := alone.Infer(t.Context(), p, x, nodes)
				if err != nil {
					t.Fatal(err)
				}
				for _, size := range []int{2, 3, 5} {
					models := make([]*GCN, size)
					for k := range models {
						_, models[k] = testModel(t, p, x, y, 2, o)
					}
					infer := func(shared bool) {
						var all errgroup.Group
						for k, r := range newRanks(size) {
							models[k].Ranks = nil
							if shared {
								models[k].Ranks = r
							}
							all.Go(func() error {
								got, err := models[k].Infer(t.Context(), p, x, nodes)
								if err == nil && !slices.Equal(got, want) {
									t.Errorf("rank %d of %d, shared %v: other logits", k, size, shared)
								}
								return err
							})
						}
						if err := all.Wait(); err != nil {
							t.Fatal(err)
						}
					}
					infer(true)
					infer(true)
					infer(false)
					infer(true)
				}
			}
		})
	}
}

// The shares of the rows follow from the order of the products. So a rank that keeps the shares
// of an earlier order divides as one that keeps none. A rank that divides differently is an
// error on every rank.
func TestSharesOfRanksFollowOrders(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, size = 9000, 3
	p := graph.NewLaplacian(randomGraph(t, rng, n, 3*n, true))
	x, y := randomFeatures(rng, n, 40), randomLabels(rng, n, 3)
	o := GCNOptions{Hidden: 16}
	_, alone := testModel(t, p, x, y, 2, o)
	want, err := alone.Infer(t.Context(), p, x, nil)
	if err != nil {
		t.Fatal(err)
	}
	models := make([]*GCN, size)
	for k := range models {
		_, models[k] = testModel(t, p, x, y, 2, o)
	}
	infer := func() [size]error {
		var all errgroup.Group
		var errs [size]error
		for k, r := range newRanks(size) {
			models[k].Ranks = r
			all.Go(func() error {
				got, err := models[k].Infer(t.Context(), p, x, nil)
				if errs[k] = err; err == nil && !slices.Equal(got, want) {
					t.Errorf("rank %d: other logits", k)
				}
				return nil
			})
		}
		all.Wait()
		return errs
	}
	if errs := infer(); errs != [size]error{} { // P·(X·W)
		t.Fatal(errs)
	}
	before := models[1].memory.Load().kept.parts[0].digest
	exact := exactInput(t, p, x)
	if want, err = func() ([]float32, error) {
		alone.ReadPropagated(exact)
		return alone.Infer(t.Context(), p, x, nil)
	}(); err != nil {
		t.Fatal(err)
	}
	for _, m := range models {
		m.ReadPropagated(exact)
	}
	models[0].memory.Store(nil)                 // as after two calls at the same time
	if errs := infer(); errs != [size]error{} { // (P·X)·W
		t.Fatal(errs)
	}
	kept := &models[1].memory.Load().kept
	if before == kept.parts[0].digest {
		t.Error("both orders divide alike, so the test shows nothing")
	}
	for _, change := range []func(by int){
		func(by int) { kept.parts[0].digest += uint32(by) },
		func(by int) { kept.parts[0].shares[1] += by },
		func(by int) { kept.divided[1][1] += by },
	} {
		change(1)
		for k, err := range infer() {
			if err == nil || !strings.Contains(err.Error(), "all ranks need the same") {
				t.Errorf("rank 1 divides differently: rank %d returns %v", k, err)
			}
		}
		change(-1)
	}
	if errs := infer(); errs != [size]error{} {
		t.Error(errs)
	}
}

// Each call for a few nodes has rows of its own, and the ranks share these.
func TestInferFewOnRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 500
	p := graph.NewLaplacian(randomGraph(t, rng, n, 3*n, true))
	x, y := randomFeatures(rng, n, 5), randomLabels(rng, n, 3)
	_, alone := testModel(t, p, x, y, 2, GCNOptions{Hidden: 16})
	var all errgroup.Group
	for k, r := range newRanks(3) {
		_, model := testModel(t, p, x, y, 2, GCNOptions{Hidden: 16})
		model.Ranks = r
		all.Go(func() error {
			for _, count := range []int32{200, 1, 60, 250} {
				nodes := make([]int32, count)
				for i := range nodes {
					nodes[i] = (int32(i)*7 + count) % n
				}
				want, err := alone.Infer(t.Context(), p, x, nodes)
				if err != nil {
					return err
				}
				got, err := model.Infer(t.Context(), p, x, nodes)
				if err != nil {
					return err
				}
				if !slices.Equal(got, want) {
					t.Errorf("rank %d, %d nodes: other logits", k, count)
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}
