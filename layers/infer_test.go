package layers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/reference"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

// randomGraph has nodes of all degrees from 0 up; the mean is about 2·edges/n.
func randomGraph(t testing.TB, rng *rand.Rand, n, edges int, weighted bool) *graph.CSR {
	t.Helper()
	b, err := graph.NewBuilder(n)
	if err != nil {
		t.Fatal(err)
	}
	for range edges {
		u := rng.IntN(n)
		v := int(float64(n) * math.Pow(rng.Float64(), 2)) // some hubs
		weight := float32(1)
		if weighted {
			weight = 0.5 + rng.Float32()
		}
		if err := b.AddWeighted(int32(u), int32(v), weight); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := b.Build()
	return a
}

func randomFeatures(rng *rand.Rand, rows, cols int) *graph.Features {
	x := &graph.Features{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
	for k := range x.Data {
		x.Data[k] = float32(rng.NormFloat64())
	}
	return x
}

func randomLabels(rng *rand.Rand, n, classes int) *graph.Labels {
	y := &graph.Labels{Classes: classes, Class: make([]int32, n)}
	for v := range y.Class {
		y.Class[v] = int32(rng.IntN(classes))
	}
	return y
}

// testModel builds a GCN with random biases, gains and shifts.
func testModel(t testing.TB, p *graph.Laplacian, x *graph.Features, y *graph.Labels, depth int, o GCNOptions) (*Batch, *GCN) {
	t.Helper()
	batch := NewBatch(G.NewGraph(), &samplers.Full{Laplacian: p, Depth: depth})
	m, err := NewGCN(batch, x, y, o)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(99, 0))
	for _, n := range m.Parameters {
		if n.Dims() == 1 {
			for k := range n.Value().Data().([]float32) {
				n.Value().Data().([]float32)[k] += float32(rng.NormFloat64()) / 2
				if strings.HasSuffix(n.Name(), ".variance") {
					n.Value().Data().([]float32)[k] = float32(0.5 + rng.Float64())
				}
			}
		}
	}
	return batch, m
}

// denseLogits is the model of o in float64 over the dense matrix P.
func denseLogits(t testing.TB, p *graph.Laplacian, x *graph.Features, m *GCN, o GCNOptions) matrix {
	t.Helper()
	n := p.Nodes()
	dense := matrixOf(n, n, p.Dense())
	features := matrixOf(x.Rows, x.Cols, x.Data)
	h := features
	activated := func(act ops.Activation, z matrix) matrix {
		return z.Each(func(i, j int) float64 {
			v := z[i][j]
			switch {
			case act == ops.ActivationELU:
				return reference.ELU(v)
			case act == ops.ActivationReLU:
				return math.Max(v, 0)
			case act == ops.ActivationGELU:
				return v * math.Erfc(-v/math.Sqrt2) / 2
			}
			return v
		})
	}
	normalised := func(n *Norm, z matrix) matrix {
		if n == nil {
			return z
		}
		if n.Mean != nil {
			gain, shift, mean, variance := parameterOf(n.Gain), parameterOf(n.Shift), parameterOf(n.Mean), parameterOf(n.Variance)
			return z.Each(func(i, j int) float64 {
				return gain[0][j]*(z[i][j]-mean[0][j])/math.Sqrt(variance[0][j]+1e-5) + shift[0][j]
			})
		}
		return normalisedRows(z, parameterOf(n.Gain), parameterOf(n.Shift))
	}
	affine := func(l *Linear, h matrix) matrix {
		return h.Times(parameterOf(l.W)).PlusRow(parameterOf(l.B))
	}
	if m.Input != nil {
		h = activated(m.Convolutions[0].Activation, affine(m.Input, h))
	}
	for l, conv := range m.Convolutions {
		own := h
		h = normalised(conv.PreNorm, h)
		finish := func(z matrix) matrix {
			z = activated(conv.Activation, normalised(conv.Norm, z))
			if conv.Second != nil {
				z = affine(conv.Second, z)
			}
			return z
		}
		z := h.Times(parameterOf(conv.W))
		if conv.Attention != nil {
			z = denseAttention(p, conv.Attention, z)
		}
		if conv.BiasAfter {
			z = dense.Times(z)
		}
		if conv.B != nil {
			z = z.PlusRow(parameterOf(conv.B))
		}
		if conv.Attention == nil && !conv.BiasAfter {
			z = dense.Times(z)
		}
		if conv.OwnState != nil {
			state := h.Times(parameterOf(conv.OwnState))
			z = z.Each(func(i, j int) float64 { return z[i][j] + state[i][j] })
		}
		if o.PreNorm {
			z = finish(z)
		}
		if weight := weightOf(m, fmt.Sprint("skip", l)); weight != nil {
			skip := features.Times(weight)
			z = z.Each(func(i, j int) float64 { return z[i][j] + skip[i][j] })
		}
		if weight := weightOf(m, fmt.Sprint("own", l)); weight != nil {
			own = own.Times(weight)
		}
		if o.HiddenResidual != ResidualNone && len(own[0]) == len(z[0]) {
			z = z.Each(func(i, j int) float64 { return z[i][j] + own[i][j] })
		}
		if h = z; !o.PreNorm {
			h = finish(z)
		}
	}
	if m.Classifier == nil {
		return h
	}
	return affine(m.Classifier, normalised(m.Norm, h))
}

// weightOf returns the weight of that name, or nil.
func weightOf(m *GCN, name string) matrix {
	for _, n := range m.Parameters {
		if n.Name() == name+".weight" {
			return parameterOf(n)
		}
	}
	return nil
}

type inferenceCase struct {
	features, hidden, classes, depth int
	weighted, byRow                  bool
	options                          GCNOptions
}

var inferenceCases = map[string]inferenceCase{
	"paper":               {features: 11, hidden: 13, classes: 5, depth: 2},
	"one layer":           {features: 11, hidden: 13, classes: 5, depth: 1},
	"three layers":        {features: 11, hidden: 13, classes: 5, depth: 3},
	"wide features first": {features: 90, hidden: 3, classes: 5, depth: 2},
	"weighted":            {features: 11, hidden: 13, classes: 5, depth: 2, weighted: true},
	"row stochastic":      {features: 11, hidden: 13, classes: 5, depth: 2, byRow: true},
	"gat":                 {features: 11, hidden: 12, classes: 5, depth: 2, options: GCNOptions{Heads: 3}},
	"gat, weighted":       {features: 11, hidden: 12, classes: 5, depth: 3, weighted: true, byRow: true, options: GCNOptions{Heads: 2, Norm: NormLayer, Residual: true}},
	"gat, plain":          {features: 11, hidden: 12, classes: 5, depth: 2, weighted: true, options: GCNOptions{Heads: 4, PlainAttention: true}},
	"gat of the equation": {features: 11, hidden: 12, classes: 5, depth: 2, options: GCNOptions{Form: FormEquation, Heads: 4, OutputHeads: 3}},
	"norm and residual":   {features: 11, hidden: 13, classes: 5, depth: 3, options: GCNOptions{Norm: NormLayer, Residual: true, Activation: ops.ActivationReLU}},
	"identity":            {features: 11, hidden: 13, classes: 5, depth: 3, options: GCNOptions{HiddenResidual: ResidualIdentity}},
	"identity throughout": {features: 11, hidden: 11, classes: 5, depth: 2, options: GCNOptions{HiddenResidual: ResidualIdentity, Residual: true}},
	"linear":              {features: 11, hidden: 13, classes: 5, depth: 3, weighted: true, byRow: true, options: GCNOptions{HiddenResidual: ResidualLinear, Norm: NormLayer}},
	"linear, equation":    {features: 11, hidden: 13, classes: 5, depth: 2, options: GCNOptions{HiddenResidual: ResidualLinear, Form: FormEquation}},
	"input layer":         {features: 11, hidden: 13, classes: 5, depth: 2, options: GCNOptions{InputLayer: true}},
	"input and identity":  {features: 11, hidden: 13, classes: 5, depth: 3, options: GCNOptions{InputLayer: true, HiddenResidual: ResidualIdentity, Residual: true}},
	"gat with all":        {features: 11, hidden: 12, classes: 5, depth: 2, options: GCNOptions{InputLayer: true, HiddenResidual: ResidualLinear, Heads: 3}},
	"pre-norm":            {features: 11, hidden: 13, classes: 5, depth: 3, options: GCNOptions{PreNorm: true, Norm: NormLayer, HiddenResidual: ResidualIdentity, Activation: ops.ActivationGELU}},
	"pre-norm, linear":    {features: 11, hidden: 13, classes: 5, depth: 2, weighted: true, byRow: true, options: GCNOptions{PreNorm: true, Norm: NormLayer, InputLayer: true, HiddenResidual: ResidualLinear, Residual: true}},
	"pre-norm, gat":       {features: 11, hidden: 12, classes: 5, depth: 2, options: GCNOptions{PreNorm: true, Norm: NormLayer, InputLayer: true, Heads: 3}},
	"feed-forward":        {features: 11, hidden: 13, classes: 5, depth: 3, options: GCNOptions{PreNorm: true, FeedForward: true, Norm: NormLayer, InputLayer: true, HiddenResidual: ResidualIdentity, Activation: ops.ActivationGELU}},
	"own state":           {features: 11, hidden: 13, classes: 5, depth: 2, options: GCNOptions{OwnState: true, InputLayer: true, Norm: NormLayer}},
	"own state, pre-norm": {features: 11, hidden: 12, classes: 5, depth: 3, byRow: true, options: GCNOptions{OwnState: true, PreNorm: true, FeedForward: true, Norm: NormLayer, InputLayer: true, HiddenResidual: ResidualIdentity}},
	"batch norm":          {features: 11, hidden: 13, classes: 5, depth: 3, options: GCNOptions{Norm: NormBatch, Activation: ops.ActivationReLU}},
	"batch norm first":    {features: 11, hidden: 13, classes: 5, depth: 2, options: GCNOptions{Norm: NormBatch, PreNorm: true, InputLayer: true, OwnState: true, HiddenResidual: ResidualIdentity}},
	"feed-forward, bare":  {features: 90, hidden: 3, classes: 5, depth: 1, options: GCNOptions{PreNorm: true, FeedForward: true, BiasAfter: true}},
	"equation":            {features: 11, hidden: 13, classes: 5, depth: 2, options: GCNOptions{Form: FormEquation}},
	"bias after":          {features: 11, hidden: 13, classes: 5, depth: 3, weighted: true, options: GCNOptions{BiasAfter: true, Residual: true}},
	"bias after, wide":    {features: 90, hidden: 3, classes: 5, depth: 2, byRow: true, options: GCNOptions{Form: FormEquation, BiasAfter: true}},
	"equation, one layer": {features: 11, hidden: 13, classes: 5, depth: 1, options: GCNOptions{Form: FormEquation}},
	"equation, narrow":    {features: 11, hidden: 3, classes: 5, depth: 3, weighted: true, byRow: true, options: GCNOptions{Form: FormEquation}},
	"equation with more":  {features: 11, hidden: 13, classes: 5, depth: 3, options: GCNOptions{Form: FormEquation, Norm: NormLayer, Residual: true}},
}

// Inference, the compiled graph over full neighbourhoods, and the dense formula
// agree, for all nodes and for some.
func TestInferAgrees(t *testing.T) {
	for name, c := range inferenceCases {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			const n = 150
			p := graph.NewLaplacian(randomGraph(t, rng, n, 200, c.weighted))
			if c.byRow {
				p = graph.NewRowLaplacian(p.Adjacency)
			}
			x, y := randomFeatures(rng, n, c.features), randomLabels(rng, n, c.classes)
			c.options.Hidden = c.hidden
			batch, m := testModel(t, p, x, y, c.depth, c.options)
			want := denseLogits(t, p, x, m, c.options)
			machine := G.NewTapeMachine(batch.Graph())
			defer machine.Close()
			all, err := m.Infer(context.Background(), p, x, nil)
			if err != nil {
				t.Fatal(err)
			}
			checkClose(t, "all nodes", all, want, nil)
			many := make([]int32, n) // n nodes with repetitions
			for k := range many {
				many[k] = int32(rng.IntN(9))
			}
			for _, nodes := range [][]int32{{5}, {17, 3, 149, 60, 3}, many} { // unsorted, some twice
				got, err := m.Infer(context.Background(), p, x, nodes)
				if err != nil {
					t.Fatal(err)
				}
				checkClose(t, fmt.Sprint("nodes ", nodes), got, want, nodes)
			}
			nodes := rng.Perm(n)[:40]
			seeds := make([]int32, len(nodes))
			for k, v := range nodes {
				seeds[k] = int32(v)
			}
			var drawn samplers.MiniBatch
			if err := batch.Sampler().Sample(context.Background(), seeds, rng, &drawn); err != nil {
				t.Fatal(err)
			}
			if err := batch.Set(&drawn, false, 1); err != nil {
				t.Fatal(err)
			}
			if err := machine.RunAll(); err != nil {
				t.Fatal(err)
			}
			checkClose(t, "compiled graph", m.Logits.Value().Data().([]float32), want, seeds)
		})
	}
}

// checkClose compares row i of got with row nodes[i] of want.
func checkClose(t *testing.T, what string, got []float32, want matrix, nodes []int32) {
	t.Helper()
	if nodes == nil {
		for v := range want {
			nodes = append(nodes, int32(v))
		}
	}
	cols := len(want[0])
	if len(got) != len(nodes)*cols {
		t.Fatalf("%s: %d logits, want %d×%d", what, len(got), len(nodes), cols)
	}
	for i, v := range nodes {
		for j := range cols {
			g, w := float64(got[i*cols+j]), want[int(v)][j]
			if math.Abs(g-w) > 1e-5*math.Max(1, math.Abs(w)) {
				t.Fatalf("%s: logit %d of node %d is %v, want %v", what, j, v, g, w)
			}
		}
	}
}

func TestInferSameBitsOnAnyNumberOfCores(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n = 9000 // several chunks
	p := graph.NewLaplacian(randomGraph(t, rng, n, 40000, false))
	x, y := randomFeatures(rng, n, 24), randomLabels(rng, n, 6)
	batch, m := testModel(t, p, x, y, 3, GCNOptions{Hidden: 32})
	var want []float32
	for _, cores := range []int{1, 2, 7} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
			got, err := m.Infer(context.Background(), p, x, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d cores give other bits than 1", cores)
			}
		}()
	}

	// The compiled graph has no chunks: it must agree over several chunks and layers.
	seeds := make([]int32, n)
	for v := range seeds {
		seeds[v] = int32(v)
	}
	var full samplers.MiniBatch
	if err := batch.Sampler().Sample(context.Background(), seeds, rng, &full); err != nil {
		t.Fatal(err)
	}
	if err := batch.Set(&full, false, 1); err != nil {
		t.Fatal(err)
	}
	machine := G.NewTapeMachine(batch.Graph())
	defer machine.Close()
	if err := machine.RunAll(); err != nil {
		t.Fatal(err)
	}
	checkClose(t, "chunks", want, matrixOf(n, 6, m.Logits.Value().Data().([]float32)), nil)
}

// TestInferReuse checks that the next call, and no later one, writes into the memory, and writes all of it.
func TestInferReuse(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 600
	p := graph.NewLaplacian(randomGraph(t, rng, n, 2000, false))
	x, y := randomFeatures(rng, n, 8), randomLabels(rng, n, 3)
	_, m := testModel(t, p, x, y, 2, GCNOptions{Hidden: 16})
	infer := func() []float32 {
		logits, err := m.Infer(context.Background(), p, x, nil)
		if err != nil {
			t.Fatal(err)
		}
		return logits
	}
	want := infer()
	used := slices.Repeat([]float32{float32(math.NaN())}, len(want))
	m.Reuse(used)
	got, again := infer(), infer()
	if &got[0] != &used[0] || &again[0] == &used[0] {
		t.Error("the memory is not that of the next result, or of a later one too")
	}
	if !slices.Equal(got, want) || !slices.Equal(again, want) {
		t.Error("other logits")
	}
}

// Features in half precision give the same bits as the same numbers in single precision,
// for both orders of the products and for residual layers.
func TestInferHalfPrecision(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 4))
	const n = 5000 // several chunks
	p := graph.NewLaplacian(randomGraph(t, rng, n, 20000, false))
	h, err := randomFeatures(rng, n, 24).ToHalf()
	if err != nil {
		t.Fatal(err)
	}
	x, y := &graph.Features{Rows: n, Cols: 24, Data: h.Float32s()}, randomLabels(rng, n, 6)
	for _, o := range []GCNOptions{{Hidden: 8}, {Hidden: 64}, {Hidden: 64, Residual: true}} {
		for depth := 1; depth <= 3; depth++ {
			_, m := testModel(t, p, h, y, depth, o)
			for _, nodes := range [][]int32{nil, {17, 4999, 0}} {
				want, err := m.Infer(context.Background(), p, x, nodes)
				if err != nil {
					t.Fatal(err)
				}
				got, err := m.Infer(context.Background(), p, h, nodes)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%+v, %d layers, nodes %v: %v; other logits", o, depth, nodes, err)
				}
			}
		}
	}
}

// Infer calls Prefetch for every row that it reads, and the logits do not change.
func TestInferPrefetches(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 5))
	const n = 9001 // several chunks
	p := graph.NewLaplacian(randomGraph(t, rng, n, 20000, false))
	x, y := randomFeatures(rng, n, 24), randomLabels(rng, n, 6)
	for _, o := range []GCNOptions{{Hidden: 8}, {Hidden: 64, Residual: true}} {
		_, m := testModel(t, p, x, y, 2, o)
		want, err := m.Infer(context.Background(), p, x, nil)
		if err != nil {
			t.Fatal(err)
		}
		announced := make([]atomic.Bool, n)
		disk := &graph.Features{Rows: n, Cols: 24, Data: x.Data, Prefetch: func(rows []int32) {
			for _, v := range rows {
				announced[v].Store(true)
			}
		}}
		got, err := m.Infer(context.Background(), p, disk, nil)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v: %v; other logits", o, err)
		}
		for v := range announced {
			if !announced[v].Load() {
				t.Fatalf("%+v: row %d was not prefetched", o, v)
			}
		}
	}
}

// countdown is a context that ends after a number of calls of Err.
type countdown struct {
	context.Context
	left atomic.Int64
}

func newCountdown(calls int64) *countdown {
	c := &countdown{Context: context.Background()}
	c.left.Store(calls)
	return c
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func TestInferStops(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 20000
	p := graph.NewLaplacian(randomGraph(t, rng, n, 20000, false))
	x, y := randomFeatures(rng, n, 8), randomLabels(rng, n, 3)
	batch, m := testModel(t, p, x, y, 2, GCNOptions{Hidden: 8})
	full := newCountdown(math.MaxInt64)
	if _, err := m.Infer(full, p, x, nil); err != nil {
		t.Fatal(err)
	}
	calls := math.MaxInt64 - full.left.Load()
	if calls < 8 {
		t.Errorf("Err is called %d times over two layers of five chunks", calls)
	}
	for k := range calls {
		m.full, _ = batch.Full(m.Logits) // kept rows need fewer checks
		if _, err := m.Infer(newCountdown(k), p, x, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at call %d, inference returns %v", k, err)
		}
	}
}

func TestInferErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	p := graph.NewLaplacian(randomGraph(t, rng, 20, 20, false))
	x, y := randomFeatures(rng, 20, 4), randomLabels(rng, 20, 3)
	_, m := testModel(t, p, x, y, 2, GCNOptions{Hidden: 8})
	for name, try := range map[string]func() ([]float32, error){
		"no Laplacian":     func() ([]float32, error) { return m.Infer(context.Background(), nil, x, nil) },
		"no features":      func() ([]float32, error) { return m.Infer(context.Background(), p, nil, nil) },
		"other width":      func() ([]float32, error) { return m.Infer(context.Background(), p, randomFeatures(rng, 20, 5), nil) },
		"other node count": func() ([]float32, error) { return m.Infer(context.Background(), p, randomFeatures(rng, 21, 4), nil) },
		"unknown node":     func() ([]float32, error) { return m.Infer(context.Background(), p, x, []int32{0, 20}) },
		"negative node":    func() ([]float32, error) { return m.Infer(context.Background(), p, x, []int32{-1}) },
		"not of NewGCN": func() ([]float32, error) {
			return (&GCN{Convolutions: m.Convolutions}).Infer(context.Background(), p, x, nil)
		},
	} {
		if _, err := try(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if got, err := m.Infer(context.Background(), p, x, []int32{}); err != nil || len(got) != 0 {
		t.Errorf("no nodes give %v, %v", got, err)
	}
}
