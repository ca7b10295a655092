package samplertest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

// TestBound compares Bonferroni's bound with quantiles of the normal law.
func TestBound(t *testing.T) {
	one := &Simulation{Exact: make([]float64, 1)}
	if got := one.Bound(); math.Abs(got-4) > 1e-9 {
		t.Errorf("one entry: %v, want 4", got)
	}
	many := &Simulation{Exact: make([]float64, 72)}
	if got := many.Bound(); math.Abs(math.Erfc(got/math.Sqrt2)*72-6.334248366623985e-05) > 1e-12 {
		t.Errorf("72 entries: %v", got)
	}
}

// TestSimulateExact checks that Full is exact over two layers, and that a wrong
// sampler is not.
func TestSimulateExact(t *testing.T) {
	p := graph.NewLaplacian(RandomGraph(t, 50, 150, true, 1))
	h := make([]float64, 100)
	for i := range h {
		h[i] = math.Sin(float64(i))
	}
	seeds := []int32{3, 40, 7}
	full := &samplers.Full{Laplacian: p, Depth: 2}
	if err := samplers.Prepare(full); err != nil {
		t.Fatal(err)
	}
	r, err := Simulate(full, p, seeds, h, 2, 1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r.Worst() != 0 {
		t.Errorf("full neighbourhoods are off by %v standard errors", r.Worst())
	}
	for name, change := range map[string]func(b *samplers.MiniBatch){
		"doubled entry": func(b *samplers.MiniBatch) { b.Blocks[0].Matrix.Val[0] *= 2 },
		"NaN":           func(b *samplers.MiniBatch) { b.Blocks[0].Matrix.Val[0] = float32(math.NaN()) },
		"infinite":      func(b *samplers.MiniBatch) { b.Blocks[0].Matrix.Val[0] = float32(math.Inf(1)) },
	} {
		r, err = Simulate(broken{full, change}, p, seeds, h, 2, 1000, 1)
		if err != nil {
			t.Fatal(err)
		}
		if !math.IsInf(r.Worst(), 1) {
			t.Errorf("an entry without variance that is %s counts as %v", name, r.Worst())
		}
	}
}

// broken changes the batches of a sampler.
type broken struct {
	samplers.Sampler
	change func(*samplers.MiniBatch)
}

func (b broken) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *samplers.MiniBatch) error {
	if err := b.Sampler.Sample(ctx, seeds, rng, batch); err != nil {
		return err
	}
	b.change(batch)
	return nil
}

// TestContractCanFail checks that the contract finds every fault of a batch, and every
// difference between two batches.
func TestContractCanFail(t *testing.T) {
	p := graph.NewLaplacian(RandomGraph(t, 30, 60, false, 1))
	c := contract{p: p, train: []int32{1, 2, 3, 4, 5}}
	full := &samplers.Full{Laplacian: p, Depth: 2}
	if err := samplers.Prepare(full); err != nil {
		t.Fatal(err)
	}
	var right samplers.MiniBatch
	if err := c.sample(full, 0, &right); err != nil {
		t.Fatal(err)
	}
	if err := c.checkBatch(full, &right, c.seeds(0)); err != nil {
		t.Fatal(err)
	}
	differs := errors.New("differs")
	for name, change := range map[string]func(*samplers.MiniBatch) error{
		"value":         func(b *samplers.MiniBatch) error { b.Blocks[0].Matrix.Val[0] *= 2; return nil },
		"transpose":     func(b *samplers.MiniBatch) error { b.Blocks[1].Transposed.Val[0] *= 2; return nil },
		"row sum":       func(b *samplers.MiniBatch) error { b.Blocks[0].RowSums[0]++; return nil },
		"column":        func(b *samplers.MiniBatch) error { b.Blocks[0].Matrix.Idx[0] = 1 << 20; return nil },
		"input":         func(b *samplers.MiniBatch) error { b.Blocks[0].Src[0] = b.Blocks[0].Src[1]; return nil },
		"output":        func(b *samplers.MiniBatch) error { b.Blocks[1].Dst[0] = 29; return nil },
		"blocks":        func(b *samplers.MiniBatch) error { b.Blocks = b.Blocks[:1]; return nil },
		"loss weights":  func(b *samplers.MiniBatch) error { b.LossWeights = []float32{float32(math.NaN())}; return nil },
		"control":       func(b *samplers.MiniBatch) error { b.Blocks[0].Control = &graph.CSR{}; return nil },
		"fine":          func(*samplers.MiniBatch) error { return differs },
		"foreign entry": func(b *samplers.MiniBatch) error { return foreignEntry(p, b) },
	} {
		batch := new(samplers.MiniBatch)
		if err := c.sample(full, 0, batch); err != nil {
			t.Fatal(err)
		}
		fine := change(batch) == differs
		if err := c.checkBatch(full, batch, c.seeds(0)); (err == nil) != fine {
			t.Errorf("%s: the check gives %v", name, err)
		}
		if diff := difference(&right, batch); (diff == "") != fine {
			t.Errorf("%s: the difference is %q", name, diff)
		}
	}
	for name, change := range map[string]func(seeds []int32, b *samplers.MiniBatch){
		"seeds are changed": func(seeds []int32, _ *samplers.MiniBatch) { seeds[0] = 5 - seeds[0] },
		"a block is nil":    func(_ []int32, b *samplers.MiniBatch) { b.Blocks[1] = nil },
	} {
		if err := c.sample(meddling{full, change}, 0, new(samplers.MiniBatch)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	var keeps samplers.MiniBatch
	if err := c.sample(meddling{full, func(seeds []int32, b *samplers.MiniBatch) { b.Blocks[1].Dst = seeds }}, 0, &keeps); err != nil {
		t.Fatal(err)
	}
	if err := c.checkBatch(full, &keeps, c.seeds(0)); err == nil {
		t.Error("a block that shares the seeds' memory: no error")
	}
	before := laplacianText(p)
	if before != laplacianText(p) {
		t.Error("a second text differs")
	}
	p.RowScale[3]++
	if before == laplacianText(p) {
		t.Error("a changed scale is not seen")
	}
}

// meddling is a sampler that changes the seeds or the batch after sampling.
type meddling struct {
	samplers.Sampler
	last func(seeds []int32, b *samplers.MiniBatch)
}

func (m meddling) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *samplers.MiniBatch) error {
	if err := m.Sampler.Sample(ctx, seeds, rng, batch); err != nil {
		return err
	}
	m.last(seeds, batch)
	return nil
}

// foreignEntry moves an entry of the first block to a place that is 0 in P.
func foreignEntry(p *graph.Laplacian, b *samplers.MiniBatch) error {
	block := b.Blocks[0]
	row := block.Matrix.Row(0)
	for c, j := range block.Src {
		if p.At(int(block.Dst[0]), int(j)) == 0 {
			row[0] = int32(c)
			block.Finish()
			return nil
		}
	}
	return errors.New("no such place")
}
