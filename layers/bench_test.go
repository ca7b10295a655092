package layers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

// benchmarkBlock has rows of 15 entries.
func benchmarkBlock(rng *rand.Rand, dst, src []int32) *graph.Block {
	b := &graph.Block{Dst: dst, Src: src}
	b.Matrix = graph.CSR{Rows: len(dst), Cols: len(src), Ptr: []int64{0}}
	for range dst {
		for _, j := range rng.Perm(len(src))[:15] {
			b.Matrix.Idx = append(b.Matrix.Idx, int32(j))
			b.Matrix.Val = append(b.Matrix.Val, rng.Float32()/15)
		}
		b.Matrix.Ptr = append(b.Matrix.Ptr, int64(len(b.Matrix.Idx)))
	}
	b.Finish()
	return b
}

// fixed is a sampler with fixed sizes. The benchmarks never draw from it.
type fixed struct{ sizes []int }

func (f fixed) Layers() int         { return len(f.sizes) - 1 }
func (f fixed) NominalSizes() []int { return f.sizes }
func (f fixed) Sample(context.Context, []int32, *rand.Rand, *samplers.MiniBatch) error {
	return fmt.Errorf("layers: nothing to sample")
}

// BenchmarkStep is the forward and backward pass of the standard model: 2 layers of width
// 256 over batches of 512 nodes, 15 entries a row, 128 features, 40 classes. It reports the
// ratio of its time to the time of its dense products, both measured in turn.
func BenchmarkStep(b *testing.B) {
	for _, sizes := range [][]int{{512, 512, 512}, {1024, 512, 512}} {
		b.Run(fmt.Sprintf("sizes=%d,%d", sizes[1], sizes[0]), func(b *testing.B) { benchmarkStep(b, sizes) })
	}
}

func benchmarkStep(b *testing.B, sizes []int) {
	const nodes, features, hidden, classes = 20000, 128, 256, 40
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := randomFeatures(rng, nodes, features), randomLabels(rng, nodes, classes)
	batch := NewBatch(G.NewGraph(), fixed{sizes})
	m, err := NewGCN(batch, x, y, GCNOptions{Hidden: hidden})
	if err != nil {
		b.Fatal(err)
	}
	gradients, err := G.Grad(m.Loss, m.Parameters...)
	if err != nil {
		b.Fatal(err)
	}
	machine := G.NewTapeMachine(batch.Graph())
	defer machine.Close()
	var drawn []*samplers.MiniBatch
	for range 8 {
		ids := make([][]int32, len(sizes))
		for l, size := range sizes {
			for _, v := range rng.Perm(nodes)[:size] {
				ids[l] = append(ids[l], int32(v))
			}
		}
		s := new(samplers.MiniBatch)
		for l := range len(sizes) - 1 {
			s.Blocks = append(s.Blocks, benchmarkBlock(rng, ids[l+1], ids[l]))
		}
		drawn = append(drawn, s)
	}
	step := func(k int) {
		if err := batch.Set(drawn[k%len(drawn)], true, uint64(k)); err != nil {
			b.Fatal(err)
		}
		if err := machine.RunAll(); err != nil {
			b.Fatal(err)
		}
		if gradients[0].Value() == nil {
			b.Fatal("no gradient")
		}
		machine.Reset()
	}
	products, err := denseProducts(sizes[1:], features, hidden, classes)
	if err != nil {
		b.Fatal(err)
	}
	for k := range 2 * len(drawn) {
		step(k)
		products()
	}
	var steps, floors []float64
	b.ReportAllocs()
	for k := 0; b.Loop(); k++ {
		start := time.Now()
		step(k)
		middle := time.Now()
		products()
		steps = append(steps, middle.Sub(start).Seconds())
		floors = append(floors, time.Since(middle).Seconds())
	}
	slices.Sort(steps)
	slices.Sort(floors)
	median, floor := steps[len(steps)/2], floors[len(floors)/2]
	b.ReportMetric(median*1e3, "ms/step")
	b.ReportMetric(floor*1e3, "ms/products")
	b.ReportMetric(median/floor, "ratio")
}

// denseProducts returns a function that computes the dense products of a step alone: the
// three maps forward, their weights' gradients, and the upper two maps' input gradients.
func denseProducts(rows []int, features, hidden, classes int) (func(), error) {
	backend, err := blas.Default()
	if err != nil {
		return nil, err
	}
	type layer struct{ n, in, out int }
	maps := []layer{{rows[0], features, hidden}, {rows[1], hidden, hidden}, {rows[1], hidden, classes}}
	rng := rand.New(rand.NewPCG(1, 2))
	var x, w, z, dw, dx [][]float32
	for _, l := range maps {
		x = append(x, randomFeatures(rng, l.n, l.in).Data)
		w = append(w, randomFeatures(rng, l.in, l.out).Data)
		z = append(z, make([]float32, l.n*l.out))
		dw = append(dw, make([]float32, l.in*l.out))
		dx = append(dx, make([]float32, l.n*l.in))
	}
	return func() {
		for k, l := range maps {
			backend.Sgemm(false, false, l.n, l.out, l.in, 1, x[k], l.in, w[k], l.out, 0, z[k], l.out)
			backend.Sgemm(true, false, l.in, l.out, l.n, 1, x[k], l.in, z[k], l.out, 0, dw[k], l.out)
			if k > 0 {
				backend.Sgemm(false, true, l.n, l.in, l.out, 1, z[k], l.out, w[k], l.out, 0, dx[k], l.in)
			}
		}
	}, nil
}

// BenchmarkInfer is full-neighbour inference over a graph of ogbn-arxiv's size.
func BenchmarkInfer(b *testing.B) {
	const nodes, features, hidden, classes = 169343, 128, 256, 40
	rng := rand.New(rand.NewPCG(1, 2))
	p := graph.NewLaplacian(randomGraph(b, rng, nodes, 1166243, false))
	x, y := randomFeatures(rng, nodes, features), randomLabels(rng, nodes, classes)
	_, m := testModel(b, p, x, y, 2, GCNOptions{Hidden: hidden})
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var peak atomic.Uint64
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				peak.Store(max(peak.Load(), now.HeapAlloc))
			}
		}
	}()
	for b.Loop() {
		b.StopTimer()
		runtime.GC() // so that the peak does not include earlier results
		b.StartTimer()
		if _, err := m.Infer(context.Background(), p, x, nil); err != nil {
			b.Fatal(err)
		}
	}
	close(done)
	<-stopped
	b.ReportMetric(float64(peak.Load()-before.HeapAlloc)/(1<<20), "MiB-peak")
	b.ReportMetric(nodes*float64(b.N)/b.Elapsed().Seconds(), "nodes/s")
}
