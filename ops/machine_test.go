package ops

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// network is two convolutions and a linear map over sampled blocks, with other nodes
// between them.
type network struct {
	graph   *G.ExprGraph
	slots   []*Slot
	mode    *Mode
	squares []*Slot // of attentions in the middle
	linear  *LinearControl
	targets *Targets
	loss    *G.Node
	params  G.Nodes
	grads   G.Nodes
	machine G.VM
}

// between maps two nodes of shape (rows, 4) to one with as many rows.
type between func(h, other *G.Node) (*G.Node, error)

const (
	networkNodes    = 40
	networkFeatures = 5
	networkWidth    = 4
	networkClasses  = 3
)

// newNetwork builds a network with the same weights every time. nominal holds the nominal
// sizes of its slots, input first.
func newNetwork(x *graph.Features, y *graph.Labels, nominal [3]int, middle between) (*network, error) {
	n, err := newNetworkGraph(x, y, nominal, middle)
	if err == nil {
		n.machine = G.NewTapeMachine(n.graph)
	}
	return n, err
}

// newNetworkGraph is newNetwork without a machine.
func newNetworkGraph(x *graph.Features, y *graph.Labels, nominal [3]int, middle between) (*network, error) {
	g := G.NewGraph()
	n := &network{graph: g, mode: new(Mode), targets: NewTargets(y)}
	n.slots = []*Slot{NewSlot(nominal[1], nominal[0]), NewSlot(nominal[2], nominal[1])}
	rng := rand.New(rand.NewPCG(1, 1))
	parameter := func(name string, rows, cols int) *G.Node {
		p := input{name, rows, cols, randomValues(rng, max(rows, 1)*cols)}.node(g)
		n.params = append(n.params, p)
		return p
	}
	var fail error
	must := func(x *G.Node, err error) *G.Node {
		if fail == nil {
			fail = err
		}
		return x
	}
	step := func(f func() *G.Node) (x *G.Node) {
		if fail == nil {
			x = f()
		}
		return x
	}
	w0, b0 := parameter("w0", networkFeatures, networkWidth), parameter("b0", 0, networkWidth)
	v0 := input{"v0", networkFeatures, networkWidth, randomValues(rng, networkFeatures*networkWidth)}.node(g)
	w1, b1 := parameter("w1", networkWidth, networkWidth), parameter("b1", 0, networkWidth)
	features := must(Features(g, x, n.slots[0]))
	p := step(func() *G.Node { return must(Propagate(n.slots[0], features)) })
	h := step(func() *G.Node { return must(Affine(p, w0, b0, n.slots[0])) })
	h = step(func() *G.Node { return must(Activate(h, ActivationELU, 0.2, n.mode)) })
	other := step(func() *G.Node { return must(MatMul(p, v0)) })
	h = step(func() *G.Node { return must(middle(h, other)) })
	if fail != nil {
		return nil, fail
	}
	for _, node := range g.AllNodes() {
		switch op := node.Op().(type) {
		case *attention:
			n.squares = append(n.squares, op.slot)
		case *ownRows:
			n.squares = append(n.squares, op.slot)
		case *linearControl:
			n.squares, n.linear = append(n.squares, op.control.slot), op.control
		}
	}
	if g.To(other.ID()).Len() > 0 {
		n.params = append(n.params, v0)
	}
	w2 := parameter("w2", h.Shape()[1], networkWidth)
	c := parameter("c", networkWidth, networkClasses)
	h = step(func() *G.Node { return must(MatMul(h, w2)) })
	h = step(func() *G.Node { return must(Affine(h, w1, b1, nil)) })
	h = step(func() *G.Node { return must(Propagate(n.slots[1], h)) })
	h = step(func() *G.Node { return must(ReLU(h)) })
	h = step(func() *G.Node { return must(Dropout(h, 0.2, n.mode)) })
	h = step(func() *G.Node { return must(MatMul(h, c)) })
	n.loss = step(func() *G.Node { return must(Loss(h, n.targets)) })
	if fail != nil {
		return nil, fail
	}
	var err error
	n.grads, err = G.Grad(n.loss, n.params...)
	return n, err
}

// set sets the blocks of the next run.
func (n *network) set(blocks []*graph.Block, seed uint64) error {
	for l, b := range blocks {
		if err := n.slots[l].Set(b); err != nil {
			return err
		}
	}
	for _, square := range n.squares {
		rows := len(blocks[0].Dst)
		if err := square.Set(randomEdges(rand.New(rand.NewPCG(seed, 2)), rows, rows, networkNodes)); err != nil {
			return err
		}
	}
	if n.linear != nil {
		if err := n.linear.SetRows(blocks[0].Dst, randomValues(rand.New(rand.NewPCG(seed, 3)), len(blocks[0].Dst))); err != nil {
			return err
		}
	}
	n.mode.Training, n.mode.Seed = true, seed
	return n.targets.Set(blocks[len(blocks)-1].Dst, nil)
}

// run sets the blocks, runs the machine and returns the loss and all gradients.
func (n *network) run(blocks []*graph.Block, seed uint64) ([]float32, error) {
	if err := n.set(blocks, seed); err != nil {
		return nil, err
	}
	if err := n.machine.RunAll(); err != nil {
		return nil, err
	}
	defer n.machine.Reset()
	out := []float32{n.loss.Value().Data().(float32)}
	for _, g := range n.grads {
		out = append(out, g.Value().Data().([]float32)...)
	}
	return out, nil
}

func networkData() (*graph.Features, *graph.Labels) {
	rng := rand.New(rand.NewPCG(9, 9))
	y := &graph.Labels{Classes: networkClasses, Class: make([]int32, networkNodes)}
	for v := range y.Class {
		y.Class[v] = int32(rng.IntN(networkClasses+1)) - 1
	}
	return randomFeatures(rng, networkNodes, networkFeatures), y
}

// middles are nodes that may stand between nodes of varying row count: every op of
// this package, and the plain Gorgonia nodes that doc.go lists.
var middles = map[string]between{
	"nothing":  func(h, _ *G.Node) (*G.Node, error) { return h, nil },
	"Tanh":     func(h, _ *G.Node) (*G.Node, error) { return G.Tanh(h) },
	"Sigmoid":  func(h, _ *G.Node) (*G.Node, error) { return G.Sigmoid(h) },
	"Square":   func(h, _ *G.Node) (*G.Node, error) { return G.Square(h) },
	"Cube":     func(h, _ *G.Node) (*G.Node, error) { return G.Cube(h) },
	"Exp":      func(h, _ *G.Node) (*G.Node, error) { return G.Exp(h) },
	"Neg":      func(h, _ *G.Node) (*G.Node, error) { return G.Neg(h) },
	"Abs":      func(h, _ *G.Node) (*G.Node, error) { return G.Abs(h) },
	"Softplus": func(h, _ *G.Node) (*G.Node, error) { return G.Softplus(h) },
	"Rectify":  func(h, _ *G.Node) (*G.Node, error) { return G.Rectify(h) },
	"Leaky":    func(h, _ *G.Node) (*G.Node, error) { return G.LeakyRelu(h, 0.1) },
	"Add":      func(h, o *G.Node) (*G.Node, error) { return G.Add(h, o) },
	"Sub":      func(h, o *G.Node) (*G.Node, error) { return G.Sub(h, o) },
	"Hadamard": func(h, o *G.Node) (*G.Node, error) { return G.HadamardProd(h, o) },
	"self":     func(h, _ *G.Node) (*G.Node, error) { return G.HadamardProd(h, h) },
	"constant": func(h, _ *G.Node) (*G.Node, error) { return G.Mul(h, G.NewConstant(float32(1.5))) },
	"Concat":   func(h, o *G.Node) (*G.Node, error) { return G.Concat(1, h, o) },
	"Log1p": func(h, o *G.Node) (*G.Node, error) {
		square, err := G.Square(o)
		if err != nil {
			return nil, err
		}
		log, err := G.Log1p(square)
		if err != nil {
			return nil, err
		}
		return G.Sub(h, log)
	},
	"Gt": func(h, o *G.Node) (*G.Node, error) {
		larger, err := G.Gt(h, o, true)
		if err != nil {
			return nil, err
		}
		if larger, err = G.HadamardProd(h, larger); err != nil {
			return nil, err
		}
		return G.Add(larger, o)
	},
	"constants": func(h, _ *G.Node) (*G.Node, error) {
		h, err := G.Sub(h, G.NewConstant(float32(0.25)))
		if err != nil {
			return nil, err
		}
		if h, err = G.HadamardDiv(h, G.NewConstant(float32(3))); err != nil {
			return nil, err
		}
		return G.Add(G.NewConstant(float32(2)), h)
	},
	"HadamardDiv": func(h, o *G.Node) (*G.Node, error) {
		square, err := G.Square(o)
		if err != nil {
			return nil, err
		}
		positive, err := G.Add(square, G.NewConstant(float32(1)))
		if err != nil {
			return nil, err
		}
		return G.HadamardDiv(h, positive)
	},
	"skip, used twice": func(h, o *G.Node) (*G.Node, error) {
		sum, err := G.Add(h, o)
		if err != nil {
			return nil, err
		}
		activated, err := G.Tanh(sum)
		if err != nil {
			return nil, err
		}
		return G.Add(activated, h)
	},
	"our Add, used twice": func(h, o *G.Node) (*G.Node, error) {
		sum, err := Add(h, o)
		if err != nil {
			return nil, err
		}
		return Add(sum, h)
	},
	"our Sum": func(h, _ *G.Node) (*G.Node, error) {
		sum, err := Sum(h)
		if err != nil {
			return nil, err
		}
		return G.HadamardProd(h, sum)
	},
	"LayerNorm": func(h, _ *G.Node) (*G.Node, error) {
		return LayerNorm(h, input{"gain", 0, networkWidth, []float32{1, 2, 3, 4}}.node(h.Graph()), input{"shift", 0, networkWidth, []float32{1, 0, 2, 0}}.node(h.Graph()))
	},
	"BatchNorm": func(h, _ *G.Node) (*G.Node, error) {
		vector := func(name string, values ...float32) *G.Node {
			return input{name, 0, networkWidth, values}.node(h.Graph())
		}
		return BatchNorm(h, vector("gain", 1, 2, 3, 4), vector("shift", 1, 0, 2, 0), vector("mean", 0, 1, 0, 1), vector("variance", 1, 2, 3, 1), &Mode{Training: true})
	},
	"Attention": func(h, _ *G.Node) (*G.Node, error) {
		g, rows := h.Graph(), h.Shape()[0]
		return Attention(NewSlot(rows, rows), h, input{"source", 0, networkWidth, []float32{1, 2, 3, 4}}.node(g),
			input{"target", 0, networkWidth, []float32{1, 0, -2, 1}}.node(g), input{"shift", 0, networkWidth, []float32{1, 0, 2, 0}}.node(g), AttentionOptions{Heads: 2})
	},
	"OwnRows": func(h, _ *G.Node) (*G.Node, error) {
		rows := h.Shape()[0]
		return OwnRows(NewSlot(rows, rows), h)
	},
	"AddLinearControl": func(h, o *G.Node) (*G.Node, error) {
		rows, rng := h.Shape()[0], rand.New(rand.NewPCG(6, 6))
		test, slot := newLinearTest(rng, networkNodes, 1, networkFeatures, networkWidth), NewSlot(rows, rows)
		f, err := Features(h.Graph(), randomFeatures(rng, networkNodes, networkFeatures), slot)
		if err != nil {
			return nil, err
		}
		return test.add(slot, h, f, input{"wl", networkFeatures, networkWidth, randomValues(rng, networkFeatures*networkWidth)}.node(h.Graph()),
			input{"bl", 0, networkWidth, []float32{1, 0, 2, -1}}.node(h.Graph()))
	},
	"transposed weight": func(h, _ *G.Node) (*G.Node, error) {
		w, err := G.Transpose(input{"wt", 3, networkWidth, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}}.node(h.Graph()))
		if err != nil {
			return nil, err
		}
		return MatMul(h, w)
	},
	"learned scalar": func(h, _ *G.Node) (*G.Node, error) {
		return G.HadamardProd(h, G.NewScalar(h.Graph(), tensor.Float32, G.WithName("alpha"), G.WithValue(float32(0.7))))
	},
}

// A graph compiled for one size runs batches of other sizes, and gives the same bits as a
// graph compiled for their size.
func TestReuseEqualsRebuild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 30)
		var sizes [][3]int
		for range 4 {
			sizes = append(sizes, [3]int{size.Draw(t, "in"), size.Draw(t, "middle"), size.Draw(t, "out")})
		}
		checkReuse(t, "nothing", rapid.Uint64().Draw(t, "seed"), sizes)
	})
}

// The same with plain Gorgonia nodes in the middle. A plan runs them with any number of rows
// too: TestPlannedBetweenPlainNodes.
func TestReuseBetweenPlainNodes(t *testing.T) {
	skipPlain(t)
	for name := range middles {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for range 5 {
				var sizes [][3]int
				for range 4 {
					sizes = append(sizes, [3]int{1 + rng.IntN(30), 1 + rng.IntN(30), 1 + rng.IntN(30)})
				}
				checkReuse(t, name, rng.Uint64(), sizes)
			}
		})
	}
}

// checkReuse compiles a network for sizes[0]. It compares its runs at the other sizes with
// runs of networks compiled for these sizes.
func checkReuse(t rapid.TB, name string, seed uint64, sizes [][3]int) {
	x, y := networkData()
	rng := rand.New(rand.NewPCG(seed, 0))
	reused, err := newNetwork(x, y, sizes[0], middles[name])
	if err != nil {
		t.Fatal(err)
	}
	defer reused.machine.Close()
	for _, size := range sizes[1:] {
		blocks, seed := randomChain(rng, networkNodes, size[:]...), rng.Uint64()
		got, err := reused.run(blocks, seed)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := newNetwork(x, y, size, middles[name])
		if err != nil {
			t.Fatal(err)
		}
		want, err := fresh.run(blocks, seed)
		if err != nil {
			t.Fatal(err)
		}
		fresh.machine.Close()
		if !sameBits(got, want) {
			t.Fatalf("sizes %v: reused graph gives\n%v, fresh one\n%v", size, got, want)
		}
	}
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return x == y || x != x && y != y })
}

// The nodes that doc.go says only a plan runs with any number of rows. Gorgonia's own machine
// must return an error; otherwise the warning is out of date.
func TestPlainNodesOfPlans(t *testing.T) {
	x, y := networkData()
	for name, middle := range map[string]between{
		"Mul": func(h, _ *G.Node) (*G.Node, error) {
			return G.Mul(h, input{"square", networkWidth, networkWidth, randomValues(rand.New(rand.NewPCG(5, 5)), networkWidth*networkWidth)}.node(h.Graph()))
		},
		"BroadcastAdd": func(h, _ *G.Node) (*G.Node, error) {
			return G.BroadcastAdd(h, input{"row", 0, networkWidth, []float32{1, -2, 3, 0}}.node(h.Graph()), nil, []byte{0})
		},
		"Slice": func(h, _ *G.Node) (*G.Node, error) { return G.Slice(h, nil, G.S(0, 2)) },
		"Sum": func(h, _ *G.Node) (*G.Node, error) {
			sum, err := G.Sum(h)
			if err != nil {
				return nil, err
			}
			return G.HadamardProd(h, sum)
		},
		"Mean": func(h, _ *G.Node) (*G.Node, error) {
			mean, err := G.Mean(h)
			if err != nil {
				return nil, err
			}
			return G.HadamardProd(h, mean)
		},
	} {
		t.Run(name, func(t *testing.T) {
			checkPlanned(t, middle)
			n, err := newNetwork(x, y, [3]int{12, 8, 5}, middle)
			if err != nil {
				t.Fatal(err)
			}
			defer n.machine.Close()
			rng := rand.New(rand.NewPCG(1, 2))
			if _, err := n.run(randomChain(rng, networkNodes, 9, 7, 5), 1); err == nil {
				t.Error("gorgonia now runs this node with another number of rows: say so in doc.go and move it to middles")
			}
		})
	}
}

// Reshape names the number of rows.
func TestReshapeFixesRows(t *testing.T) {
	x, y := networkData()
	n, err := newNetworkGraph(x, y, [3]int{12, 8, 5}, func(h, _ *G.Node) (*G.Node, error) {
		h, err := G.Reshape(h, tensor.Shape{networkWidth, h.Shape()[0]})
		if err != nil {
			return nil, err
		}
		return G.Reshape(h, tensor.Shape{h.Shape()[1], networkWidth})
	})
	if err != nil {
		t.Fatal(err)
	}
	p := newPlanned(t, nil, n.loss, n.params, n.grads)
	if err := n.set(randomChain(rand.New(rand.NewPCG(1, 2)), networkNodes, 9, 7, 5), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := p.run(); err == nil {
		t.Error("Reshape now takes another number of rows: say so in doc.go")
	}
}

func TestSameBitsOnAnyNumberOfCores(t *testing.T) {
	x, y := networkData()
	blocks := randomChain(rand.New(rand.NewPCG(1, 2)), networkNodes, 30, 25, 20)
	for _, name := range []string{"LayerNorm", "BatchNorm"} {
		sameBitsOnCores(t, name, x, y, blocks)
	}
}

func sameBitsOnCores(t *testing.T, name string, x *graph.Features, y *graph.Labels, blocks []*graph.Block) {
	var want []float32
	for _, cores := range []int{1, 2, 7} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
			n, err := newNetwork(x, y, [3]int{30, 25, 20}, middles[name])
			if err != nil {
				t.Fatal(err)
			}
			defer n.machine.Close()
			got, err := n.run(blocks, 3)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if !sameBits(got, want) {
				t.Errorf("%d cores give other bits than 1", cores)
			}
		}()
	}
}

// Gorgonia merges nodes whose hashes are equal. Two ops that may compute different values
// must have different hashes.
func TestNothingIsMerged(t *testing.T) {
	g := G.NewGraph()
	x := randomFeatures(rand.New(rand.NewPCG(1, 2)), 10, 4)
	slots := []*Slot{NewSlot(4, 4), NewSlot(4, 4)}
	labels := &graph.Labels{Classes: 4, Class: make([]int32, 10)}
	targets := []*Targets{NewTargets(labels), NewTargets(labels)}
	modes := []*Mode{new(Mode), new(Mode)}
	h := input{"h", 4, 4, make([]float32, 16)}.node(g)
	b := input{"b", 0, 4, make([]float32, 4)}.node(g)
	seen := make(map[*G.Node]string)
	add := func(name string) func(*G.Node, error) {
		return func(n *G.Node, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			if before, ok := seen[n]; ok {
				t.Errorf("%s is the same node as %s", name, before)
			}
			seen[n] = name
		}
	}
	for k := range 2 {
		add(fmt.Sprint("features over slot ", k))(Features(g, x, slots[k]))
		add(fmt.Sprint("output features over slot ", k))(OutputFeatures(g, x, slots[k]))
		add(fmt.Sprint("propagation over slot ", k))(Propagate(slots[k], h))
		add(fmt.Sprint("bias by slot ", k))(Affine(h, h, b, slots[k]))
		add(fmt.Sprint("loss of targets ", k))(Loss(h, targets[k]))
		add(fmt.Sprint("dropout of mode ", k))(Dropout(h, 0.5, modes[k]))
		add(fmt.Sprint("again dropout of mode ", k))(Dropout(h, 0.5, modes[k]))
		add(fmt.Sprint("dropout of another rate of mode ", k))(Dropout(h, 0.25, modes[k]))
	}
	add("plain bias")(Affine(h, h, b, nil))
	add("product")(MatMul(h, h))
	add("elu")(ELU(h))
	add("relu")(ReLU(h))
	add("gelu")(Activate(h, ActivationGELU, 0, nil))
	add("sum")(Sum(h))
}

// countOps returns the number of nodes of g whose op's name has that prefix.
func countOps(g *G.ExprGraph, prefix string) int {
	count := 0
	for _, n := range g.AllNodes() {
		if op := n.Op(); op != nil && strings.HasPrefix(op.String(), prefix+"#") {
			count++
		}
	}
	return count
}

// No gradient is built for nodes that depend on features alone.
func TestNoGradientOfFeatures(t *testing.T) {
	for _, first := range []string{"propagate", "transform"} {
		g := G.NewGraph()
		slot := NewSlot(3, 5)
		x := randomFeatures(rand.New(rand.NewPCG(1, 2)), 10, 4)
		w := input{"w", 4, 2, make([]float32, 8)}.node(g)
		h, err := Features(g, x, slot)
		if err != nil {
			t.Fatal(err)
		}
		if !Constant(h) || Constant(w) {
			t.Fatalf("features constant: %v; weight constant: %v", Constant(h), Constant(w))
		}
		if first == "propagate" {
			if h, err = Propagate(slot, h); err != nil {
				t.Fatal(err)
			}
			if h, err = G.Tanh(h); err != nil { // also past a plain node
				t.Fatal(err)
			}
			h, err = MatMul(h, w)
		} else {
			if h, err = MatMul(h, w); err != nil {
				t.Fatal(err)
			}
			h, err = Propagate(slot, h)
		}
		if err != nil {
			t.Fatal(err)
		}
		loss, err := Sum(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := G.Grad(loss, w); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"propagate": 0, "transform": 1}[first]
		if got := countOps(g, "propagateBack"); got != want {
			t.Errorf("%s first: %d backward propagations, want %d", first, got, want)
		}
		if got := countOps(g, "MatMulBackX"); got != 0 {
			t.Errorf("%s first: %d products for gradients of features", first, got)
		}
		if got := countOps(g, "MatMulBackW"); got != 1 {
			t.Errorf("%s first: %d products for the gradient of the weight, want 1", first, got)
		}
	}
}

// Features that only Propagate reads are not copied. If another node reads them, they are,
// and the result is the same.
func TestFeaturesAreGatheredByPropagate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := randomFeatures(rng, 10, 4)
	b := randomBlock(rng, 3, 5, 10)
	var results [2][]float32
	for k := range 2 {
		g := G.NewGraph()
		slot := NewSlot(3, 5)
		if err := slot.Set(b); err != nil {
			t.Fatal(err)
		}
		f, err := Features(g, x, slot)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Propagate(slot, f)
		if err != nil {
			t.Fatal(err)
		}
		if k == 1 {
			if _, err := Sum(f); err != nil {
				t.Fatal(err)
			}
		}
		G.NewScalar(g, tensor.Float32, G.WithName("some input"), G.WithValue(float32(0)))
		m := G.NewTapeMachine(g)
		if err := m.RunAll(); err != nil {
			t.Fatal(err)
		}
		if copied := f.Value().Shape()[0] == 5; copied != (k == 1) {
			t.Errorf("with %d other readers, features of shape %v", k, f.Value().Shape())
		}
		results[k] = slices.Clone(p.Value().Data().([]float32))
		m.Close()
	}
	if !slices.Equal(results[0], results[1]) {
		t.Errorf("propagated in place %v, from a copy %v", results[0], results[1])
	}
}

// A reader that is added to the graph after a first run gets the features.
func TestFeaturesWithLaterReaders(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := randomFeatures(rng, 10, 4)
	g := G.NewGraph()
	slot := NewSlot(3, 5)
	if err := slot.Set(randomBlock(rng, 3, 5, 10)); err != nil {
		t.Fatal(err)
	}
	f, err := Features(g, x, slot)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Propagate(slot, f); err != nil {
		t.Fatal(err)
	}
	G.NewScalar(g, tensor.Float32, G.WithName("some input"), G.WithValue(float32(0)))
	for _, rows := range []int{1, 5} {
		m := G.NewTapeMachine(g)
		if err := m.RunAll(); err != nil {
			t.Fatal(err)
		}
		if got := f.Value().Shape()[0]; got != rows {
			t.Errorf("features have %d rows, want %d", got, rows)
		}
		m.Close()
		if _, err := Sum(f); err != nil {
			t.Fatal(err)
		}
	}
}

// Propagate reads only the features of its own slot's input nodes in place: neither of
// another slot's nodes, nor of its output nodes.
func TestPropagateOtherFeatures(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := randomFeatures(rng, 10, 4)
	a, b := randomBlock(rng, 5, 5, 10), randomBlock(rng, 5, 5, 10)
	slots := []*Slot{NewSlot(5, 5), NewSlot(5, 5)}
	for k, block := range []*graph.Block{a, b} {
		if err := slots[k].Set(block); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		make func(*G.ExprGraph, *graph.Features, *Slot) (*G.Node, error)
		slot *Slot
		ids  []int32
	}{
		"of another slot": {Features, slots[1], b.Src},
		"of its output":   {OutputFeatures, slots[0], a.Dst},
		"of its input":    {Features, slots[0], a.Src},
	} {
		e := expression{
			[]input{{"w", 4, 3, randomValues(rng, 12)}},
			func(g *G.ExprGraph, v []*G.Node) (*G.Node, error) {
				f, err := c.make(g, x, c.slot)
				if err != nil {
					return nil, err
				}
				p, err := Propagate(slots[0], f)
				if err != nil {
					return nil, err
				}
				y, err := MatMul(p, v[0])
				if err != nil {
					return nil, err
				}
				return probe(y, x.Data[:15])
			},
			func(v []dense) float64 {
				return refProbe(refMul(refMul(refCSR(&a.Matrix), refFeatures(x, c.ids)), v[0]), x.Data[:15])
			},
		}
		t.Run(name, e.check)
	}
}

// A wrong batch is an error, never a panic, and the next valid batch runs.
func TestWrongBatchesAreErrors(t *testing.T) {
	x, y := networkData()
	n, err := newNetwork(x, y, [3]int{6, 5, 4}, middles["nothing"])
	if err != nil {
		t.Fatal(err)
	}
	defer n.machine.Close()
	if err := n.machine.RunAll(); err == nil || !strings.Contains(err.Error(), "no block") {
		t.Errorf("running without blocks gives %v", err)
	}
	n.machine.Reset()
	rng := rand.New(rand.NewPCG(1, 2))
	good := randomChain(rng, networkNodes, 6, 5, 4)
	unlike := randomChain(rng, networkNodes, 6, 5, 4)
	unlike[1] = randomBlock(rng, 4, 3, networkNodes)
	foreign := randomChain(rng, networkNodes, 6, 5, 4)
	foreign[0].Src = append([]int32(nil), foreign[0].Src...)
	foreign[0].Src[2] = networkNodes
	outside := randomChain(rng, networkNodes, 6, 5, 4)
	outside[0].Matrix.Idx[0] = 6
	transpose := randomChain(rng, networkNodes, 6, 5, 4)
	transpose[1].Transposed.Idx[0] = -1
	sums := randomChain(rng, networkNodes, 6, 5, 4)
	sums[0].RowSums = sums[0].RowSums[:4]
	empty := &graph.Block{Matrix: graph.CSR{Ptr: []int64{0}}}
	empty.Finish()
	for name, blocks := range map[string][]*graph.Block{
		"blocks that do not chain": unlike,
		"an unknown input node":    foreign,
		"a column out of range":    outside,
		"a bad transpose":          transpose,
		"too few row sums":         sums,
		"an empty block":           {empty, empty},
		"no block":                 {good[0], nil},
	} {
		if _, err := n.runUnlabelled(blocks); err == nil {
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error of several lines: %v", name, err)
		}
		n.machine.Reset()
		if _, err := n.run(good, 1); err != nil {
			t.Fatalf("after %s: %v", name, err)
		}
	}
	if err := NewSlot(1, 1).Set(empty); err == nil {
		t.Error("an empty block is accepted")
	}
	if err := n.targets.Set([]int32{0, networkNodes}, nil); err == nil {
		t.Error("a target outside the labels is accepted")
	}
	if err := n.targets.Set([]int32{0, 1}, []float32{1}); err == nil {
		t.Error("one weight for two nodes is accepted")
	}
	if err := n.targets.Set([]int32{0, 1}, []float32{1, float32(math.NaN())}); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("a weight that is no number: error %v", err)
	}
	for _, class := range []int32{-2, 3, 7} {
		wrong := NewTargets(&graph.Labels{Classes: 3, Class: []int32{0, -1, class}})
		if err := wrong.Set([]int32{1, 2}, nil); !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), "node 2") {
			t.Errorf("class %d of 3: error %v", class, err)
		}
	}
}

// Blocks that would give wrong numbers in silence are refused.
func TestInvalidBlocks(t *testing.T) {
	for name, spoil := range map[string]func(b *graph.Block){
		"row sum NaN":              func(b *graph.Block) { b.RowSums[0] = float32(math.NaN()) },
		"row sum infinite":         func(b *graph.Block) { b.RowSums[0] = float32(math.Inf(-1)) },
		"transpose without values": func(b *graph.Block) { b.Transposed.Val = nil },
		"matrix without values":    func(b *graph.Block) { b.Matrix.Val = nil },
		"transpose of another": func(b *graph.Block) {
			b.Transposed.Ptr, b.Transposed.Idx, b.Transposed.Val = make([]int64, len(b.Src)+1), nil, nil
		},
	} {
		slot, good := NewSlot(3, 5), randomBlock(rand.New(rand.NewPCG(1, 2)), 3, 5, 10)
		if err := slot.Set(good); err != nil {
			t.Fatal(err)
		}
		b := randomBlock(rand.New(rand.NewPCG(1, 2)), 3, 5, 10)
		spoil(b)
		if err := slot.Set(b); !errors.Is(err, graph.ErrInvalid) || slot.block != good {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func (n *network) runUnlabelled(blocks []*graph.Block) ([]float32, error) {
	for l, b := range blocks {
		if err := n.slots[l].Set(b); err != nil {
			return nil, err
		}
	}
	return nil, n.machine.RunAll()
}

func TestWrongNodesAreErrors(t *testing.T) {
	g, other := G.NewGraph(), G.NewGraph()
	slot := NewSlot(3, 5)
	m := func(g *G.ExprGraph, name string, rows, cols int) *G.Node {
		return input{name, rows, cols, make([]float32, max(rows, 1)*cols)}.node(g)
	}
	h, w, b := m(g, "h", 5, 4), m(g, "w", 4, 2), m(g, "b", 0, 2)
	f64 := G.NewMatrix(g, tensor.Float64, G.WithShape(5, 4), G.WithName("f64"))
	y := &graph.Labels{Classes: 4, Class: make([]int32, 9)}
	for name, try := range map[string]func() (*G.Node, error){
		"nil node":              func() (*G.Node, error) { return MatMul(nil, w) },
		"nil weight":            func() (*G.Node, error) { return MatMul(h, nil) },
		"vector as matrix":      func() (*G.Node, error) { return MatMul(b, w) },
		"float64":               func() (*G.Node, error) { return ELU(f64) },
		"inner sizes":           func() (*G.Node, error) { return MatMul(w, h) },
		"two graphs":            func() (*G.Node, error) { return MatMul(h, m(other, "w", 4, 2)) },
		"bias length":           func() (*G.Node, error) { return Affine(h, w, m(g, "b3", 0, 3), nil) },
		"matrix as bias":        func() (*G.Node, error) { return Affine(h, w, w, nil) },
		"rows of the slot":      func() (*G.Node, error) { return Affine(h, w, b, slot) },
		"propagated rows":       func() (*G.Node, error) { return Propagate(slot, m(g, "short", 4, 4)) },
		"no slot":               func() (*G.Node, error) { return Propagate(nil, h) },
		"no features":           func() (*G.Node, error) { return Features(g, nil, slot) },
		"short features":        func() (*G.Node, error) { return Features(g, &graph.Features{Rows: 2, Cols: 2}, slot) },
		"no targets":            func() (*G.Node, error) { return Loss(h, nil) },
		"targets of no labels":  func() (*G.Node, error) { return Loss(h, NewTargets(nil)) },
		"width of the logits":   func() (*G.Node, error) { return Loss(m(g, "wide", 5, 5), NewTargets(y)) },
		"unknown activation":    func() (*G.Node, error) { return Activate(h, 99, 0, nil) },
		"sum of unequal shapes": func() (*G.Node, error) { return Add(h, w) },
		"gain of another width": func() (*G.Node, error) { return LayerNorm(h, b, b) },
	} {
		if n, err := try(); err == nil {
			t.Errorf("%s: no error but %v", name, n)
		}
	}
}

// Values may be views: a lazy transpose, or a slice of another tensor.
func TestMatrixOfViews(t *testing.T) {
	whole := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float32{1, 2, 3, 4, 5, 6}))
	part, err := whole.Slice(nil, G.S(1, 3))
	if err != nil {
		t.Fatal(err)
	}
	transposed := whole.Clone().(*tensor.Dense)
	if err := transposed.T(); err != nil {
		t.Fatal(err)
	}
	columns := tensor.New(tensor.WithShape(2, 3), tensor.AsFortran([]float32{1, 2, 3, 4, 5, 6}))
	for name, c := range map[string]struct {
		value *tensor.Dense
		want  []float32
	}{
		"whole":      {whole, []float32{1, 2, 3, 4, 5, 6}},
		"part":       {part.(*tensor.Dense), []float32{2, 3, 5, 6}},
		"transposed": {transposed, []float32{1, 4, 2, 5, 3, 6}},
	} {
		if got, err := plan.FloatsOf(c.value); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
	if got, err := plan.FloatsOf(columns); err == nil {
		t.Errorf("a column-major matrix is read as %v", got)
	}
}

// Gorgonia's own solvers work: bound dual values hold the same gradients.
func TestBoundDualValues(t *testing.T) {
	x, y := networkData()
	n, err := newNetwork(x, y, [3]int{6, 5, 4}, middles["nothing"])
	if err != nil {
		t.Fatal(err)
	}
	n.machine.Close()
	n.machine = G.NewTapeMachine(n.graph, G.BindDualValues(n.params...))
	defer n.machine.Close()
	solver := G.NewVanillaSolver(G.WithLearnRate(0.1))
	for k := range 3 {
		sizes := [][]int{{6, 5, 4}, {9, 2, 3}, {3, 8, 7}}[k]
		before := slices.Clone(n.params[0].Value().Data().([]float32))
		got, err := n.run(randomChain(rand.New(rand.NewPCG(1, uint64(k))), networkNodes, sizes...), 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := solver.Step(G.NodesToValueGrads(n.params)); err != nil {
			t.Fatal(err)
		}
		for i, v := range n.params[0].Value().Data().([]float32) {
			if want := before[i] - 0.1*got[1+i]; v-want > 1e-6 || want-v > 1e-6 {
				t.Fatalf("step %d moves weight %d to %v, want %v", k, i, v, want)
			}
		}
	}
}
