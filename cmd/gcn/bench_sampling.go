package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/samplers"
)

// samplingRow is the cost of sampling one layer with one method.
type samplingRow struct {
	Method     string `json:"method"`
	Samples    int    `json:"samples"` // 0 where the method has no use for it
	Batch      int    `json:"batch"`
	Median     number `json:"ms_median"`
	Mean       number `json:"ms_mean"`
	SD         number `json:"ms_sd"`
	NNZ        number `json:"nnz"`        // of the block, mean
	Candidates number `json:"candidates"` // nodes that could be drawn, mean
	Allocs     number `json:"allocs_per_batch"`
}

type samplingBench struct {
	data    string
	methods wordList
	samples intList
	batch   int
	batches int
	seed    uint64
	asJSON  bool
}

func newBenchSamplingCommand() *cobra.Command {
	b := &samplingBench{methods: wordList{"fastgcn", "ladies", "ladies-flat", "ladies-debiased", "ladies-flat-debiased"}}
	cmd := &cobra.Command{
		Use:   "sampling",
		Short: "Measure how long one layer takes to sample, on one goroutine",
		Long: `Measure how long one layer takes to sample, on one goroutine, for mini-batches of
random training nodes: everything from the batch to the block with its
transpose, after some batches to warm up.`,
		Example: `  gcn bench sampling --data synth:arxiv
  gcn bench sampling --data synth:arxiv --methods ladies,fastgcn --samples 256,512 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := b.check(); err != nil {
				return err
			}
			data, err := openData(cmd.Context(), b.data)
			if err != nil {
				return err
			}
			rows, err := b.run(cmd.Context(), data)
			if err != nil {
				return err
			}
			if b.asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"dataset": b.data, "rows": rows})
			}
			t, width := newTable(true), len(slices.MaxFunc(methodNames(), func(a, b string) int { return len(a) - len(b) }))
			t.row(fmt.Sprintf("%-*s", width, "method"), "samples", "median ms", "mean ms", "sd ms", "nnz", "candidates", "allocs", "")
			for _, r := range rows {
				t.row(fmt.Sprintf("%-*s", width, r.Method), r.Samples, fmt.Sprintf("%.3f", r.Median), fmt.Sprintf("%.3f", r.Mean), fmt.Sprintf("%.3f", r.SD),
					fmt.Sprintf("%.0f", r.NNZ), fmt.Sprintf("%.0f", r.Candidates), fmt.Sprintf("%.1f", r.Allocs), "")
			}
			return t.print(cmd.OutOrStdout())
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&b.data, "data", defaultData, "data `SPEC`; gcn datasets list shows what there is")
	fs.Var(&b.methods, "methods", "sampling methods")
	fs.Var(&b.samples, "samples", "nodes to draw, or neighbours per node; a row each (default 512,1024, or 2)")
	fs.IntVar(&b.batch, "batch", 512, "training nodes per mini-batch")
	fs.IntVar(&b.batches, "batches", 200, "mini-batches to measure")
	fs.Uint64Var(&b.seed, "seed", 1, "seed of everything random")
	addJSONFlag(cmd, &b.asJSON)
	complete(cmd, "methods", methodNames)
	complete(cmd, "data", dataSpecs)
	return cmd
}

func (b *samplingBench) check() error {
	for _, m := range b.methods {
		if err := checkMethod("methods", m); err != nil {
			return err
		}
	}
	if err := b.samples.check(); err != nil {
		return err
	}
	if err := atLeast("batch", b.batch, 1); err != nil {
		return err
	}
	return atLeast("batches", b.batches, 1)
}

func (b *samplingBench) run(ctx context.Context, data *datasets.Data) ([]samplingRow, error) {
	var rows []samplingRow
	for _, method := range b.methods {
		for _, size := range b.sizes(method) {
			row, err := b.measure(ctx, data, method, size)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// sizes returns the sample sizes to measure a method at: those given, else its
// own or the paper's; a single 0 where it has no use for them.
func (b *samplingBench) sizes(method string) []int {
	switch m := methodNamed(method); {
	case m.Sizes == "":
		return []int{0}
	case len(b.samples) > 0:
		return b.samples
	case len(m.Default) > 0:
		return m.Default[:1]
	}
	return []int{512, 1024}
}

// measure times one method at one size.
func (b *samplingBench) measure(ctx context.Context, data *datasets.Data, method string, size int) (samplingRow, error) {
	row := samplingRow{Method: method, Samples: size, Batch: min(b.batch, len(data.Split.Train))}
	sampler, err := samplers.ByName(method, samplers.Config{
		Laplacian: data.Laplacian(), Train: data.Split.Train, Layers: 1, Sizes: []int{max(size, 1)},
	})
	if err != nil {
		return row, err
	}
	const warmup = 10
	var batch samplers.Batch
	var before, after runtime.MemStats
	var nnz, candidates float64
	times := make([]float64, 0, b.batches)
	err = b.eachBatch(data, warmup+b.batches, func(k int, seeds []int32, rng *rand.Rand) error {
		if k == warmup {
			runtime.ReadMemStats(&before)
		}
		start := time.Now()
		err := sampler.Sample(ctx, seeds, rng, &batch)
		if k >= warmup && err == nil {
			times = append(times, time.Since(start).Seconds()*1e3)
			nnz += float64(batch.Blocks[0].Matrix.NNZ())
		}
		return err
	})
	if err != nil {
		return row, err
	}
	runtime.ReadMemStats(&after)
	// Once more over the same batches, so as not to disturb the measurement.
	full := &samplers.Full{Laplacian: data.Laplacian(), Depth: 1}
	err = b.eachBatch(data, warmup+b.batches, func(k int, seeds []int32, rng *rand.Rand) error {
		if k < warmup {
			return nil
		}
		err := full.Sample(ctx, seeds, rng, &batch)
		candidates += float64(len(batch.Inputs()))
		return err
	})
	n := float64(b.batches)
	if everyNode(sampler) {
		candidates = n * float64(data.Nodes())
	}
	median, mean, sd := summary(times)
	row.Median, row.Mean, row.SD = measured(median), measured(mean), measured(sd)
	row.NNZ, row.Candidates, row.Allocs = measured(nnz/n), measured(candidates/n), measured(float64(after.Mallocs-before.Mallocs)/n)
	return row, err
}

// everyNode tells whether a sampler draws from all nodes of the graph, those
// that no row sees included.
func everyNode(sampler samplers.Sampler) bool {
	layerWise, ok := sampler.(*samplers.LayerWise)
	if !ok {
		return false
	}
	fastGCN, ok := layerWise.Importance.(samplers.FastGCN)
	return ok && !fastGCN.Neighborhood
}

// eachBatch calls visit with mini-batches of random training nodes, the same
// ones every time.
func (b *samplingBench) eachBatch(data *datasets.Data, n int, visit func(k int, seeds []int32, rng *rand.Rand) error) error {
	source := new(rand.PCG)
	rng := rand.New(source)
	ids := slices.Clone(data.Split.Train)
	size := min(b.batch, len(ids))
	for k := range n {
		samplers.Seed(source, b.seed, 0, uint64(k))
		partialShuffle(rng, ids, size)
		if err := visit(k, ids[:size], rng); err != nil {
			return err
		}
	}
	return nil
}

// partialShuffle puts n random elements of ids, without repeats, in front.
func partialShuffle(rng *rand.Rand, ids []int32, n int) {
	for i := range n {
		j := i + rng.IntN(len(ids)-i)
		ids[i], ids[j] = ids[j], ids[i]
	}
}

// summary returns the median, the mean and the unbiased standard deviation of
// values, which it sorts.
func summary(values []float64) (median, mean, sd float64) {
	slices.Sort(values)
	n := len(values)
	median = (values[(n-1)/2] + values[n/2]) / 2
	for _, v := range values {
		mean += v / float64(n)
	}
	for _, v := range values {
		sd += (v - mean) * (v - mean)
	}
	if n > 1 {
		sd = math.Sqrt(sd / float64(n-1))
	}
	return median, mean, sd
}
