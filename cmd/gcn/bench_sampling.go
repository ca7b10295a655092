package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/bench"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

// samplingRow is the cost of sampling one layer with one method.
type samplingRow struct {
	Method     string `json:"method"`
	Samples    int    `json:"samples"` // 0 if the method has no sample size
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
		Short: "Measure the time to sample one layer, on one goroutine",
		Long: `Measure the time to sample one layer, on one goroutine, for mini-batches of random
training nodes. It covers all work from the batch to the block with its transpose,
after some batches to warm up. The methods take turns of 20 batches.`,
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
	fs.StringVar(&b.data, "data", defaultData, "data `SPEC`; see gcn datasets list")
	fs.Var(&b.methods, "methods", "sampling methods")
	fs.Var(&b.samples, "samples", "nodes to draw, or neighbours per node; one row for each (default 512,1024, or 2)")
	fs.IntVar(&b.batch, "batch", 512, "training nodes per mini-batch")
	fs.IntVar(&b.batches, "batches", 200, "mini-batches to measure")
	fs.Uint64Var(&b.seed, "seed", 1, "seed of all random decisions")
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
	var all []*measurement
	for _, method := range b.methods {
		for _, size := range b.sizes(method) {
			sampler, err := samplers.ByName(method, samplers.Config{
				Laplacian: data.Laplacian(), Train: data.Split.Train, Layers: 1, Sizes: []int{max(size, 1)},
			})
			if err != nil {
				return nil, err
			}
			all = append(all, &measurement{
				row:     samplingRow{Method: method, Samples: size, Batch: min(b.batch, len(data.Split.Train))},
				sampler: sampler,
			})
		}
	}
	batches := b.seedNodes(data)
	// The methods take turns, so that a disturbance of the machine slows all of
	// them alike.
	for from := 0; from < len(batches); from += turn {
		for _, m := range all {
			if err := m.take(ctx, b, batches, from); err != nil {
				return nil, err
			}
		}
	}
	neighbors, err := neighborhoods(ctx, data, batches)
	if err != nil {
		return nil, err
	}
	rows := make([]samplingRow, len(all))
	for i, m := range all {
		rows[i] = m.summary(float64(len(batches)))
		rows[i].Candidates = measured(neighbors)
		if drawsFromAll(m.sampler) {
			rows[i].Candidates = number(data.Nodes())
		}
	}
	return rows, nil
}

// sizes returns the sample sizes to measure a method at: the given ones, else the
// method's own or the paper's; a single 0 if the method has no sample size.
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

// In its turn a method samples warmup batches that do not count, and then turn
// batches that do.
const turn, warmup = 20, 10

// measurement collects the times of one method at one size.
type measurement struct {
	row     samplingRow
	sampler samplers.Sampler
	batch   samplers.MiniBatch
	times   []float64
	nnz     float64
	allocs  uint64
}

func (m *measurement) take(ctx context.Context, b *samplingBench, batches [][]int32, from int) error {
	source := new(rand.PCG)
	rng := rand.New(source)
	sample := func(k int) error {
		samplers.Seed(source, b.seed, 1, uint64(k))
		return m.sampler.Sample(ctx, batches[k], rng, &m.batch)
	}
	to := min(from+turn, len(batches))
	for k := range warmup { // not the batches that count
		if err := sample((to + k) % len(batches)); err != nil {
			return err
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for k := from; k < to; k++ {
		start := time.Now()
		if err := sample(k); err != nil {
			return err
		}
		m.times = append(m.times, time.Since(start).Seconds()*1e3)
		m.nnz += float64(m.batch.Blocks[0].Matrix.NNZ())
	}
	runtime.ReadMemStats(&after)
	m.allocs += after.Mallocs - before.Mallocs
	return nil
}

func (m *measurement) summary(n float64) samplingRow {
	row := m.row
	spread := study.NewSpread(m.times)
	row.Median, row.Mean, row.SD = measured(study.Median(m.times)), measured(spread.Mean), measured(spread.SD)
	row.NNZ, row.Allocs = measured(m.nnz/n), measured(float64(m.allocs)/n)
	return row
}

// neighborhoods returns the mean number of nodes that the rows of a batch see.
func neighborhoods(ctx context.Context, data *datasets.Data, batches [][]int32) (float64, error) {
	full := &samplers.Full{Laplacian: data.Laplacian(), Depth: 1}
	var batch samplers.MiniBatch
	var nodes float64
	for _, seeds := range batches {
		if err := full.Sample(ctx, seeds, nil, &batch); err != nil {
			return 0, err
		}
		nodes += float64(len(batch.Inputs()))
	}
	return nodes / float64(len(batches)), nil
}

// drawsFromAll reports whether a sampler draws from all nodes of the graph, also from nodes
// that no row sees.
func drawsFromAll(sampler samplers.Sampler) bool {
	layerWise, ok := sampler.(*samplers.LayerWise)
	if !ok {
		return false
	}
	fastGCN, ok := layerWise.Importance.(samplers.FastGCN)
	return ok && !fastGCN.Neighborhood
}

// seedNodes returns mini-batches of random training nodes, the same for every
// method.
func (b *samplingBench) seedNodes(data *datasets.Data) [][]int32 {
	source := new(rand.PCG)
	rng := rand.New(source)
	ids := slices.Clone(data.Split.Train)
	batches := make([][]int32, b.batches)
	for k := range batches {
		samplers.Seed(source, b.seed, 0, uint64(k))
		batches[k] = slices.Clone(bench.Seeds(rng, ids, b.batch))
	}
	return batches
}
