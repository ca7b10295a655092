package bench

import (
	"context"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// InferReport is the cost of full-neighbour inference over all nodes. "gcn bench infer"
// prints it with these JSON names.
type InferReport struct {
	MS          float64 `json:"ms"`       // median of the calls after the first, which keeps P·X for them
	FirstMS     float64 `json:"first_ms"` // of the first call
	NodesPerS   float64 `json:"nodes_per_s"`
	HeapMB      float64 `json:"heap_mb"` // largest growth of the heap, garbage included
	Nodes       int     `json:"nodes"`
	Repetitions int     `json:"repetitions"`
}

// Infer measures inference of m over all nodes of d: one warm-up call, then the given number
// of calls, at least one.
func Infer(ctx context.Context, m train.Model, d *datasets.Data, repetitions int) (InferReport, error) {
	d.Laplacian() // computed at the first call: do not measure it
	nodes := make([]int32, d.Nodes())
	for i := range nodes {
		nodes[i] = int32(i)
	}
	runtime.GC()
	before := heapBytes()
	end := watchHeap()
	defer end()
	var times []float64
	for range repetitions + 1 {
		runtime.GC() // so that the heap holds at most one call's garbage
		start := time.Now()
		if _, err := train.Predict(ctx, m, d, nodes); err != nil {
			return InferReport{}, err
		}
		times = append(times, milliseconds(time.Since(start)))
	}
	ms := study.Median(times[1:])
	return InferReport{
		MS: ms, FirstMS: times[0], NodesPerS: float64(len(nodes)) / ms * 1000, HeapMB: float64(end()-before) / 1e6,
		Nodes: len(nodes), Repetitions: repetitions,
	}, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// watchHeap reads the heap's size every millisecond until end is called. end returns the
// largest size; later calls return the same.
func watchHeap() (end func() uint64) {
	most := heapBytes()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, heapBytes())
			case <-stop:
				return
			}
		}
	}()
	return sync.OnceValue(func() uint64 {
		close(stop)
		<-done
		return max(most, heapBytes())
	})
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
