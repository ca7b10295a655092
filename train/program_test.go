package train

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// compiled returns a program of m that is closed when the test ends.
func compiled(t testing.TB, m *layers.Model) *Program {
	t.Helper()
	p, err := NewProgram(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// sampled returns one mini-batch of m's sampler.
func sampled(t testing.TB, m *layers.Model, seeds []int32, stream uint64) *samplers.MiniBatch {
	t.Helper()
	batch := new(samplers.MiniBatch)
	if err := m.Batch.Sampler().Sample(context.Background(), seeds, rand.New(samplers.NewSource(1, 0, stream)), batch); err != nil {
		t.Fatal(err)
	}
	return batch
}

func TestStepGradients(t *testing.T) {
	d := smallData(t, 60, 3)
	m := modelOver(t, d, &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{10, 12}}, 4)
	p := compiled(t, m)
	batch := sampled(t, m, d.Split.Train[:9], 0)
	if n := len(p.Parameters()); n != 12*4+4+4*4+4+4*3+3 {
		t.Fatalf("%d parameters", n)
	}
	checkStepGradients(t, p, batch, 2e-3)
}

// checkStepGradients compares every gradient in the flat slice with central differences of the
// loss that Step returns.
func checkStepGradients(t *testing.T, p *Program, batch *samplers.MiniBatch, tolerance float64) {
	t.Helper()
	loss := func() float64 {
		l, err := p.Step(batch, 77)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	loss()
	grads, params := slices.Clone(p.Gradients()), p.Parameters()
	if len(grads) != len(params) {
		t.Fatalf("%d gradients, %d parameters", len(grads), len(params))
	}
	large := 0
	for i := range params {
		const h = 1e-2
		was := params[i]
		params[i] = was + h
		up := loss()
		params[i] = was - h
		down := loss()
		params[i] = was
		slope := (up - down) / (2 * h)
		if math.Abs(slope-float64(grads[i])) > tolerance*(1+math.Abs(slope)) {
			t.Errorf("gradient %d is %v, central difference %v", i, grads[i], slope)
		}
		if math.Abs(slope) > 1e-2 {
			large++
		}
	}
	if large < len(params)/10 {
		t.Errorf("only %d of %d gradients are large enough to compare", large, len(params))
	}
}

// TestStepIsPure checks that a step depends on parameters, batch and seed alone, and not
// on the batches that the program ran before, which have other sizes.
func TestStepIsPure(t *testing.T) {
	d := smallData(t, 200, 3)
	fresh := func(batch *samplers.MiniBatch, seed uint64) (float64, []float32) {
		p := compiled(t, smallModel(t, d))
		loss, err := p.Step(batch, seed)
		if err != nil {
			t.Fatal(err)
		}
		return loss, slices.Clone(p.Gradients())
	}
	m := smallModel(t, d)
	p := compiled(t, m)
	for k, size := range []int{9, 100, 1, 30} {
		batch := sampled(t, m, d.Split.Train[:size], uint64(k))
		loss, err := p.Step(batch, uint64(k))
		if err != nil {
			t.Fatal(err)
		}
		wantLoss, want := fresh(batch, uint64(k))
		if loss != wantLoss || !slices.Equal(p.Gradients(), want) {
			t.Errorf("batch %d of %d nodes: a program that ran before differs from a fresh one", k, size)
		}
		if other, err := p.Step(batch, uint64(k)+100); err != nil || other == loss {
			t.Errorf("batch %d: another dropout seed gives the loss %v too (%v)", k, other, err)
		}
	}
}

func TestStepAllocatesLittle(t *testing.T) {
	d := smallData(t, 2000, 5)
	m := modelOver(t, d, &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{256, 512}}, 64)
	p := compiled(t, m)
	batch := sampled(t, m, d.Split.Train[:256], 0)
	var state AdamState
	step := func() {
		if _, err := p.Step(batch, 1); err != nil {
			t.Fatal(err)
		}
		if err := (Adam{}).Step(p.Parameters(), p.Gradients(), &state); err != nil {
			t.Fatal(err)
		}
	}
	step()
	const repeats = 50
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range repeats {
		step()
	}
	runtime.ReadMemStats(&after)
	bytes := (after.TotalAlloc - before.TotalAlloc) / repeats
	t.Logf("%d bytes and %d objects a step", bytes, (after.Mallocs-before.Mallocs)/repeats)
	if bytes > 64<<10 && !underRace {
		t.Errorf("a step allocates %d bytes, want at most 64 KiB", bytes)
	}
}

// TestForwardIsInference compares the program's logits over full neighbourhoods
// with the model's own inference.
func TestForwardIsInference(t *testing.T) {
	d := smallData(t, 3000, 4)
	m := smallModel(t, d)
	nodes := make([]int32, 2500) // more than one chunk
	for i := range nodes {
		nodes[i] = int32(2999 - i)
	}
	want, err := Predict(context.Background(), m, d, nodes)
	if err != nil {
		t.Fatal(err)
	}
	m.Inference = nil
	got, err := Predict(context.Background(), m, d, nodes)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) || len(got) != 4*len(nodes) {
		t.Fatalf("%d and %d logits", len(got), len(want))
	}
	for k := range got {
		if math.Abs(float64(got[k]-want[k])) > 1e-5*(1+math.Abs(float64(want[k]))) {
			t.Fatalf("logit %d of node %d is %v through the program, %v by inference", k%4, nodes[k/4], got[k], want[k])
		}
	}
	repeated, err := Predict(context.Background(), m, d, []int32{5, 7, 5, 5, 2, 7})
	if err != nil {
		t.Fatal(err)
	}
	distinct, err := Predict(context.Background(), m, d, []int32{5, 7, 2})
	if err != nil {
		t.Fatal(err)
	}
	for k, row := range []int{0, 1, 0, 0, 2, 1} {
		if !slices.Equal(repeated[4*k:4*k+4], distinct[4*row:4*row+4]) {
			t.Errorf("row %d of repeated nodes differs from the node's", k)
		}
	}
	a, err := Evaluate(context.Background(), m, d, nodes)
	if err != nil || a < 0 || a > 1 {
		t.Errorf("Evaluate = %v, %v", a, err)
	}
	if _, err := Predict(context.Background(), m, d, []int32{5, 3000}); err == nil || !strings.Contains(err.Error(), "outside [0, 3000)") {
		t.Errorf("node 3000: error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Predict(ctx, m, d, nodes); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// ownModel is a model built by hand: a convolution, a plain Gorgonia node with a weight
// that two paths share, and no list of parameters, so that Fit finds them.
func ownModel(t testing.TB, d *datasets.Data) *layers.Model {
	t.Helper()
	g := G.NewGraph()
	batch := layers.NewBatch(g, &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{30}})
	x, err := batch.Features(d.Features)
	if err != nil {
		t.Fatal(err)
	}
	h, err := ops.Propagate(batch.Slot(0), x)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float32, d.Features.Cols*d.Labels.Outputs())
	rng := rand.New(rand.NewPCG(4, 4))
	for i := range values {
		values[i] = float32(rng.NormFloat64()) / 4
	}
	w := G.NewMatrix(g, tensor.Float32, G.WithName("w"), G.WithShape(d.Features.Cols, d.Labels.Outputs()),
		G.WithValue(tensor.New(tensor.WithShape(d.Features.Cols, d.Labels.Outputs()), tensor.WithBacking(values))))
	squared, err := G.HadamardProd(w, w)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := G.Add(w, squared)
	if err != nil {
		t.Fatal(err)
	}
	logits, err := ops.MatMul(h, sum)
	if err != nil {
		t.Fatal(err)
	}
	targets, err := batch.Targets(d.Labels)
	if err != nil {
		t.Fatal(err)
	}
	loss, err := ops.Loss(logits, targets)
	if err != nil {
		t.Fatal(err)
	}
	return &layers.Model{Batch: batch, Loss: loss, Logits: logits}
}

func TestFitOwnModel(t *testing.T) {
	d := smallData(t, 300, 3)
	m := ownModel(t, d)
	before, err := Evaluate(context.Background(), m, d, d.Split.Test)
	if err != nil {
		t.Fatal(err)
	}
	h, err := Fit(context.Background(), m, d, Options{MaxBatches: 100, Batch: 64, Adam: Adam{LR: 0.02}})
	if err != nil {
		t.Fatal(err)
	}
	if h.Parameters != 36 {
		t.Errorf("%d parameters found, want 36", h.Parameters)
	}
	if h.Test < before+0.2 || h.Test < 0.6 {
		t.Errorf("test accuracy %v after training, %v before", h.Test, before)
	}
}

func TestProgramErrors(t *testing.T) {
	d := smallData(t, 60, 3)
	float64s := func(m *layers.Model) {
		m.Parameters = G.Nodes{G.NewMatrix(m.Loss.Graph(), tensor.Float64, G.WithName("w64"), G.WithShape(2, 2), G.WithInit(G.Zeroes()))}
	}
	columnMajor := func(m *layers.Model) {
		value := tensor.New(tensor.WithShape(3, 2), tensor.AsFortran([]float32{1, 2, 3, 4, 5, 6}))
		m.Parameters = G.Nodes{G.NewMatrix(m.Loss.Graph(), tensor.Float32, G.WithName("columns"), G.WithShape(3, 2), G.WithValue(value))}
	}
	foreign := func(m *layers.Model) {
		m.Parameters = G.Nodes{G.NewMatrix(m.Loss.Graph(), tensor.Float32, G.WithName("apart"), G.WithShape(2, 2), G.WithInit(G.Zeroes()))}
	}
	for want, change := range map[string]func(*layers.Model){
		"lacks a batch":     func(m *layers.Model) { m.Batch = nil },
		"lacks a":           func(m *layers.Model) { m.Loss = nil },
		"named \"conv0.we":  func(m *layers.Model) { m.Parameters = append(m.Parameters, m.Parameters[0]) },
		"has no value":      func(m *layers.Model) { m.Parameters = G.Nodes{m.Logits} },
		"want a contiguous": float64s,
		"row-major float32": columnMajor,
		"differentiating":   foreign,
		"scalar":            func(m *layers.Model) { m.Loss = m.Logits },
	} {
		m := smallModel(t, d)
		change(m)
		if _, err := NewProgram(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestStepNotFinite(t *testing.T) {
	d := smallData(t, 60, 3)
	m := smallModel(t, d)
	p := compiled(t, m)
	batch := sampled(t, m, d.Split.Train[:9], 0)
	last := len(p.Parameters()) - 1
	p.Parameters()[last] = float32(math.NaN())
	if _, err := p.Step(batch, 1); !errors.Is(err, ErrNotFinite) || !strings.HasPrefix(err.Error(), "train: the loss") {
		t.Errorf("error %v, want %v", err, ErrNotFinite)
	}
	p.Parameters()[last] = 0
	if _, err := p.Step(batch, 1); err != nil {
		t.Errorf("the program does not recover: %v", err)
	}
	if err := (func() error { _, err := p.Step(new(samplers.MiniBatch), 1); return err })(); err == nil {
		t.Error("an empty batch passed")
	}
	wrong := &samplers.MiniBatch{Blocks: []*graph.Block{new(graph.Block), new(graph.Block)}}
	if _, err := p.Step(wrong, 1); err == nil {
		t.Error("a batch of empty blocks passed")
	}
}

// TestEvaluateBetweenSteps evaluates the model between two steps of a program, with and
// without inference of its own, which needs another program. The steps must give the
// same parameters as without the evaluation.
func TestEvaluateBetweenSteps(t *testing.T) {
	d := smallData(t, 100, 3)
	train := func(m *layers.Model, evaluate bool) []float32 {
		p := compiled(t, m)
		batch := sampled(t, m, d.Split.Train[:20], 0)
		state := new(AdamState)
		for seed := range uint64(4) {
			if _, err := p.Step(batch, seed); err != nil {
				t.Fatal(err)
			}
			if err := (Adam{LR: 0.1}).Step(p.Parameters(), p.Gradients(), state); err != nil {
				t.Fatal(err)
			}
			if !evaluate {
				continue
			}
			before, err := Predict(context.Background(), m, d, d.Split.Test)
			if err != nil {
				t.Fatal(err)
			}
			after, err := Predict(context.Background(), m, d, d.Split.Test)
			if err != nil || !slices.Equal(before, after) {
				t.Errorf("a second prediction differs from the first (%v)", err)
			}
		}
		if !slices.Equal(weightsOf(t, m), p.Parameters()) {
			t.Error("the model's parameters are not the program's")
		}
		return slices.Clone(p.Parameters())
	}
	m, evaluated := ownModel(t, d), ownModel(t, d)
	if !slices.Equal(train(m, false), train(evaluated, true)) {
		t.Error("evaluating the model between steps changes training")
	}
}

// TestClosedProgramsAreFree checks that closed programs are garbage collected: their
// model's graph must not refer to them.
func TestClosedProgramsAreFree(t *testing.T) {
	d := smallData(t, 60, 3)
	m := smallModel(t, d)
	m.Inference = nil
	var freed atomic.Int32
	const programs = 20
	for range programs {
		p, err := NewProgram(m)
		if err != nil {
			t.Fatal(err)
		}
		runtime.AddCleanup(p, func(int) { freed.Add(1) }, 0)
		if _, err := p.Step(sampled(t, m, d.Split.Train[:5], 0), 0); err != nil {
			t.Fatal(err)
		}
		p.Close()
	}
	for range 100 {
		if freed.Load() >= programs-1 { // the ops keep the last one's memory
			return
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
		runtime.KeepAlive(m.Batch)
	}
	t.Errorf("%d of %d closed programs were freed", freed.Load(), programs)
}

// logitsOf returns the logits of one mini-batch without dropout.
func logitsOf(t *testing.T, m *layers.Model, batch *samplers.MiniBatch) []float32 {
	t.Helper()
	if err := m.Batch.Set(batch, false, 0); err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(plan.Spec{Output: m.Logits})
	if err != nil {
		t.Fatal(err)
	}
	e, err := plan.NewExecutor(p, plan.ExecutorOptions{Device: m.Device})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Compute(); err != nil {
		t.Fatal(err)
	}
	logits, err := e.Result(0).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return logits
}

// Methods in an order that makes no sense return errors.
func TestProgramOrders(t *testing.T) {
	d := smallData(t, 60, 3)
	m := smallModel(t, d)
	p := compiled(t, m)
	batch := sampled(t, m, d.Split.Train[:9], 0)
	if err := p.Advance(batch, 1, Adam{}); err != nil {
		t.Fatal(err)
	}
	if err := p.Advance(nil, 1, Adam{}); err == nil || !strings.HasPrefix(err.Error(), "train: ") {
		t.Errorf("Advance without a batch: error %v", err)
	}
	next, err := NewProgram(m)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	_, stepping := p.Step(batch, 1)
	for _, err := range []error{stepping, p.Advance(batch, 1, Adam{})} {
		if err == nil || !strings.HasPrefix(err.Error(), "train: another program") {
			t.Errorf("a program whose parameters went to another one: error %v", err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Pull(true); err == nil {
		t.Error("Pull of a closed program passed")
	}
}

// Logits that are the features themselves are gathered, although the op below would
// read them in place.
func TestLogitsAreFeatures(t *testing.T) {
	d := smallData(t, 60, 3)
	m := *smallModel(t, d)
	x, err := m.Batch.Features(d.Features)
	if err != nil {
		t.Fatal(err)
	}
	m.Logits = x
	p := compiled(t, &m)
	batch := sampled(t, &m, d.Split.Train[:9], 0)
	if _, err := p.Step(batch, 1); err != nil {
		t.Fatal(err)
	}
	logits := logitsOf(t, &m, batch)
	var want []float32
	for _, node := range batch.Inputs() {
		want = append(want, d.Features.Row(int(node))...)
	}
	if !slices.Equal(logits, want) {
		t.Errorf("%d logits, want the %d features of the input nodes", len(logits), len(want))
	}
}

// An own model is refused before training if it has noise in its scores, or its scores would
// have no meaning. Otherwise its scores are those of the whole graph.
func TestOwnModelOverFullNeighborhoods(t *testing.T) {
	ctx := context.Background()
	d := smallData(t, 300, 3)
	m := ownModel(t, d)
	if _, err := Fit(ctx, m, d, Options{MaxBatches: 20, Batch: 64, EvalEvery: 7}); err != nil {
		t.Fatal(err)
	}
	got, err := Predict(ctx, m, d, d.Split.Valid)
	if err != nil {
		t.Fatal(err)
	}
	var batch samplers.MiniBatch
	full := &samplers.Full{Laplacian: d.Laplacian(), Depth: 1}
	if err := cmp.Or(samplers.Prepare(full), full.Sample(ctx, d.Split.Valid, nil, &batch)); err != nil {
		t.Fatal(err)
	}
	want := logitsOf(t, m.Parts(), &batch)
	for k := range want {
		if math.Abs(float64(got[k]-want[k])) > 1e-6*(1+math.Abs(float64(want[k]))) {
			t.Fatalf("logit %d is %v, %v over the whole graph", k, got[k], want[k])
		}
	}

	noisy := ownModel(t, d)
	if noisy.Logits, err = G.Dropout(noisy.Logits, 0.5); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"Fit":     func() error { _, err := Fit(ctx, noisy, d, Options{MaxBatches: 20, Batch: 64}); return err },
		"Predict": func() error { _, err := Predict(ctx, noisy, d, d.Split.Valid); return err },
	} {
		err := call()
		if err == nil || !strings.Contains(err.Error(), "use ops.Dropout") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line about Gorgonia's Dropout", name, err)
		}
	}
}
