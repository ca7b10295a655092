package bench

import (
	"context"
	"runtime"
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
	var times []float64
	for range repetitions + 1 {
		runtime.GC() // not during the call
		start := time.Now()
		if _, err := train.Predict(ctx, m, d, nodes); err != nil {
			return InferReport{}, err
		}
		times = append(times, milliseconds(time.Since(start)))
	}
	ms := study.Median(times[1:])
	return InferReport{ms, times[0], float64(len(nodes)) / ms * 1000, len(nodes), repetitions}, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }
