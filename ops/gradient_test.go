package ops

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// input is a variable of an expression and its value. A vector has 0 rows.
type input struct {
	name       string
	rows, cols int
	data       []float32
}

func (in input) node(g *G.ExprGraph) *G.Node {
	if in.rows == 0 {
		return G.NewVector(g, tensor.Float32, G.WithShape(in.cols), G.WithName(in.name),
			G.WithValue(tensor.New(tensor.WithShape(in.cols), tensor.WithBacking(in.data))))
	}
	return G.NewMatrix(g, tensor.Float32, G.WithShape(in.rows, in.cols), G.WithName(in.name),
		G.WithValue(tensor.New(tensor.WithShape(in.rows, in.cols), tensor.WithBacking(in.data))))
}

func (in input) dense() dense { return denseOf(max(in.rows, 1), in.cols, in.data) }

// expression is a scalar function, as a graph and in float64 arithmetic.
type expression struct {
	inputs    []input
	graph     func(g *G.ExprGraph, v []*G.Node) (*G.Node, error)
	reference func(v []dense) float64
}

// probe turns a matrix into a scalar whose gradient is different at every element:
// Σ c·(x·I). Plain nodes keep their inputs, so that a product of ours stands between:
// x is dead after it, and its gradient may be overwritten.
func probe(x *G.Node, c []float32) (*G.Node, error) {
	rows, cols := x.Shape()[0], x.Shape()[1]
	identity := input{"identity", cols, cols, make([]float32, cols*cols)}
	for k := range cols {
		identity.data[k*cols+k] = 1
	}
	x, err := MatMul(x, identity.node(x.Graph()))
	if err != nil {
		return nil, err
	}
	in := input{"probe", rows, cols, c}
	product, err := G.HadamardProd(x, in.node(x.Graph()))
	if err != nil {
		return nil, err
	}
	return Sum(product)
}

func refProbe(x dense, c []float32) float64 { return refSum(refTimes(x, denseOf(x.rows, x.cols, c))) }

// check compares the value with the reference, and the gradients with the reference's
// central differences.
func (e expression) check(t *testing.T) {
	t.Helper()
	if !CUDA { // else Gorgonia's own machine refuses the plain nodes of the loss
		value, gradients := e.run(t)
		e.compare(t, value, gradients)
	}
	value, gradients := e.runPlanned(t, nil)
	e.compare(t, value, gradients)
	if CUDA {
		if _, err := OpenDevice("cuda"); err == nil {
			value, gradients = e.runPlanned(t, testDevice(t))
			e.compare(t, value, gradients)
		}
	}
}

func (e expression) compare(t *testing.T, value float32, gradients [][]float32) {
	t.Helper()
	values := make([]dense, len(e.inputs))
	for k, in := range e.inputs {
		values[k] = in.dense()
	}
	if want := e.reference(values); math.Abs(float64(value)-want) > 1e-5*math.Max(1, math.Abs(want)) {
		t.Errorf("value is %v, want %v", value, want)
	}
	for k, in := range e.inputs {
		want := make([]float64, len(in.data))
		var largest float64
		for i := range want {
			const h = 1e-5
			x := values[k].data[i]
			values[k].data[i] = x + h
			up := e.reference(values)
			values[k].data[i] = x - h
			down := e.reference(values)
			values[k].data[i] = x
			want[i] = (up - down) / (2 * h)
			largest = math.Max(largest, math.Abs(want[i]))
		}
		if largest == 0 {
			t.Errorf("gradient with respect to %s is 0, so the test checks nothing", in.name)
		}
		for i, w := range want {
			if got := float64(gradients[k][i]); math.Abs(got-w) > 1e-4*math.Abs(w)+1e-5*largest {
				t.Fatalf("gradient with respect to %s at %d is %v, want %v", in.name, i, got, w)
			}
		}
	}
}

// skipPlain skips a test that runs plain nodes in Gorgonia's own machine: a build with CUDA
// refuses them.
func skipPlain(t testing.TB) {
	if t.Helper(); CUDA {
		t.Skip("plain nodes in Gorgonia's own machine")
	}
}

// run compiles the expression and evaluates it once.
func (e expression) run(t *testing.T) (float32, [][]float32) {
	t.Helper()
	skipPlain(t)
	g := G.NewGraph()
	var nodes G.Nodes
	for _, in := range e.inputs {
		nodes = append(nodes, in.node(g))
	}
	loss, err := e.graph(g, nodes)
	if err != nil {
		t.Fatal(err)
	}
	grads, err := G.Grad(loss, nodes...)
	if err != nil {
		t.Fatal(err)
	}
	m := G.NewTapeMachine(g)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	var out [][]float32
	for k, n := range grads {
		if !n.Value().Shape().Eq(nodes[k].Shape()) {
			t.Fatalf("gradient with respect to %s has shape %v, want %v", nodes[k].Name(), n.Value().Shape(), nodes[k].Shape())
		}
		out = append(out, append([]float32(nil), n.Value().Data().([]float32)...))
	}
	return loss.Value().Data().(float32), out
}

func TestGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const nodes, in, out = 20, 5, 4
	x := randomFeatures(rng, nodes, in)
	thin := thinned(rand.New(rand.NewPCG(5, 6)), nodes, 40).ToSparse()
	training := &Mode{Training: true, Seed: 5}
	for _, size := range []struct{ dst, src int }{{6, 9}, {9, 6}, {1, 3}, {3, 1}, {1, 1}, {17, 20}} {
		b := randomBlock(rng, size.dst, size.src, nodes)
		if size.dst == 1 || size.src == 1 { // no empty row: a single row or column needs its entries
			b.Matrix = *refToCSR(size.dst, size.src, rng)
			b.Finish()
		}
		slot := NewSlot(size.dst, size.src)
		if err := slot.Set(b); err != nil {
			t.Fatal(err)
		}
		h := input{"h", size.src, in, randomValues(rng, size.src*in)}
		z := input{"z", size.dst, in, randomValues(rng, size.dst*in)}
		w := input{"w", in, out, randomValues(rng, in*out)}
		bias := input{"b", 0, out, randomValues(rng, out)}
		c := randomValues(rng, 32*32)
		// Where the scores of a row have one sign, target has no gradient, so the block has many rows.
		edges := randomEdges(rng, min(size.dst, size.src)+8, max(size.dst, size.src)+9, 2*nodes)
		attended := NewSlot(len(edges.Dst), len(edges.Src))
		if err := attended.Set(edges); err != nil {
			t.Fatal(err)
		}
		rest := rand.New(rand.NewPCG(3, 4)) // the other cases keep their numbers
		thinW := input{"w", thin.Cols, out, randomValues(rand.New(rand.NewPCG(7, 8)), thin.Cols*out)}
		ownProbe := randomValues(rest, len(edges.Dst)*in)
		edgeRows := input{"x", len(edges.Dst), in, randomValues(rest, len(edges.Dst)*in)}
		linear := newLinearTest(rest, nodes, size.dst, in, out)
		cases := map[string]expression{
			"Attention":                attentionExpression(rng, attended, 3, AttentionOptions{}, true),
			"Attention of heads":       attentionExpression(rng, attended, 2, AttentionOptions{Heads: 3, Mode: training, Dropout: 0.3}, false),
			"Attention, mean of heads": attentionExpression(rng, attended, 2, AttentionOptions{Heads: 3, Average: true, Mode: training, Dropout: 0.3}, true),
			"Attention, plain":         attentionExpression(rng, attended, 3, AttentionOptions{Heads: 2, Plain: true}, true),
			"Propagate": {
				[]input{h},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					p, err := Propagate(slot, v[0])
					if err != nil {
						return nil, err
					}
					return probe(p, c[:size.dst*in])
				},
				func(v []dense) float64 { return refProbe(refMul(refCSR(&b.Matrix), v[0]), c[:size.dst*in]) },
			},
			"Propagate of features": {
				[]input{w},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					f, err := Features(g, x, slot)
					if err != nil {
						return nil, err
					}
					p, err := Propagate(slot, f)
					if err != nil {
						return nil, err
					}
					y, err := MatMul(p, v[0])
					if err != nil {
						return nil, err
					}
					return probe(y, c[:size.dst*out])
				},
				func(v []dense) float64 {
					return refProbe(refMul(refMul(refCSR(&b.Matrix), refFeatures(x, b.Src)), v[0]), c[:size.dst*out])
				},
			},
			"Features, sparse": {
				[]input{thinW, bias},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					f, err := Features(g, thin, slot)
					if err != nil {
						return nil, err
					}
					y, err := Affine(f, v[0], v[1], nil)
					if err != nil {
						return nil, err
					}
					return probe(y, c[:size.src*out])
				},
				func(v []dense) float64 {
					return refProbe(refAffine(refFeatures(thin, b.Src), v[0], v[1], nil), c[:size.src*out])
				},
			},
			"Propagate of features, sparse": {
				[]input{thinW, bias},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					f, err := Features(g, thin, slot)
					if err != nil {
						return nil, err
					}
					p, err := Propagate(slot, f)
					if err != nil {
						return nil, err
					}
					y, err := Affine(p, v[0], v[1], slot)
					if err != nil {
						return nil, err
					}
					return probe(y, c[:size.dst*out])
				},
				func(v []dense) float64 {
					return refProbe(refAffine(refMul(refCSR(&b.Matrix), refFeatures(thin, b.Src)), v[0], v[1], b.RowSums), c[:size.dst*out])
				},
			},
			"Propagate of features, sparse, and dense readers": {
				[]input{thinW},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					f, err := Features(g, thin, slot)
					if err != nil {
						return nil, err
					}
					p, err := Propagate(slot, f)
					if err != nil {
						return nil, err
					}
					own, err := OutputFeatures(g, thin, slot)
					if err != nil {
						return nil, err
					}
					if own, err = Add(p, own); err != nil {
						return nil, err
					}
					y, err := MatMul(p, v[0])
					if err != nil {
						return nil, err
					}
					u, err := MatMul(own, v[0])
					if err != nil {
						return nil, err
					}
					if y, err = Add(y, u); err != nil {
						return nil, err
					}
					return probe(y, c[:size.dst*out])
				},
				func(v []dense) float64 {
					p := refMul(refCSR(&b.Matrix), refFeatures(thin, b.Src))
					return refProbe(refMul(refAdd(refAdd(p, p), refFeatures(thin, b.Dst)), v[0]), c[:size.dst*out])
				},
			},
			"OutputFeatures": {
				[]input{w},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					f, err := OutputFeatures(g, x, slot)
					if err != nil {
						return nil, err
					}
					y, err := MatMul(f, v[0])
					if err != nil {
						return nil, err
					}
					return probe(y, c[:size.dst*out])
				},
				func(v []dense) float64 { return refProbe(refMul(refFeatures(x, b.Dst), v[0]), c[:size.dst*out]) },
			},
			"MatMul": {
				[]input{h, w},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					y, err := MatMul(v[0], v[1])
					if err != nil {
						return nil, err
					}
					return probe(y, c[:size.src*out])
				},
				func(v []dense) float64 { return refProbe(refMul(v[0], v[1]), c[:size.src*out]) },
			},
			"Affine": {
				[]input{h, w, bias},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					y, err := Affine(v[0], v[1], v[2], nil)
					if err != nil {
						return nil, err
					}
					return probe(y, c[:size.src*out])
				},
				func(v []dense) float64 { return refProbe(refAffine(v[0], v[1], v[2], nil), c[:size.src*out]) },
			},
			"Affine by row sums": {
				[]input{z, w, bias},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					y, err := Affine(v[0], v[1], v[2], slot)
					if err != nil {
						return nil, err
					}
					return probe(y, c[:size.dst*out])
				},
				func(v []dense) float64 {
					return refProbe(refAffine(v[0], v[1], v[2], b.RowSums), c[:size.dst*out])
				},
			},
			"ELU": {
				[]input{z},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					y, err := ELU(v[0])
					if err != nil {
						return nil, err
					}
					return probe(y, c[:size.dst*in])
				},
				func(v []dense) float64 { return refProbe(refELU(v[0]), c[:size.dst*in]) },
			},
			"ReLU": {
				[]input{z},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					y, err := ReLU(v[0])
					if err != nil {
						return nil, err
					}
					return probe(y, c[:size.dst*in])
				},
				func(v []dense) float64 { return refProbe(refReLU(v[0]), c[:size.dst*in]) },
			},
			"Add": {
				[]input{z, {"y", size.dst, in, randomValues(rng, size.dst*in)}},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					y, err := Add(v[0], v[1])
					if err != nil {
						return nil, err
					}
					y, err = ELU(y)
					if err != nil {
						return nil, err
					}
					return probe(y, c[:size.dst*in])
				},
				func(v []dense) float64 { return refProbe(refELU(refAdd(v[0], v[1])), c[:size.dst*in]) },
			},
			"OwnRows": {
				[]input{{"own", len(edges.Src), in, randomValues(rest, len(edges.Src)*in)}},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					mixed, err := Propagate(attended, v[0])
					if err != nil {
						return nil, err
					}
					own, err := OwnRows(attended, v[0])
					if err != nil {
						return nil, err
					}
					y, err := Add(mixed, own)
					if err != nil {
						return nil, err
					}
					return probe(y, ownProbe)
				},
				func(v []dense) float64 {
					own := denseOf(len(edges.Dst), in, make([]float32, len(edges.Dst)*in))
					for i, node := range edges.Dst {
						from := slices.Index(edges.Src, node)
						copy(own.data[i*in:(i+1)*in], v[0].data[from*in:(from+1)*in])
					}
					return refProbe(refAdd(refMul(refCSR(&edges.Matrix), v[0]), own), ownProbe)
				},
			},
			"AddLinearControl": {
				[]input{{"z", size.dst, out, randomValues(rest, size.dst*out)}, w, bias},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					f, err := Features(g, x, slot)
					if err != nil {
						return nil, err
					}
					y, err := linear.add(slot, v[0], f, v[1], v[2])
					if err != nil {
						return nil, err
					}
					return probe(y, c[:size.dst*out])
				},
				func(v []dense) float64 {
					return refProbe(linear.reference(b, x, v[0], v[1], v[2]), c[:size.dst*out])
				},
			},
			"plain nodes between": {
				[]input{h, w, {"u", in, out, randomValues(rng, in*out)}},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					y, err := MatMul(v[0], v[1])
					if err != nil {
						return nil, err
					}
					activated, err := G.Tanh(y)
					if err != nil {
						return nil, err
					}
					other, err := MatMul(v[0], v[2])
					if err != nil {
						return nil, err
					}
					gated, err := G.HadamardProd(activated, other)
					if err != nil {
						return nil, err
					}
					sum, err := G.Add(gated, y)
					if err != nil {
						return nil, err
					}
					p, err := Propagate(slot, sum)
					if err != nil {
						return nil, err
					}
					square, err := G.Square(p)
					if err != nil {
						return nil, err
					}
					return probe(square, c[:size.dst*out])
				},
				func(v []dense) float64 {
					y := refMul(v[0], v[1])
					activated := y.each(func(i, j int) float64 { return math.Tanh(y.at(i, j)) })
					p := refMul(refCSR(&b.Matrix), refAdd(refTimes(activated, refMul(v[0], v[2])), y))
					return refProbe(refTimes(p, p), c[:size.dst*out])
				},
			},
			"columns of a plain slice": { // a view that is not contiguous
				[]input{h, {"v", 2, out, randomValues(rng, 2*out)}},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					part, err := G.Slice(v[0], nil, G.S(1, 3))
					if err != nil {
						return nil, err
					}
					y, err := MatMul(part, v[1])
					if err != nil {
						return nil, err
					}
					return probe(y, c[:size.src*out])
				},
				func(v []dense) float64 {
					part := newDense(v[0].rows, 2)
					part = part.each(func(i, j int) float64 { return v[0].at(i, j+1) })
					return refProbe(refMul(part, v[1]), c[:size.src*out])
				},
			},
			"BatchNorm":              batchNormExpression(edgeRows, in, ownProbe, training),
			"BatchNorm in inference": batchNormExpression(edgeRows, in, ownProbe, new(Mode)),
			"LayerNorm": {
				[]input{z, {"gain", 0, in, randomValues(rng, in)}, {"shift", 0, in, randomValues(rng, in)}},
				func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
					y, err := LayerNorm(v[0], v[1], v[2])
					if err != nil {
						return nil, err
					}
					return probe(y, c[:size.dst*in])
				},
				func(v []dense) float64 { return refProbe(refLayerNorm(v[0], v[1], v[2]), c[:size.dst*in]) },
			},
		}
		for name, e := range cases {
			t.Run(fmt.Sprintf("%s/%d×%d", name, size.dst, size.src), e.check)
		}
	}
}

// batchNormExpression has running averages that the gradient leaves out, as training does.
func batchNormExpression(x input, width int, c []float32, mode *Mode) expression {
	vector := func(name string, at float32) input {
		v := input{name, 0, width, make([]float32, width)}
		for j := range v.data {
			v.data[j] = at + float32(j)/4
		}
		return v
	}
	mean, variance := vector("mean", -0.5), vector("variance", 0.5)
	return expression{
		[]input{x, vector("gain", -1.1), vector("shift", 0.3)},
		func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
			y, err := BatchNorm(v[0], v[1], v[2], mean.node(g), variance.node(g), mode)
			if err != nil {
				return nil, err
			}
			return probe(y, c)
		},
		func(v []dense) float64 {
			return refProbe(refBatchNorm(v[0], v[1], v[2], mean.dense(), variance.dense(), mode.Training), c)
		},
	}
}

// refToCSR returns a full matrix of random entries.
func refToCSR(rows, cols int, rng *rand.Rand) *graph.CSR {
	a := &graph.CSR{Rows: rows, Cols: cols, Ptr: []int64{0}}
	for range rows {
		for j := range cols {
			a.Idx = append(a.Idx, int32(j))
			a.Val = append(a.Val, float32(rng.NormFloat64()))
		}
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
	}
	return a
}

// The loss is multiplied by a factor, so that a gradient that ignores the upstream
// gradient is wrong.
func TestLossGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const nodes, outputs = 12, 5
	nan := float32(math.NaN())
	classes := &graph.Labels{Classes: outputs, Class: make([]int32, nodes)}
	tasks := &graph.Labels{Tasks: outputs, Multi: make([]float32, nodes*outputs)}
	for v := range nodes {
		classes.Class[v] = int32(rng.IntN(outputs+1)) - 1
		for j := range outputs {
			tasks.Multi[v*outputs+j] = []float32{0, 1, nan}[rng.IntN(3)]
		}
	}
	classes.Class[3], classes.Class[5] = -1, 2
	for _, unknown := range []int{3, 7} { // rows without any label
		for j := range outputs {
			tasks.Multi[unknown*outputs+j] = nan
		}
	}
	batches := [][]int32{{5}, {5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {7, 11, 5, 2}}
	for _, batch := range batches {
		for _, weighted := range []bool{false, true} {
			var weights []float32
			if weighted {
				for range batch {
					weights = append(weights, rng.Float32())
				}
			}
			z := input{"z", len(batch), outputs, randomValues(rng, len(batch)*outputs)}
			for k := range z.data {
				z.data[k] *= 3
			}
			for _, labels := range []*graph.Labels{classes, tasks} {
				targets := NewTargets(labels)
				if err := targets.Set(batch, weights); err != nil {
					t.Fatal(err)
				}
				e := expression{
					[]input{z},
					func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
						loss, err := Loss(v[0], targets)
						if err != nil {
							return nil, err
						}
						return G.Mul(loss, G.NewConstant(float32(2.5)))
					},
					func(v []dense) float64 {
						if labels == classes {
							return 2.5 * refCrossEntropy(v[0], targets.class, weights)
						}
						return 2.5 * refBCE(v[0], targets.multi, weights)
					},
				}
				t.Run(fmt.Sprintf("%d rows/weighted=%v/tasks=%d", len(batch), weighted, labels.Tasks), e.check)
				t.Run(fmt.Sprintf("of one's own, %d rows/weighted=%v/tasks=%d", len(batch), weighted, labels.Tasks), expression{
					[]input{z},
					func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) { return plainLoss(v[0], targets) },
					func(v []dense) float64 { return refPlainLoss(v[0], targets, weights) },
				}.check)
			}
		}
	}
}

func TestLossWithoutLabels(t *testing.T) {
	nan := float32(math.NaN())
	for _, labels := range []*graph.Labels{
		{Classes: 2, Class: []int32{-1, -1, 0}},
		{Tasks: 2, Multi: []float32{nan, nan, nan, nan, 0, 1}},
	} {
		targets := NewTargets(labels)
		if err := targets.Set([]int32{0, 1}, nil); err != nil {
			t.Fatal(err)
		}
		e := expression{
			inputs: []input{{"z", 2, 2, []float32{1, 2, 3, 4}}},
			graph:  func(_ *G.ExprGraph, v []*G.Node) (*G.Node, error) { return Loss(v[0], targets) },
		}
		value, grads := e.run(t)
		if value != 0 {
			t.Errorf("loss is %v, want 0", value)
		}
		for k, v := range grads[0] {
			if v != 0 {
				t.Errorf("gradient %d is %v, want 0", k, v)
			}
		}
	}
}

// Logits whose exponential overflows float32 give a finite loss and gradient.
func TestLossOfLargeLogits(t *testing.T) {
	targets := NewTargets(&graph.Labels{Classes: 3, Class: []int32{0, 0, 2}})
	if err := targets.Set([]int32{0, 1, 2}, nil); err != nil {
		t.Fatal(err)
	}
	e := expression{
		inputs: []input{{"z", 3, 3, []float32{200, 0, 0, 2, 1, -1, 1000, 1000, -1000}}},
		graph:  func(_ *G.ExprGraph, v []*G.Node) (*G.Node, error) { return Loss(v[0], targets) },
		reference: func(v []dense) float64 {
			second := math.Log(1 + math.Exp(-1) + math.Exp(-3))
			return (0 + second + 2000 + math.Log(2)) / 3
		},
	}
	value, grads := e.run(t)
	if want := e.reference(nil); math.Abs(float64(value)-want) > 1e-4 {
		t.Errorf("loss is %v, want %v", value, want)
	}
	for k, v := range grads[0] {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			t.Errorf("gradient %d is %v", k, v)
		}
	}
}
