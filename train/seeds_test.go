package train

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/ranks"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// TestFitWithSeeds checks that batches by importance give the same bits for any number of
// workers and cores, and if the run is stopped and resumed at any batch; and other bits
// than uniform batches, and for another score.
func TestFitWithSeeds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	d := smallData(t, 300, 3)
	d.Labels.Class[d.Split.Train[0]] = -1
	o := short()
	o.SeedsEvery = 6
	run := func(o Options) []float32 {
		m := smallModel(t, d)
		h := mustFit(t, m, d, o)
		if o.Seeds != ops.NoScore && h.StateBytes != 3*4*int64(len(d.Split.Train)-1) {
			t.Errorf("state of %d bytes", h.StateBytes)
		}
		return weightsOf(t, m)
	}
	uniform := run(o)
	var first []float32
	for _, by := range []ops.Score{ops.GradientScore, ops.LossScore} {
		o.Seeds = by
		want := run(o)
		if slices.Equal(want, uniform) || slices.Equal(want, first) {
			t.Errorf("%v: the weights do not depend on the seeds", o.Seeds)
		}
		first = want
		for _, workers := range []int{1, 2, 9} { // 19 batches ahead: more than two periods
			runtime.GOMAXPROCS(1 + workers%3)
			o.Workers = workers
			if !slices.Equal(run(o), want) {
				t.Errorf("%v, %d workers: the weights differ", o.Seeds, workers)
			}
		}
		o.Group = ranks.NewLocal(1)[0] // as under a launcher of one rank
		if !slices.Equal(run(o), want) {
			t.Errorf("%v: a group of one rank gives other weights", o.Seeds)
		}
		o.Group = nil
		for _, stop := range []int{1, 5, 6, 7, 23, 24, 48} {
			o.Dir, o.Resume = t.TempDir(), true
			ctx, progress := afterBatch(stop)
			o.Progress = progress
			if _, err := Fit(ctx, smallModel(t, d), d, o); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			o.Progress = nil
			if !slices.Equal(run(o), want) {
				t.Errorf("%v, resumed after batch %d: the weights differ", o.Seeds, stop)
			}
			other := o
			other.SeedsEvery++
			if _, err := Fit(context.Background(), smallModel(t, d), d, other); err == nil || !strings.Contains(err.Error(), "seeds_every") {
				t.Errorf("resumed with other seeds: %v", err)
			}
			o.Dir, o.Resume = "", false
		}
	}
}

// TestSeedSchedule checks which scores each period knows: the scores of all batches up to
// the start of the period before it, and no later ones. Its batches are unbiased for the mean loss.
func TestSeedSchedule(t *testing.T) {
	const n, every, size = 200, 5, 20
	y := &graph.Labels{Classes: 2, Class: make([]int32, n)}
	y.Class[7] = -1
	train := make([]int32, n)
	for k := range train {
		train[k] = int32(n - 1 - k)
	}
	s, err := newSeedSchedule(ops.LossScore, train, ops.NewTargets(y), every)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.nodes) != n-1 || slices.Contains(s.nodes, 7) {
		t.Fatalf("candidates %v", s.nodes)
	}
	stream := &Stream{Sampler: seedsOnly{}, Train: s.nodes, BatchSize: size, BatchesPerEpoch: 3, Seed: 5, seeds: s}
	d, item := newDrawer(stream), &Item{Blocks: new(samplers.MiniBatch)}
	losses := make([]float64, n)
	random := rand.New(rand.NewPCG(1, 1))
	var mean float64
	for _, v := range s.nodes {
		losses[v] = math.Exp(random.NormFloat64())
		mean += losses[v] / float64(len(s.nodes))
	}
	var sum, squares float64
	const batches = 6000
	for k := range batches {
		d.draw(context.Background(), k, item)
		if item.err != nil {
			t.Fatal(item.err)
		}
		estimate, scores := 0.0, make([]float32, len(item.Seeds))
		for i, v := range item.Seeds {
			estimate += float64(item.Blocks.LossWeights[i]) * losses[v]
			scores[i] = float32(losses[v])
			if k < 100 {
				scores[i] = float32(k) // when it was seen
			}
		}
		sum += estimate
		squares += estimate * estimate
		if err := s.learn(item.drawn.Index, scores, k+1); err != nil {
			t.Fatal(err)
		}
		if period := (k+1)/every + 1; (k+1)%every == 0 && k < 100 {
			newest := float32(-1)
			for _, v := range s.used[period%2] {
				if v > newest { // not NaN
					newest = v
				}
			}
			if int(newest) != k || s.newest != period {
				t.Fatalf("after batch %d the law of period %d knows batch %v", k, s.newest, newest)
			}
		}
	}
	v := squares/batches - sum/batches*sum/batches
	if z := (sum/batches - mean) / math.Sqrt(v/batches); math.Abs(z) > 4 {
		t.Errorf("the mean of the batches' losses is %v standard errors away", z)
	}

	if err := s.learn(item.drawn.Index, nil, batches+1); err == nil || !strings.Contains(err.Error(), "the loss reports 0 scores for 20 nodes") {
		t.Errorf("a loss without scores: %v", err)
	}

	// The law of a later period is awaited.
	period := s.newest + 1
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan error)
	go func() { _, err := s.of(ctx, period*every); got <- err }()
	select {
	case err := <-got:
		t.Errorf("a law that is not published: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestSeedWeights(t *testing.T) {
	nan := float32(math.NaN())
	for k, want := range []float64{1.4, 1, 0.6, 1} {
		if got := seedWeights([]float32{3, nan, 1, 2})[k]; math.Abs(got-want) > 1e-12 {
			t.Errorf("weight %d is %v, want %v", k, got, want)
		}
	}
	for _, scores := range [][]float32{{nan, nan, nan, nan}, {0, 0, nan, 0}} {
		if weights := seedWeights(scores); !slices.Equal(weights, []float64{1, 1, 1, 1}) {
			t.Errorf("scores %v: weights %v", scores, weights)
		}
	}
}

func TestSeedsErrors(t *testing.T) {
	d := smallData(t, 60, 3)
	const gradient = ops.GradientScore
	for words, c := range map[string]struct {
		o       Options
		sampler samplers.Sampler
	}{
		"with OnePass each node is in one batch": {Options{Seeds: gradient, BatchesPerEpoch: OnePass}, nil},
		"one mini-batch an update":               {Options{Seeds: gradient, Micro: 2}, nil},
		"the sampler draws output nodes":         {Options{Seeds: gradient}, &samplers.Subgraph{Laplacian: d.Laplacian(), Depth: 2}},
		"names no score":                         {Options{Seeds: 3}, nil},
		"Options.SeedsEvery is -1":               {Options{SeedsEvery: -1}, nil},
	} {
		m := smallModel(t, d)
		if c.sampler != nil {
			m = modelOver(t, d, c.sampler, 8)
		}
		c.o.MaxBatches = 3
		if _, err := Fit(context.Background(), m, d, c.o); err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, words)
		}
	}
}

// TestSeedsGradient draws batches of a trained model. The mean of their gradients must be
// the gradient of the mean loss, and with probabilities from the nodes' gradients their
// variance must be lower than with uniform ones.
func TestSeedsGradient(t *testing.T) {
	const size, batches = 24, 600
	d := smallData(t, 400, 4)
	m := modelOver(t, d, &samplers.Full{Laplacian: d.Laplacian(), Depth: 2}, 16)
	mustFit(t, m, d, Options{MaxBatches: 150, Batch: 64, Adam: Adam{LR: 0.01}})
	p := compiled(t, m)
	step := func(batch *samplers.MiniBatch) []float64 {
		if err := m.Batch.Set(batch, false, 0); err != nil {
			t.Fatal(err)
		}
		if err := p.backend.Push(false); err != nil {
			t.Fatal(err)
		}
		if err := p.backend.Run(); err != nil {
			t.Fatal(err)
		}
		gradient := make([]float64, len(p.Gradients()))
		for k, g := range p.Gradients() {
			gradient[k] = float64(g)
		}
		return gradient
	}
	targets, err := m.Batch.Targets(d.Labels)
	if err != nil {
		t.Fatal(err)
	}
	targets.Observe(ops.GradientScore)
	all := new(samplers.MiniBatch)
	if err := m.Batch.Sampler().Sample(context.Background(), d.Split.Train, nil, all); err != nil {
		t.Fatal(err)
	}
	want := step(all)
	weights := seedWeights(targets.Scores())
	targets.Observe(ops.NoScore)
	variance := map[bool]float64{}
	for _, important := range []bool{false, true} {
		law, err := samplers.NewSeedLaw(slices.Repeat([]float64{1}, len(weights)))
		if important {
			law, err = samplers.NewSeedLaw(weights)
		}
		if err != nil {
			t.Fatal(err)
		}
		stream := &Stream{Sampler: m.Batch.Sampler(), Train: d.Split.Train, BatchSize: size, BatchesPerEpoch: 1, Seed: 3}
		drawer, item := newDrawer(stream), &Item{Blocks: new(samplers.MiniBatch)}
		mean := make([]float64, len(want))
		var total float64
		for k := range batches {
			item.Epoch = k
			samplers.Seed(&drawer.source, stream.Seed, uint64(k), 0)
			drawer.important(item, law)
			if err := stream.Sampler.Sample(context.Background(), item.Seeds, drawer.rng, item.Blocks); err != nil {
				t.Fatal(err)
			}
			if err := item.weigh(); err != nil {
				t.Fatal(err)
			}
			for i, g := range step(item.Blocks) {
				mean[i] += g / batches
				total += (g - want[i]) * (g - want[i]) / batches
			}
		}
		var distance float64
		for i, g := range mean {
			distance += (g - want[i]) * (g - want[i])
		}
		// E of the distance is total/batches; few directions carry it, so it may be a few times that.
		if distance > 3*total/batches {
			t.Errorf("importance %v: the mean gradient is %v away, want about %v", important, math.Sqrt(distance), math.Sqrt(total/batches))
		}
		variance[important] = total
	}
	t.Logf("variance by importance over uniform: %.3f", variance[true]/variance[false])
	if variance[true] > 0.8*variance[false] {
		t.Errorf("variance %v by importance, %v uniform", variance[true], variance[false])
	}
}
