package layers

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// A bound on the memory puts hidden layers into files and computes P·X in several blocks. The
// logits keep their bits.
func TestInferWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 6))
	const n, cols = 9001, 40 // several chunks
	p := graph.NewLaplacian(randomGraph(t, rng, n, 40000, false))
	x, y := randomFeatures(rng, n, cols), randomLabels(rng, n, 6)
	h, err := x.ToHalf()
	if err != nil {
		t.Fatal(err)
	}
	some := make([]int32, 0, 1000)
	for range cap(some) {
		some = append(some, rng.Int32N(n)) // some twice
	}
	for _, o := range []GCNOptions{
		{Hidden: 64}, {Hidden: 64, Residual: true}, {Hidden: 48, PreNorm: true, LayerNorm: true, HiddenResidual: ResidualLinear},
		{Hidden: 16}, {Hidden: 64, Heads: 4}, {Hidden: 64, Jumping: JumpingConcat}, {Hidden: 40, InputLayer: true},
	} {
		for depth := 1; depth <= 3; depth++ {
			if o.Jumping != JumpingNone && depth == 1 {
				continue
			}
			_, m := testModel(t, p, x, y, depth, o)
			for _, f := range []*graph.Features{x, h} {
				for _, nodes := range [][]int32{nil, some} {
					want, err := m.Infer(t.Context(), p, f, nodes)
					if err != nil {
						t.Fatal(err)
					}
					m.memory.Store(nil)
					disk := &graph.Features{Rows: n, Cols: cols, Data: f.Data, Half: f.Half, Release: func() {}}
					dir := t.TempDir()
					m.Bound = InferenceBound{Memory: 12*n + 200_000, Scratch: dir}
					for range 2 {
						got, err := m.Infer(t.Context(), p, disk, nodes)
						if err != nil || !slices.Equal(got, want) {
							t.Errorf("%+v, %d layers, half %v, %d nodes: %v; other logits", o, depth, f.Half != nil, len(nodes), err)
						}
					}
					m.Bound = InferenceBound{}
					kept := m.memory.Swap(nil)
					if files := kept.Files(); files < 2 && (depth > 1 || o.Heads > 0) {
						t.Errorf("%+v, %d layers, %d nodes: %d files in two calls", o, depth, len(nodes), files)
					}
					blocks := 2 // of one layer and some nodes: one in each call
					if depth > 1 || nodes == nil {
						blocks = 4
					}
					if inOrder := o.Heads == 0 && !o.InputLayer && o.Hidden >= cols; inOrder && kept.ordered.blocks < blocks || o.Heads > 0 && kept.ordered.blocks > 0 {
						t.Errorf("%+v, %d layers, %d nodes: P·X in %d blocks", o, depth, len(nodes), kept.ordered.blocks)
					}
					if left, _ := os.ReadDir(dir); len(left) > 0 {
						t.Errorf("left behind: %v", left)
					}
				}
			}
		}
	}
}

func TestInferWithinSameBitsOnAnyNumberOfCores(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	const n = 9000
	p := graph.NewLaplacian(randomGraph(t, rng, n, 40000, true))
	x, y := randomFeatures(rng, n, 24), randomLabels(rng, n, 6)
	x.Release = func() {}
	_, m := testModel(t, p, x, y, 2, GCNOptions{Hidden: 32})
	m.Bound = InferenceBound{Memory: 12*n + 100_000, Scratch: t.TempDir()}
	var want []float32
	for _, cores := range []int{1, 2, 7} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
			got, err := m.Infer(t.Context(), p, x, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d cores give other bits than 1", cores)
			}
		}()
	}
}

func TestInferWithinASmallerBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	const n = 5000
	p := graph.NewLaplacian(randomGraph(t, rng, n, 20000, false))
	x, y := randomFeatures(rng, n, 24), randomLabels(rng, n, 6)
	_, m := testModel(t, p, x, y, 2, GCNOptions{Hidden: 32})
	want, err := m.Infer(t.Context(), p, x, nil) // keeps P·X and the hidden layer
	if err != nil {
		t.Fatal(err)
	}
	x.Release = func() {} // as of a file
	m.Bound = InferenceBound{Memory: 12*n + 200_000, Scratch: t.TempDir()}
	if got, err := m.Infer(t.Context(), p, x, nil); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v; or other logits", err)
	}
	kept := m.memory.Load()
	if kept.input.px != nil || kept.Files() == 0 {
		t.Errorf("%d values of P·X, %d files: the bound is not kept", len(kept.input.px), kept.Files())
	}
}

func TestInferWithinErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	const n = 5000
	p := graph.NewLaplacian(randomGraph(t, rng, n, 20000, false))
	x, y := randomFeatures(rng, n, 24), randomLabels(rng, n, 6)
	x.Release = func() {}
	_, m := testModel(t, p, x, y, 2, GCNOptions{Hidden: 32})
	want, err := m.Infer(t.Context(), p, x, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.memory.Store(nil)
	dir := t.TempDir()
	oneLine := func(err error, part string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want one line with %q, got %v", part, err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	m.Bound = InferenceBound{Memory: 1000, Scratch: dir}
	_, err = m.Infer(t.Context(), p, x, nil)
	if oneLine(err, "may take 1 kB"); !errors.Is(err, memory.ErrTooLarge) {
		t.Error(err)
	}
	// CheckBound is as Infer: a few nodes have no bound, unless ranks hold X in parts.
	shared := *x
	shared.Share = new(graph.Share)
	oneLine(m.CheckBound(p, x, nil), "may take 1 kB")
	oneLine(m.CheckBound(p, &shared, []int32{1, 2}), "may take 1 kB")
	if err := m.CheckBound(p, x, []int32{1, 2}); err != nil {
		t.Error(err)
	}
	oneLine(m.CheckBound(nil, x, []int32{1, 2}), "needs a Laplacian")
	m.Bound = InferenceBound{Memory: 12*n + 50_000, Scratch: filepath.Join(dir, "none")}
	_, err = m.Infer(t.Context(), p, x, nil)
	oneLine(err, "scratch file")
	m.Bound.Scratch = dir
	for _, calls := range []int64{2, 5, 8} {
		ctx := newCountdown(calls)
		if _, err = m.Infer(ctx, p, x, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("after %d checks: %v", calls, err)
		}
		oneLine(err, "context")
	}
	if got, err := m.Infer(t.Context(), p, x, nil); err != nil || !slices.Equal(got, want) {
		t.Errorf("after the errors: %v; or other logits", err)
	}
}
