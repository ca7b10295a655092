package samplertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Run checks the contract of a sampler, in a subtest of the given name:
//
//   - blocks are valid (graph.Block.Validate), fit together from layer to layer,
//     hold only entries of P, and have at least one input and one output node;
//     the output nodes are the seeds, or distinct training nodes if the sampler
//     draws them itself;
//   - equal random streams give equal batches, for any number of workers, for any
//     earlier contents of the batch, and after any earlier batch;
//   - the sampler does not change the graph or the seeds, and no block shares the
//     memory of the seeds;
//   - an ended context gives its error; no seeds, repeated seeds and seeds outside
//     the graph give an error; and the sampler works after an error.
//
// The graphs have hubs, isolated nodes, weights, a single node, no edges, and
// fewer candidates than the sampler draws.
//
// newSampler returns a new sampler for each graph, or nil if the method takes no such
// graph, with at least two layers and sizes of about 5: some graphs have more candidates,
// some fewer. Run it under the race detector too.
func Run(t *testing.T, name string, newSampler func(p *graph.Laplacian, train []int32) samplers.Sampler) {
	t.Run(name, func(t *testing.T) {
		for graphName, p := range contractGraphs(t) {
			c := contract{p: p}
			for i := 0; i < p.Nodes(); i += 2 {
				c.train = append(c.train, int32(i))
			}
			t.Run(graphName, func(t *testing.T) {
				c.newSampler = func(p *graph.Laplacian, train []int32) samplers.Sampler {
					s := newSampler(p, train)
					if err := samplers.Prepare(s); err != nil {
						t.Fatal(err)
					}
					return s
				}
				if newSampler(c.p, c.train) == nil {
					t.Skip("the method does not take this graph")
				}
				before := laplacianText(c.p)
				t.Run("workers", c.workers)
				t.Run("reuse", c.reuse)
				t.Run("errors", c.errors)
				if before != laplacianText(c.p) {
					t.Error("the graph has changed")
				}
			})
		}
	})
}

type contract struct {
	p          *graph.Laplacian
	train      []int32
	newSampler func(p *graph.Laplacian, train []int32) samplers.Sampler
}

func contractGraphs(t *testing.T) map[string]*graph.Laplacian {
	star := [][2]int32{}
	for i := range int32(29) {
		star = append(star, [2]int32{0, i + 1})
	}
	hubs := RandomGraph(t, 300, 1500, false, 1)
	return map[string]*graph.Laplacian{
		"one node": graph.NewLaplacian(edgeGraph(t, 1, nil, nil)),
		"no edges": graph.NewLaplacian(edgeGraph(t, 7, nil, nil)),
		"isolated nodes": graph.NewLaplacian(edgeGraph(t, 9,
			[][2]int32{{0, 1}, {1, 2}, {2, 3}, {6, 8}}, nil)),
		"star":                 graph.NewLaplacian(edgeGraph(t, 30, star, nil)),
		"hubs":                 graph.NewLaplacian(hubs),
		"hubs, row-stochastic": graph.NewRowLaplacian(hubs),
		"hubs, directed":       graph.NewDirectedLaplacian(Directed(hubs)),
		"hubs, weighted":       graph.NewLaplacian(RandomGraph(t, 200, 800, true, 2)),
	}
}

// edgeGraph returns a graph. A nil weights means that all are 1.
func edgeGraph(t testing.TB, nodes int, edges [][2]int32, weights []float32) *graph.CSR {
	t.Helper()
	b, err := graph.NewBuilder(nodes)
	for k, e := range edges {
		err = cmp.Or(err, b.AddWeighted(e[0], e[1], float32(graph.Weight(weights, k))))
	}
	if err != nil {
		t.Fatal(err)
	}
	adjacency, _ := b.Build()
	return adjacency
}

// RandomGraph returns a graph of heavy-tailed degrees. It draws the given number of
// edges, one end uniformly and the other mostly among low node numbers, and drops
// repeats and self-loops.
func RandomGraph(t testing.TB, nodes, edges int, weighted bool, seed uint64) *graph.CSR {
	t.Helper()
	rng := rand.New(samplers.NewSource(seed, 0, 0))
	ends := make([][2]int32, edges)
	weights := []float32(nil)
	for k := range ends {
		ends[k] = [2]int32{int32(rng.IntN(nodes)), int32(float64(nodes) * math.Pow(rng.Float64(), 3))}
		if weighted {
			weights = append(weights, 0.5+rng.Float32())
		}
	}
	return edgeGraph(t, nodes, ends, weights)
}

// Directed returns a directed graph of a third of the entries of a below its diagonal, and
// all above.
func Directed(a *graph.CSR) *graph.CSR {
	m := &graph.CSR{Rows: a.Rows, Cols: a.Cols, Ptr: []int64{0}}
	for i := range a.Rows {
		for k, j := range a.Row(i) {
			if int(j) < i && (i+int(j))%3 != 0 {
				continue
			}
			m.Idx = append(m.Idx, j)
			if a.Val != nil {
				m.Val = append(m.Val, a.RowValues(i)[k])
			}
		}
		m.Ptr = append(m.Ptr, int64(len(m.Idx)))
	}
	return m
}

// seeds returns the seeds of batch number b: one to twenty training nodes.
func (c *contract) seeds(b int) []int32 {
	rng := rand.New(samplers.NewSource(3, 0, uint64(b)))
	count := 1 + rng.IntN(min(20, len(c.train)))
	var seeds []int32
	for _, k := range rng.Perm(len(c.train))[:count] {
		seeds = append(seeds, c.train[k])
	}
	return seeds
}

const contractBatches = 12

// sample draws batch number b into batch. Afterwards it overwrites the seeds,
// because the batch must not keep them.
func (c *contract) sample(s samplers.Sampler, b int, batch *samplers.MiniBatch) error {
	seeds := c.seeds(b)
	if err := s.Sample(context.Background(), seeds, rand.New(samplers.NewSource(5, 1, uint64(b))), batch); err != nil {
		return err
	}
	if !slices.Equal(seeds, c.seeds(b)) {
		return errors.New("the seeds have changed")
	}
	for k := range seeds {
		seeds[k] = -1
	}
	for l, block := range batch.Blocks {
		if block == nil {
			return fmt.Errorf("block %d is nil", l)
		}
	}
	return nil
}

func (c *contract) checkBatch(s samplers.Sampler, batch *samplers.MiniBatch, seeds []int32) error {
	if len(batch.Blocks) != s.Layers() {
		return fmt.Errorf("%d blocks, want %d", len(batch.Blocks), s.Layers())
	}
	for l, block := range batch.Blocks {
		if err := c.checkBlock(block); err != nil {
			return fmt.Errorf("block %d: %w", l, err)
		}
		if l > 0 && !slices.Equal(batch.Blocks[l-1].Dst, block.Src) {
			return fmt.Errorf("the outputs of block %d are not the inputs of block %d", l-1, l)
		}
	}
	if len(batch.Inputs()) == 0 || len(batch.Outputs()) == 0 {
		return fmt.Errorf("%d input and %d output nodes, want at least one each",
			len(batch.Inputs()), len(batch.Outputs()))
	}
	drawsOutputs := len(batch.LossWeights) > 0
	if !drawsOutputs && !slices.Equal(batch.Outputs(), seeds) {
		// A subgraph sampler draws its outputs: training nodes, all among the inputs.
		for _, i := range batch.Outputs() {
			if !slices.Contains(c.train, i) || !slices.Contains(batch.Inputs(), i) {
				return fmt.Errorf("outputs %v are not the seeds %v", batch.Outputs(), seeds)
			}
		}
	}
	if drawsOutputs && len(batch.LossWeights) != len(batch.Outputs()) {
		return fmt.Errorf("%d loss weights for %d output nodes",
			len(batch.LossWeights), len(batch.Outputs()))
	}
	for i, w := range batch.LossWeights {
		if !(w >= 0) || math.IsInf(float64(w), 0) {
			return fmt.Errorf("loss weight %d is %v", i, w)
		}
	}
	return nil
}

func (c *contract) checkBlock(block *graph.Block) error {
	if err := block.Validate(c.p.Nodes()); err != nil {
		return err
	}
	for i, r := range block.Dst {
		seen := map[int32]bool{}
		for _, j := range block.Matrix.Row(i) {
			if seen[j] {
				return fmt.Errorf("row %d holds column %d twice", i, j)
			}
			seen[j] = true
			if c.p.At(int(r), int(block.Src[j])) == 0 {
				return fmt.Errorf("row %d holds an entry for nodes (%d, %d), where P has none",
					i, r, block.Src[j])
			}
		}
	}
	return nil
}

// workers checks batches, and that one and several concurrent workers draw the same batches as samplers of
// their own.
func (c *contract) workers(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		s := c.newSampler(c.p, c.train)
		var group errgroup.Group
		for w := range workers {
			own := c.newSampler(c.p, c.train)
			group.Go(func() error {
				var batch samplers.MiniBatch // reused by its worker, as a loader would
				for b := contractBatches - 1 - w; b >= 0; b -= workers {
					if err := c.fillsAlike(b, &batch, s, own); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatalf("%d workers: %v", workers, err)
		}
	}
}

// reuse checks that a batch that held larger and smaller batches is filled like a
// new one.
func (c *contract) reuse(t *testing.T) {
	s := c.newSampler(c.p, c.train)
	var reused samplers.MiniBatch
	for _, b := range []int{0, 1, 2, 3, 2, 1, 0, 7} {
		if err := c.fillsAlike(b, &reused, s, s); err != nil {
			t.Fatal(err)
		}
	}
}

// errors checks wrong seeds, and a context that has ended.
func (c *contract) errors(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	one := c.train[0]
	for name, seeds := range map[string][]int32{
		"ended context": {one}, "no seeds": {}, "negative seed": {one, -1},
		"seed out of range": {one, int32(c.p.Nodes())}, "repeated seed": {one, one},
	} {
		ctx := context.Background()
		if name == "ended context" {
			ctx = ended
		}
		s := c.newSampler(c.p, c.train)
		var batch samplers.MiniBatch
		err := s.Sample(ctx, seeds, rand.New(samplers.NewSource(1, 0, 0)), &batch)
		if err == nil || ctx == ended && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", name, err)
		}
		if err := c.fillsAlike(4, &batch, s, c.newSampler(c.p, c.train)); err != nil {
			t.Fatalf("after a failure: %v", err)
		}
	}
}

// fillsAlike returns an error unless s fills batch, whatever it holds, with batch number b as it
// should be, and like other fills a new one.
func (c *contract) fillsAlike(b int, batch *samplers.MiniBatch, s, other samplers.Sampler) error {
	var fresh samplers.MiniBatch
	err := errors.Join(c.sample(s, b, batch), c.sample(other, b, &fresh))
	if err == nil {
		err = c.checkBatch(s, batch, c.seeds(b))
	}
	if err != nil {
		return fmt.Errorf("batch %d: %w", b, err)
	}
	if diff := difference(&fresh, batch); diff != "" {
		return fmt.Errorf("batch %d: %s", b, diff)
	}
	return nil
}

// difference returns the first difference of two batches, "" if they are equal bit by bit.
func difference(want, got *samplers.MiniBatch) string {
	if len(got.Blocks) != len(want.Blocks) || fmt.Sprint(got.LossWeights) != fmt.Sprint(want.LossWeights) {
		return fmt.Sprintf("%d blocks with loss weights %v\nwant %d with %v", len(got.Blocks),
			got.LossWeights, len(want.Blocks), want.LossWeights)
	}
	for l, block := range got.Blocks {
		if text, right := blockText(*block), blockText(*want.Blocks[l]); text != right {
			return fmt.Sprintf("block %d: %s\nwant %s", l, text, right)
		}
	}
	return ""
}

// blockText is everything that a block holds, as text.
func blockText(block graph.Block) string {
	control := block.Control
	block.Control = nil
	return fmt.Sprintf("%+v control %+v", block, control)
}

func laplacianText(p *graph.Laplacian) string {
	return fmt.Sprint(*p.Adjacency, p.RowScale, p.ColScale)
}
