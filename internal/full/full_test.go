package full_test

import (
	"context"
	"fmt"
	"hash"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chewxy/hm"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/full"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

const (
	nodes    = 300
	features = 12
	hidden   = 8
	classes  = 3
)

// testLaplacian returns P of a random graph with some hubs.
func testLaplacian(t testing.TB, weighted, directed bool) *graph.Laplacian {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	b, err := graph.NewBuilder(nodes)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 * nodes {
		weight := float32(1)
		if weighted {
			weight = 0.5 + rng.Float32()
		}
		u, v := int32(rng.IntN(nodes)), int32(nodes*math.Pow(rng.Float64(), 2))
		if err := b.AddWeighted(u, v, weight); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := b.Build()
	if directed {
		return graph.NewDirectedLaplacian(a)
	}
	return graph.NewLaplacian(a)
}

func testFeatures(kind string) *graph.Features {
	rng := rand.New(rand.NewPCG(3, 4))
	x := &graph.Features{Rows: nodes, Cols: features, Data: make([]float32, nodes*features)}
	for k := range x.Data {
		if kind != "sparse" || rng.IntN(6) == 0 {
			x.Data[k] = float32(rng.NormFloat64())
		}
	}
	switch kind {
	case "half":
		x, _ = x.ToHalf()
	case "sparse":
		m := &graph.CSR{Rows: nodes, Cols: features, Ptr: []int64{0}, Val: []float32{}}
		for i := range nodes {
			for j, v := range x.Data[i*features : (i+1)*features] {
				if v != 0 {
					m.Idx, m.Val = append(m.Idx, int32(j)), append(m.Val, v)
				}
			}
			m.Ptr = append(m.Ptr, int64(len(m.Idx)))
		}
		x = &graph.Features{Rows: nodes, Cols: features, Sparse: m}
	}
	return x
}

func testLabels() *graph.Labels {
	y := &graph.Labels{Classes: classes, Class: make([]int32, nodes)}
	for v := range y.Class {
		y.Class[v] = int32(v % classes)
	}
	return y
}

// network builds a model, and fails the test at the first error.
type network struct {
	testing.TB
	*layers.Batch
	x     *graph.Features
	names int
}

func (b *network) must(n *G.Node, err error) *G.Node {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	return n
}

func (b *network) input() *G.Node { return b.must(b.Features(b.x)) }

func (b *network) conv(l int, h *G.Node, out int) *G.Node {
	b.names++
	c, err := layers.NewGraphConv(b.Graph(), fmt.Sprint("conv", b.names), h.Shape()[1], out, layers.ParameterOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return b.must(c.Forward(b.Slot(l), h))
}

func (b *network) attend(l int, h *G.Node, out int) *G.Node {
	b.names++
	c, err := layers.NewGATConv(b.Graph(), fmt.Sprint("gat", b.names), h.Shape()[1], out, 2, false, layers.ParameterOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return b.must(c.Forward(b.Slot(l), h))
}

func (b *network) linear(h *G.Node, out int) *G.Node {
	b.names++
	c, err := layers.NewLinear(b.Graph(), fmt.Sprint("linear", b.names), h.Shape()[1], out, layers.ParameterOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return b.must(c.Forward(h))
}

func (b *network) vector(n int) *G.Node {
	b.names++
	values := make([]float32, n)
	for k := range values {
		values[k] = 0.5 + float32(k)/10
	}
	return G.NewVector(b.Graph(), tensor.Float32, G.WithName(fmt.Sprint("v", b.names)), G.WithShape(n), G.WithValue(tensor.New(tensor.WithShape(n), tensor.WithBacking(values))))
}

// models are models of two layers, of the library's layers and of plain nodes.
//
// The last three mix rows, or may.
var models = map[string]func(b *network) *G.Node{
	"gated": func(b *network) *G.Node {
		h := b.must(ops.ReLU(b.conv(0, b.input(), hidden)))
		value, open := b.must(G.Tanh(b.conv(1, h, hidden))), b.must(G.Sigmoid(b.conv(1, h, hidden)))
		return b.linear(b.must(G.HadamardProd(value, open)), classes)
	},
	"attention": func(b *network) *G.Node {
		h := b.must(ops.ELU(b.attend(0, b.input(), hidden)))
		return b.linear(b.attend(1, h, hidden), classes)
	},
	"attention over a table": func(b *network) *G.Node { // the table is read by OwnRows and Propagate too
		x := b.input()
		own := b.must(ops.OwnRows(b.Slot(0), x))
		mixed := b.must(ops.Propagate(b.Slot(0), x))
		h := b.must(ops.ELU(b.linear(b.must(G.Concat(1, own, mixed)), hidden)))
		return b.linear(b.attend(1, h, hidden), classes)
	},
	"noise": func(b *network) *G.Node { // dropout of the features, a residual, and norms
		x := b.must(ops.Dropout(b.input(), 0.5, b.Mode()))
		h := b.must(ops.Activate(b.conv(0, x, hidden), ops.ActivationGELU, 0.5, b.Mode()))
		h = b.must(ops.BatchNorm(h, b.vector(hidden), b.vector(hidden), b.vector(hidden), b.vector(hidden), b.Mode()))
		own := b.must(ops.OwnRows(b.Slot(1), h))
		h = b.must(ops.Add(own, b.conv(1, h, hidden)))
		skip := b.must(ops.OutputFeatures(b.Graph(), b.x, b.Slot(1)))
		return b.must(ops.Add(b.linear(h, classes), b.linear(skip, classes)))
	},
	"input layer": func(b *network) *G.Node { // transformed before the first slot, and read twice there
		h := b.must(ops.ReLU(b.linear(b.input(), hidden)))
		own := b.must(ops.OwnRows(b.Slot(0), h))
		h = b.must(ops.Add(own, b.must(ops.Propagate(b.Slot(0), h))))
		return b.linear(b.conv(1, h, hidden), classes)
	},
	"plain nodes": func(b *network) *G.Node { // products of parameters, vectors for all rows, columns
		w := G.NewMatrix(b.Graph(), tensor.Float32, G.WithName("w"), G.WithShape(features, features), G.WithInit(G.Ones()))
		w = b.must(G.Mul(b.must(G.Transpose(w)), w))
		h := b.must(G.Mul(b.must(ops.Propagate(b.Slot(0), b.input())), w))
		h = b.must(G.BroadcastAdd(h, b.vector(features), nil, []byte{0}))
		left, right := b.must(G.Slice(h, nil, G.S(0, 4))), b.must(G.Slice(h, nil, G.S(4, features)))
		h = b.must(G.LeakyRelu(b.must(G.Concat(1, right, left)), 0.1))
		h = b.must(G.Mul(h, G.NewConstant(float32(0.01))))
		return b.conv(1, h, classes)
	},
	"two values": func(b *network) *G.Node { // of one level cross a slot
		h := b.conv(0, b.input(), hidden)
		below := b.linear(b.linear(b.linear(h, hidden), hidden), hidden)
		return b.linear(b.must(ops.Add(b.must(ops.OwnRows(b.Slot(1), below)), b.must(ops.Propagate(b.Slot(1), h)))), classes)
	},
	"all rows": func(b *network) *G.Node { // less their sum
		h := b.conv(0, b.input(), hidden)
		return b.must(G.Sub(b.conv(1, h, classes), b.must(ops.Sum(b.conv(1, h, classes)))))
	},
	"noise of a parameter": func(b *network) *G.Node {
		w := G.NewMatrix(b.Graph(), tensor.Float32, G.WithName("w"), G.WithShape(features, features), G.WithInit(G.Ones()))
		w = b.must(ops.Activate(w, ops.ActivationELU, 0.5, b.Mode()))
		return b.conv(1, b.must(ops.MatMul(b.must(ops.Propagate(b.Slot(0), b.input())), w)), classes)
	},
	"both layers in one": func(b *network) *G.Node { // no op between two slots
		return b.linear(b.must(ops.Propagate(b.Slot(1), b.must(ops.Propagate(b.Slot(0), b.input())))), classes)
	},
	"twice the graph": func(b *network) *G.Node { // a model's own op
		h := b.conv(0, b.input(), hidden)
		return b.linear(b.must(G.ApplyOp(&userOp{}, b.conv(1, h, hidden))), classes)
	},
}

// build returns a model's batch and logits.
func build(t testing.TB, name string, p *graph.Laplacian, x *graph.Features) (*layers.Batch, *G.Node) {
	t.Helper()
	b := &network{TB: t, Batch: layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: p, Depth: 2}), x: x}
	return b.Batch, models[name](b)
}

// whole returns the logits of nodes by one batch with all their neighbours.
func whole(t testing.TB, b *layers.Batch, logits *G.Node, nodes []int32) []float32 {
	t.Helper()
	var batch samplers.MiniBatch
	if err := b.Sampler().Sample(context.Background(), nodes, nil, &batch); err != nil {
		t.Fatal(err)
	}
	if err := b.Set(&batch, false, 0); err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(plan.Spec{Output: logits})
	if err != nil {
		t.Fatal(err)
	}
	e, err := plan.NewExecutor(p, plan.ExecutorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Compute(); err != nil {
		t.Fatal(err)
	}
	values, err := e.Result(0).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func infer(t testing.TB, m *full.Model, p *graph.Laplacian, nodes []int32) []float32 {
	t.Helper()
	values, err := m.Infer(context.Background(), full.Call{P: p, Nodes: nodes})
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func compile(t testing.TB, b *layers.Batch, logits *G.Node) *full.Model {
	t.Helper()
	m, err := b.Full(logits)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// someNodes are all nodes, many, and few, not in order.
func someNodes() map[string][]int32 {
	rng := rand.New(rand.NewPCG(5, 6))
	var perm []int32
	for _, v := range rng.Perm(nodes) {
		perm = append(perm, int32(v))
	}
	return map[string][]int32{"all": perm, "many": perm[:150], "few": {7, 3, 250}, "one": {9}}
}

// rowsAlone reports whether a row of a dense product has the same bits in any product. Other
// implementations of BLAS than our own choose their sums by the number of rows.
func rowsAlone(t testing.TB) bool {
	b, err := blas.Default()
	if err != nil {
		t.Fatal(err)
	}
	return strings.HasPrefix(b.Name(), "native")
}

// TestWholeGraph checks that levels give the logits of one batch with all neighbours, with the
// same bits for any number of cores and, with our own BLAS, any size of chunks.
func TestWholeGraph(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, kind := range []string{"dense", "half", "sparse", "weighted", "directed"} {
		p, x := testLaplacian(t, kind == "weighted", kind == "directed"), testFeatures(kind)
		for name := range models {
			t.Run(kind+"/"+name, func(t *testing.T) {
				b, logits := build(t, name, p, x)
				for which, nodes := range someNodes() {
					runtime.GOMAXPROCS(2)
					want := whole(t, b, logits, nodes)
					b.Mode().Training = true // of a training that waits
					var first []float32
					for _, cores := range []int{1, 3} {
						runtime.GOMAXPROCS(cores)
						for _, chunk := range []int{0, 1, 7, 64, tooMany} {
							m := compile(t, b, logits)
							m.Chunk = chunk
							got := infer(t, m, p, nodes)
							if first == nil {
								first = got
							}
							if chunk > 0 && !rowsAlone(t) {
								compare(t, which, got, first)
								continue
							}
							if !slices.Equal(got, first) || !slices.Equal(infer(t, m, p, nodes), first) {
								t.Fatalf("%s: other bits with %d cores and chunks of %d rows, or in the second call", which, cores, chunk)
							}
						}
					}
					compare(t, which, first, want)
				}
			})
		}
	}
}

const tooMany = 1000 // more than all nodes

func compare(t testing.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for k := range got {
		if !(math.Abs(float64(got[k]-want[k])) <= 1e-6*(1+math.Abs(float64(want[k])))) {
			t.Fatalf("%s: value %d is %v, want %v", what, k, got[k], want[k])
		}
	}
}

// Other nodes, another graph, and parameters that changed: nothing of the last call remains.
func TestCallsAfterAnother(t *testing.T) {
	x := testFeatures("dense")
	p, other := testLaplacian(t, false, false), testLaplacian(t, true, false)
	b, logits := build(t, "attention over a table", p, x)
	m := compile(t, b, logits)
	for range 2 {
		for _, nodes := range someNodes() {
			for _, p := range []*graph.Laplacian{p, other} {
				if !slices.Equal(infer(t, m, p, nodes), infer(t, compile(t, b, logits), p, nodes)) {
					t.Fatal("a second call gives other bits")
				}
			}
		}
		for _, n := range b.Graph().AllNodes() {
			if v, ok := n.Value().(*tensor.Dense); ok && n.Op() == nil {
				v.Float32s()[0]++
			}
		}
	}
	repeated, single := infer(t, m, p, []int32{5, 8, 5}), infer(t, m, p, []int32{5, 8})
	compare(t, "a repeated node", repeated, slices.Concat(single, single[:classes]))
	if rowsAlone(t) && !slices.Equal(repeated, slices.Concat(single, single[:classes])) {
		t.Error("a repeated node has other bits")
	}
	if values := infer(t, m, p, []int32{}); len(values) != 0 {
		t.Errorf("%d values of no nodes", len(values))
	}
}

// Calls for one graph work side by side.
func TestCallsSideBySide(t *testing.T) {
	p, x := testLaplacian(t, false, false), testFeatures("dense")
	for name := range models {
		b, logits := build(t, name, p, x)
		alone := compile(t, b, logits)
		alone.Chunk = 40 // a row's bits may depend on its chunk, with some BLAS libraries
		want := infer(t, alone, p, someNodes()["all"])
		var calls sync.WaitGroup
		for range 4 {
			calls.Go(func() {
				m, err := b.Full(logits)
				if err != nil {
					t.Error(err)
					return
				}
				m.Chunk = 40
				got, err := m.Infer(context.Background(), full.Call{P: p, Nodes: someNodes()["all"]})
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: other bits, or %v", name, err)
				}
			})
		}
		calls.Wait()
	}
}

// userOp doubles its input. It counts the rows of its calls, as an op that holds state.
type userOp struct {
	mutex sync.Mutex
	rows  []int
}

func (*userOp) Arity() int            { return 1 }
func (*userOp) ReturnsPtr() bool      { return false }
func (*userOp) CallsExtern() bool     { return false }
func (*userOp) OverwritesInput() int  { return -1 }
func (*userOp) WriteHash(h hash.Hash) { h.Write([]byte("userOp")) }
func (*userOp) Hashcode() uint32      { return 5 }
func (*userOp) String() string        { return "userOp" }

func (*userOp) Type() hm.Type {
	matrix := G.TensorType{Dims: 2, Of: tensor.Float32}
	return hm.NewFnType(matrix, matrix)
}

func (*userOp) InferShape(s ...G.DimSizer) (tensor.Shape, error) {
	return s[0].(tensor.Shape).Clone(), nil
}

func (op *userOp) Do(in ...G.Value) (G.Value, error) {
	op.mutex.Lock()
	op.rows = append(op.rows, in[0].Shape()[0])
	op.mutex.Unlock()
	return tensor.Mul(in[0].(*tensor.Dense), float32(2))
}

// A user's own op may mix rows or hold state: its level has one run a call. The other levels
// have many.
func TestUsersOp(t *testing.T) {
	p := testLaplacian(t, false, false)
	b, logits := build(t, "twice the graph", p, testFeatures("dense"))
	var op *userOp
	for _, n := range b.Graph().AllNodes() {
		if own, ok := n.Op().(*userOp); ok {
			op = own
		}
	}
	m := compile(t, b, logits)
	m.Chunk = 10
	infer(t, m, p, someNodes()["many"])
	if !slices.Equal(op.rows, []int{150}) {
		t.Errorf("the op was called for %d rows, want 150 at once", op.rows)
	}
	if mixed := m.Mixed(); mixed[1] || !mixed[2] {
		t.Error("only the level with the op needs one run")
	}
}

// Plain nodes that map rows to rows are computed in chunks.
func TestMixed(t *testing.T) {
	p := testLaplacian(t, false, false)
	none := []bool{false, false, false}
	for name, want := range map[string][]bool{
		"gated": none, "attention": none, "noise": none, "input layer": none, "plain nodes": none, "both layers in one": none, "all rows": {false, false, true},
	} {
		b, logits := build(t, name, p, testFeatures("dense"))
		if mixed := compile(t, b, logits).Mixed(); !slices.Equal(mixed, want) {
			t.Errorf("%s: levels mix rows: %v, want %v", name, mixed, want)
		}
	}
}

// A value that depends on parameters alone is computed once in each call.
func TestConstants(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p := testLaplacian(t, false, false)
	b := &network{TB: t, Batch: layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: p, Depth: 2}), x: testFeatures("dense")}
	op := new(userOp)
	w := G.NewMatrix(b.Graph(), tensor.Float32, G.WithName("w"), G.WithShape(hidden, classes), G.WithInit(G.Ones()))
	doubled := b.must(G.ApplyOp(op, w))
	logits := b.must(ops.MatMul(b.conv(1, b.conv(0, b.input(), hidden), hidden), doubled))
	m := compile(t, b.Batch, logits)
	m.Chunk = 10
	before := infer(t, m, p, someNodes()["many"])
	values := w.Value().Data().([]float32)
	for k := range values {
		values[k] = 3
	}
	after := infer(t, m, p, someNodes()["many"])
	if !slices.Equal(op.rows, []int{hidden, hidden}) {
		t.Errorf("the op was called for %d rows, want %d in each of two calls", op.rows, hidden)
	}
	for k := range before {
		before[k] *= 3
	}
	compare(t, "a parameter that changed", after, before)
}

func TestRefused(t *testing.T) {
	p := testLaplacian(t, false, false)
	for want, model := range map[string]func(b *network) *G.Node{
		"Gorgonia's Dropout": func(b *network) *G.Node {
			return b.conv(1, b.must(G.Dropout(b.conv(0, b.input(), hidden), 0.5)), classes)
		},
		"joins rows of layers 1 and 2": func(b *network) *G.Node {
			h := b.conv(0, b.input(), classes)
			return b.must(G.Add(h, b.conv(1, h, classes)))
		},
		"which depends on rows": func(b *network) *G.Node {
			h := b.conv(0, b.input(), hidden)
			return b.linear(b.must(ops.Attention(b.Slot(1), b.linear(h, hidden), b.must(G.Sum(h, 0)), b.vector(hidden), nil, ops.AttentionOptions{})), classes)
		},
		"reads rows of another layer": func(b *network) *G.Node { return b.conv(1, b.input(), classes) },
		"not known over full neighbourhoods": func(b *network) *G.Node {
			h := b.conv(1, b.conv(0, b.input(), classes), classes)
			return b.must(G.Add(h, b.must(b.LabelMatrix(testLabels()))))
		},
		"is not a matrix with a row for each output node": func(b *network) *G.Node { return b.conv(0, b.input(), classes) },
	} {
		b := &network{TB: t, Batch: layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: p, Depth: 2}), x: testFeatures("dense")}
		_, err := b.Full(model(b))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, want)
		}
	}
}

// A chunk reads its own rows of sparse features, and no other node's.
func TestOwnRowsOfSparseFeatures(t *testing.T) {
	const n, cols = 20000, 400
	p, _ := largeGraph(t, n, n, 1)
	m := &graph.CSR{Rows: n, Cols: cols, Ptr: []int64{0}}
	for i := range n {
		m.Idx, m.Ptr = append(m.Idx, int32(i%cols)), append(m.Ptr, int64(i+1))
	}
	b := &network{TB: t, Batch: layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: p, Depth: 1}), x: &graph.Features{Rows: n, Cols: cols, Sparse: m}}
	x := b.input()
	logits := b.must(ops.Add(b.conv(0, x, classes), b.linear(b.must(ops.OwnRows(b.Slot(0), x)), classes)))
	some := []int32{7, 3, n - 1}
	want, compiled := whole(t, b.Batch, logits, some), compile(t, b.Batch, logits)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	all := infer(t, compiled, p, nil)
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 4*n*cols/2 {
		t.Errorf("%d bytes for a call: half of the features without their zeros", bytes)
	}
	for k, v := range some {
		compare(t, "own rows", all[v*classes:(v+1)*classes], want[k*classes:(k+1)*classes])
	}
}

// A call that is refused leaves what earlier calls have kept.
func TestKeptAfterAnError(t *testing.T) {
	p := testLaplacian(t, false, false)
	b, logits := build(t, "both layers in one", p, testFeatures("dense"))
	m := compile(t, b, logits)
	for range 2 {
		infer(t, m, p, nil)
	}
	many := slices.Repeat([]int32{nodes}, full.Few+1)
	for _, c := range []full.Call{{P: p, Nodes: many}, {P: p, Bound: full.Bound{Memory: 1}}} {
		if _, err := m.Infer(t.Context(), c); err == nil {
			t.Fatal("no error")
		}
		if kept := m.Kept(); kept.PX == 0 {
			t.Errorf("%+v after an error", kept)
		}
	}
}

// Nothing but the spare memory holds the values of a call, so they can make room for larger ones.
func TestValuesAreFree(t *testing.T) {
	p := testLaplacian(t, false, false)
	b, logits := build(t, "input layer", p, testFeatures("dense"))
	m := compile(t, b, logits)
	infer(t, m, p, nil)
	values := m.Drop()
	runtime.GC()
	if values.Value() != nil {
		t.Error("the values of a call cannot be collected")
	}
	runtime.KeepAlive(m)
}

// Calls side by side leave memory for one call.
func TestMemoryOfCallsSideBySide(t *testing.T) {
	p := testLaplacian(t, false, false)
	b, logits := build(t, "input layer", p, testFeatures("dense"))
	m := compile(t, b, logits)
	infer(t, m, p, nil)
	want := m.Kept().Bytes
	for range 3 {
		call(t, m, full.Call{P: p, Progress: func(done, _ int) {
			if done == 0 {
				infer(t, m, p, nil) // while the other call has begun
			}
		}})
	}
	if got := m.Kept().Bytes; got != want {
		t.Errorf("%d bytes of values are kept, after one call %d", got, want)
	}
}

// alone is the only rank.
type alone struct{}

func (alone) Rank() int                                 { return 0 }
func (alone) Size() int                                 { return 1 }
func (alone) Gather(context.Context, [][]float32) error { return nil }

// Wanted values have the nodes that New was given, also where a dropout does nothing. Their
// memory is that of the call before.
func TestWanted(t *testing.T) {
	p := testLaplacian(t, false, false)
	b := &network{TB: t, Batch: layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: p, Depth: 2}), x: testFeatures("dense")}
	h := b.must(ops.Dropout(b.conv(0, b.input(), hidden), 0.5, b.Mode()))
	logits := b.conv(1, h, classes)
	m, err := full.New(logits, []*ops.Slot{b.Slot(0), b.Slot(1)}, b.Mode(), h, logits)
	if err != nil {
		t.Fatal(err)
	}
	want := infer(t, compile(t, b.Batch, logits), p, nil)
	for _, ranks := range []full.Ranks{nil, alone{}} {
		var kept int64
		for k := range 3 {
			rows, got := make(map[*G.Node]int), make([]float32, len(want))
			var mutex sync.Mutex
			call(t, m, full.Call{P: p, Ranks: ranks, Wanted: func(n *G.Node, nodes []int32, values []float32) {
				mutex.Lock()
				defer mutex.Unlock()
				rows[n] += len(nodes)
				if n == logits {
					copy(got[int(nodes[0])*classes:], values)
				}
			}})
			if len(rows) != 2 || rows[h] != nodes || !slices.Equal(got, want) {
				t.Fatalf("rows %v of the wanted values, or other logits", rows)
			}
			if k == 0 {
				kept = m.Kept().Bytes
			}
			if m.Kept().Bytes != kept {
				t.Errorf("call %d: %d bytes of values, after %d", k, m.Kept().Bytes, kept)
			}
		}
	}
}

// A call ends once its context does.
func TestCancelled(t *testing.T) {
	p := testLaplacian(t, false, false)
	b, logits := build(t, "gated", p, testFeatures("dense"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, chunk := range []int{10, tooMany} {
		m := compile(t, b, logits)
		m.Chunk = chunk
		if _, err := m.Infer(ctx, full.Call{P: p, Nodes: someNodes()["many"]}); err == nil {
			t.Errorf("chunks of %d: no error", chunk)
		}
	}
}
