package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/ranks"
	"github.com/gcn-layerwise/gcn/samplers"
)

// seedsOnly is a sampler whose batch is one empty block over the seeds. It calls a
// function first, if there is one.
type seedsOnly struct {
	before func(ctx context.Context, seeds []int32, rng *rand.Rand) error
}

func (s seedsOnly) Layers() int { return 1 }

func (s seedsOnly) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *samplers.MiniBatch) error {
	if s.before != nil {
		if err := s.before(ctx, seeds, rng); err != nil {
			return err
		}
	}
	batch.Reset(1)
	batch.Blocks[0].Dst = append(batch.Blocks[0].Dst[:0], seeds...)
	return nil
}

func numbers(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(10 * i)
	}
	return ids
}

// drawn is a copy of an item.
type drawn struct {
	Index, Epoch, Batch int
	Seeds               []int32
	Dropout             uint64
	Blocks              []graph.Block
}

func load(t testing.TB, s Stream, workers, first, end int) []drawn {
	t.Helper()
	l, err := NewLoader(context.Background(), s, workers, first, end)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var list []drawn
	for {
		item, err := l.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		d := drawn{item.Index, item.Epoch, item.Batch, slices.Clone(item.Seeds), item.Dropout, nil}
		for _, b := range item.Blocks.Blocks {
			d.Blocks = append(d.Blocks, graph.Block{
				Dst: slices.Clone(b.Dst), Src: slices.Clone(b.Src), RowSums: slices.Clone(b.RowSums),
				Matrix: graph.CSR{Rows: b.Matrix.Rows, Cols: b.Matrix.Cols, Ptr: slices.Clone(b.Matrix.Ptr), Idx: slices.Clone(b.Matrix.Idx), Val: slices.Clone(b.Matrix.Val)},
			})
		}
		list = append(list, d)
	}
}

// TestLoaderIsAFunctionOfItsStream draws batches with one worker, with several, from the
// middle of the stream, and by ranks: they must be the same.
func TestLoaderIsAFunctionOfItsStream(t *testing.T) {
	d := smallData(t, 300, 3)
	for name, s := range map[string]Stream{
		"independent": {BatchSize: 16, BatchesPerEpoch: 3},
		"permuted":    {BatchSize: 50, Permute: true},
		"all":         {BatchSize: 1000, BatchesPerEpoch: 2},
		"dropped":     {BatchSize: 16, BatchesPerEpoch: 3, EdgeDropout: 0.3},
	} {
		t.Run(name, func(t *testing.T) {
			s.Sampler = &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{20, 20}}
			s.Train, s.Seed = d.Split.Train, 42
			want := load(t, s, 1, 0, 25)
			if len(want) != 25 {
				t.Fatalf("%d batches, want 25", len(want))
			}
			for _, workers := range []int{2, 7} {
				if got := load(t, s, workers, 0, 25); !reflect.DeepEqual(got, want) {
					t.Errorf("%d workers draw other batches than one", workers)
				}
			}
			if got := load(t, s, 3, 11, 25); !reflect.DeepEqual(got, want[11:]) {
				t.Error("a loader that starts at batch 11 draws other batches")
			}
			// Three ranks share five batches an update: 0; 1, 2; 3, 4.
			s.micro = 5
			for rank, leaves := range [][]int{{0}, {1, 2}, {3, 4}} {
				s.lo, s.hi = ranks.Range(5, rank, 3)
				for k, got := range load(t, s, 2, 0, 5*len(leaves)) {
					number := k/len(leaves)*5 + leaves[k%len(leaves)]
					whole := want[number]
					whole.Index = k
					if !reflect.DeepEqual(got, whole) {
						t.Errorf("rank %d, batch %d is not the whole's batch %d", rank, k, number)
					}
				}
			}
			s.lo, s.hi, s.micro, s.Seed = 0, 0, 0, 43
			other := load(t, s, 1, 0, 1)
			if other[0].Dropout == want[0].Dropout || name != "all" && slices.Equal(other[0].Seeds, want[0].Seeds) {
				t.Error("another seed draws the same batch")
			}
		})
	}
}

// TestIndependentBatches checks that batches hold distinct training nodes, that
// the partial shuffle is undone, and that the draw is uniform: a χ² test at a
// fixed seed of the number of times that each node is drawn.
func TestIndependentBatches(t *testing.T) {
	train := numbers(40)
	s := &Stream{Sampler: seedsOnly{}, Train: train, BatchSize: 10, BatchesPerEpoch: 10, Seed: 5}
	d := newDrawer(s)
	item := &Item{Blocks: new(samplers.MiniBatch)}
	counts := map[int32]float64{}
	const batches = 4000
	for k := range batches {
		d.draw(context.Background(), k, item)
		seen := map[int32]bool{}
		for _, node := range item.Seeds {
			if seen[node] || node%10 != 0 || node < 0 || node >= 400 {
				t.Fatalf("batch %d: node %d repeated or unknown", k, node)
			}
			seen[node] = true
			counts[node]++
		}
		if len(seen) != 10 {
			t.Fatalf("batch %d has %d nodes, want 10", k, len(seen))
		}
		if !slices.Equal(d.order, train) {
			t.Fatalf("batch %d left the order changed", k)
		}
	}
	// Drawing without replacement multiplies the statistic's mean by (n−1)/n·(1−s/n).
	want, chi2 := float64(batches)*10/40, 0.0
	for _, node := range train {
		chi2 += (counts[node] - want) * (counts[node] - want) / want
	}
	chi2 /= 1 - 10.0/40
	if chi2 > 72 { // 0.1% of χ² with 39 degrees of freedom
		t.Errorf("χ² = %.1f over %d nodes", chi2, len(train))
	}
}

// TestPermutedHugeBatch checks that a batch size near the largest int means all training
// nodes, like any size above their number.
func TestPermutedHugeBatch(t *testing.T) {
	train := numbers(23)
	for _, size := range []int{23, 24, math.MaxInt - 22, math.MaxInt} {
		s := Stream{Sampler: seedsOnly{}, Train: train, BatchSize: size, Permute: true, Seed: 5}
		if got := s.PerEpoch(); got != 1 {
			t.Fatalf("batches of %d: %d an epoch, want 1", size, got)
		}
		for k, item := range load(t, s, 2, 0, 3) {
			if item.Epoch != k || len(item.Seeds) != len(train) {
				t.Errorf("batches of %d: batch %d has %d nodes, of epoch %d", size, k, len(item.Seeds), item.Epoch)
			}
		}
	}
}

func TestPermutedEpochs(t *testing.T) {
	train := numbers(23)
	s := Stream{Sampler: seedsOnly{}, Train: train, BatchSize: 5, Permute: true, Seed: 5}
	if s.PerEpoch() != 5 {
		t.Fatalf("%d batches an epoch, want 5", s.PerEpoch())
	}
	items := load(t, s, 3, 0, 15)
	var first []int32
	for epoch := range 3 {
		var all []int32
		for k, item := range items[5*epoch : 5*epoch+5] {
			if item.Epoch != epoch || item.Batch != k {
				t.Fatalf("batch %d of epoch %d says it is %d of %d", k, epoch, item.Batch, item.Epoch)
			}
			all = append(all, item.Seeds...)
		}
		if epoch == 0 {
			first = slices.Clone(all)
		} else if slices.Equal(all, first) {
			t.Error("two epochs have the same order")
		}
		slices.Sort(all)
		if !slices.Equal(all, train) {
			t.Errorf("epoch %d holds %v", epoch, all)
		}
	}
}

// TestLoaderHoldsFewBatches checks the backpressure: if the trainer is slow, workers draw
// no more batches ahead than there are items.
func TestLoaderHoldsFewBatches(t *testing.T) {
	var started atomic.Int64
	s := Stream{Sampler: seedsOnly{func(context.Context, []int32, *rand.Rand) error { started.Add(1); return nil }}, Train: numbers(10), BatchSize: 2, BatchesPerEpoch: 10}
	const workers = 3
	l, err := NewLoader(context.Background(), s, workers, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for k := range 20 {
		if _, err := l.Next(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		if n := started.Load(); n > int64(k+2*workers+1) {
			t.Fatalf("%d batches drawn when %d were used", n, k+1)
		}
	}
}

func TestLoaderErrors(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		fail func() error
		want string
	}{
		"error": {func() error { return broken }, "batch 17 (epoch 1): broken"},
		"panic": {func() error { panic("boom") }, "batch 17 (epoch 1): the sampler panicked: boom at "},
		"index": {func() error { var s []int; s[len(nobody())] = 1; return nil }, "the sampler panicked: runtime error: index out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			s := Stream{Train: numbers(10), BatchSize: 2, BatchesPerEpoch: 10}
			bad := firstSeeds(t, s, 17)
			s.Sampler = seedsOnly{func(_ context.Context, seeds []int32, rng *rand.Rand) error {
				calls.Add(1)
				if rng.Uint64() == bad {
					return c.fail()
				}
				return nil
			}}
			l, err := NewLoader(context.Background(), s, 4, 0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			for k := range 17 {
				if _, err := l.Next(); err != nil {
					t.Fatalf("batch %d: %v", k, err)
				}
			}
			_, err = l.Next()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("batch 17: error %v, want one with %q", err, c.want)
			}
			if name == "error" && !errors.Is(err, broken) {
				t.Error("the sampler's error is not wrapped")
			}
			for range 2 { // it must not wait for a batch that no worker draws
				if _, again := l.Next(); again != err {
					t.Errorf("the call after it: error %v, want the same", again)
				}
			}
			if strings.Contains(c.want, "panicked") && !strings.Contains(err.Error(), "loader_test.go:") {
				t.Errorf("error %v does not say where", err)
			}
		})
	}
	for want, s := range map[string]Stream{
		"without a sampler":     {Train: numbers(3), BatchSize: 1, BatchesPerEpoch: 1},
		"training set is empty": {Sampler: seedsOnly{}, BatchSize: 1, BatchesPerEpoch: 1},
		"batch size -1":         {Sampler: seedsOnly{}, Train: numbers(3), BatchSize: -1, BatchesPerEpoch: 1},
		"0 batches an epoch":    {Sampler: seedsOnly{}, Train: numbers(3), BatchSize: 1},
	} {
		if _, err := NewLoader(context.Background(), s, 1, 0, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	s := Stream{Sampler: seedsOnly{}, Train: numbers(3), BatchSize: 1, BatchesPerEpoch: 1}
	if _, err := NewLoader(context.Background(), s, 1, -5, 5); err == nil || !strings.Contains(err.Error(), "number -5") {
		t.Errorf("batches from -5: error %v", err)
	}
	l, err := NewLoader(context.Background(), s, 3, 5, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Next(); err != io.EOF {
		t.Errorf("batches from 5 to 2: error %v, want EOF", err)
	}
	l.Close()
	if l.reserved != 0 {
		t.Errorf("%d processors are reserved after Close", l.reserved)
	}
}

func nobody() string { return "" }

// firstSeeds returns the first random number that the sampler of a batch gets.
func firstSeeds(t *testing.T, s Stream, index int) (first uint64) {
	s.Sampler = seedsOnly{func(_ context.Context, _ []int32, rng *rand.Rand) error { first = rng.Uint64(); return nil }}
	item := &Item{Blocks: new(samplers.MiniBatch)}
	newDrawer(&s).draw(context.Background(), index, item)
	if item.err != nil {
		t.Fatal(item.err)
	}
	return first
}

// TestLoaderStops checks that cancellation and Close stop running samplers, that Next
// returns the context's error, and that no goroutine is left.
func TestLoaderStops(t *testing.T) {
	before := runtime.NumGoroutine()
	stuck := seedsOnly{func(ctx context.Context, _ []int32, _ *rand.Rand) error { <-ctx.Done(); return ctx.Err() }}
	s := Stream{Sampler: stuck, Train: numbers(10), BatchSize: 2, BatchesPerEpoch: 10}
	ctx, cancel := context.WithCancel(context.Background())
	l, err := NewLoader(ctx, s, 3, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(5*time.Millisecond, cancel)
	start := time.Now()
	if _, err := l.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	l.Close()
	if l, err = NewLoader(context.Background(), s, 3, 0, 100); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := l.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("after Close: error %v, want %v", err, context.Canceled)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("stopping took %v", took)
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func BenchmarkLoader(b *testing.B) {
	d := smallData(b, 5000, 5)
	s := Stream{
		Sampler: &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{256, 256}},
		Train:   d.Split.Train, BatchSize: 256, BatchesPerEpoch: 10,
	}
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			b.ReportAllocs()
			l, err := NewLoader(context.Background(), s, workers, 0, math.MaxInt)
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			for b.Loop() {
				if _, err := l.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
