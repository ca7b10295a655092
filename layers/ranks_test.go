package layers

import (
	"context"
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
		"features first": {Hidden: 48, Residual: true, Norm: NormLayer},
		"weights first":  {Hidden: 16},
		"feed-forward":   {Hidden: 24, InputLayer: true, HiddenResidual: ResidualIdentity, PreNorm: true, Norm: NormLayer, FeedForward: true},
		"own state":      {Hidden: 24, InputLayer: true, OwnState: true, Norm: NormBatch},
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

// A model may be another rank of other ranks in its next call.
func TestInferOnOtherRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 3000
	p := graph.NewLaplacian(randomGraph(t, rng, n, 3*n, true))
	x, y := randomFeatures(rng, n, 40), randomLabels(rng, n, 3)
	for _, nodes := range [][]int32{nil, nodesOf(rng, n, 700)} {
		_, alone := testModel(t, p, x, y, 2, GCNOptions{Hidden: 48})
		want, err := alone.Infer(t.Context(), p, x, nodes)
		if err != nil {
			t.Fatal(err)
		}
		models := make([]*GCN, 3)
		for k := range models {
			_, models[k] = testModel(t, p, x, y, 2, GCNOptions{Hidden: 48})
		}
		for _, as := range [][]int{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {1, 0}, {1, 0}, {1, 0}, {2, 0, 1}} { // the rank of each model
			var all errgroup.Group
			ranks := newRanks(len(as))
			for k, number := range as {
				models[k].Ranks = ranks[number]
				all.Go(func() error {
					got, err := models[k].Infer(t.Context(), p, x, nodes)
					if err == nil && !slices.Equal(got, want) {
						t.Errorf("rank %d of %d: other logits", number, len(as))
					}
					return err
				})
			}
			if err := all.Wait(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A rank without rows of a level gives its features to the others.
func TestInferOnRankWithoutRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 900
	p := graph.NewLaplacian(randomGraph(t, rng, n, 3*n, true))
	x, y := randomFeatures(rng, n, 40), randomLabels(rng, n, 3)
	_, alone := testModel(t, p, x, y, 1, GCNOptions{Hidden: 48})
	var all errgroup.Group
	for k, r := range newRanks(3) {
		part := &graph.Features{Rows: n, Cols: 40, Data: x.Data[k*300*40 : (k+1)*300*40], Place: make([]int32, n)}
		for v := range part.Place {
			part.Place[v] = -1
			if v/300 == k {
				part.Place[v] = int32(v - 300*k)
			}
		}
		part.Share = &graph.Share{Rank: k, Bounds: []int{0, 300, 600, 900}, Gather: r.Gather}
		_, m := testModel(t, p, x, y, 1, GCNOptions{Hidden: 48})
		m.Ranks = r
		all.Go(func() error {
			for _, nodes := range [][]int32{{5, 3}, {5, 3}, {700, 5}, {700, 5}, {}, nil} {
				want, err := alone.Infer(t.Context(), p, x, nodes)
				if err != nil {
					return err
				}
				got, err := m.Infer(t.Context(), p, part, nodes)
				if err != nil {
					return err
				}
				if !slices.Equal(got, want) {
					t.Errorf("rank %d, nodes %v: other logits", k, nodes)
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
}

// A rank that infers for other nodes is an error on every rank.
func TestRanksAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, size = 900, 3
	p := graph.NewLaplacian(randomGraph(t, rng, n, 3*n, true))
	x, y := randomFeatures(rng, n, 40), randomLabels(rng, n, 3)
	var all errgroup.Group
	for k, r := range newRanks(size) {
		_, m := testModel(t, p, x, y, 2, GCNOptions{Hidden: 16})
		m.Ranks = r
		all.Go(func() error {
			if _, err := m.Infer(t.Context(), p, x, nodesOf(rand.New(rand.NewPCG(1, 2)), n, 300+k/2)); err == nil || !strings.Contains(err.Error(), "all ranks need the same") {
				t.Errorf("rank %d returns %v", k, err)
			}
			return nil
		})
	}
	all.Wait()
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
