package ops

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// onBackends runs f on the CPU and, if there is one, on a GPU, emulated or real.
func onBackends(t *testing.T, f func(t *testing.T, d *Device)) {
	t.Run("cpu", func(t *testing.T) { f(t, nil) })
	t.Run("cuda", func(t *testing.T) { f(t, testDevice(t)) })
}

// testDevice opens the GPU. Without one it skips the test.
func testDevice(t testing.TB) *Device {
	t.Helper()
	d, err := OpenDevice("cuda")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if n := d.Usage().Bytes; n != 0 {
			t.Errorf("%d bytes of device memory were not freed", n)
		}
	})
	return d
}

// countsSince returns d's counts less an earlier reading.
func countsSince(d *Device, earlier device.Counts) device.Counts {
	c := d.Counts()
	return device.Counts{
		Launches: c.Launches - earlier.Launches, Products: c.Products - earlier.Products, Syncs: c.Syncs - earlier.Syncs,
		CopiesIn: c.CopiesIn - earlier.CopiesIn, CopiesOut: c.CopiesOut - earlier.CopiesOut, Copies: c.Copies - earlier.Copies,
		BytesIn: c.BytesIn - earlier.BytesIn, Allocs: c.Allocs - earlier.Allocs,
	}
}

// planned is a loss and its gradients on a backend.
type planned struct {
	plan.Backend
	model plan.Model
}

func newPlanned(t testing.TB, d *Device, loss *G.Node, params, grads G.Nodes) *planned {
	t.Helper()
	return newPlannedModel(t, d, plan.Model{Loss: loss, Parameters: params, Gradients: grads, Check: true})
}

// newPlannedModel plans m with the values that its parameters have.
func newPlannedModel(t testing.TB, d *Device, m plan.Model) *planned {
	t.Helper()
	p := &planned{model: m}
	for _, n := range m.Parameters {
		data, err := plan.FloatsOf(n.Value())
		if err != nil {
			t.Fatal(err)
		}
		p.model.Values = append(p.model.Values, data...)
	}
	size := len(p.model.Values)
	p.model.Grads, p.model.M, p.model.V = make([]float32, size), make([]float32, size), make([]float32, size)
	var err error
	if p.Backend, err = plan.NewBackend(d, p.model); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.Backend == nil {
			return
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.Push(false); err != nil {
		t.Fatal(err)
	}
	return p
}

// run returns the loss and all gradients.
func (p *planned) run() ([]float32, error) {
	if err := p.Run(); err != nil {
		return nil, err
	}
	loss, err := p.Loss()
	return append([]float32{loss}, p.model.Grads...), err
}

// runPlanned evaluates the expression on a backend. Each input matrix is the result of
// another op, so that the plan may reuse its memory.
func (e expression) runPlanned(t *testing.T, d *Device) (float32, [][]float32) {
	t.Helper()
	g := G.NewGraph()
	var nodes G.Nodes
	for _, in := range e.inputs {
		nodes = append(nodes, in.node(g))
	}
	loss, err := e.graph(g, copies(t, nodes))
	if err != nil {
		t.Fatal(err)
	}
	grads, err := G.Grad(loss, nodes...)
	if err != nil {
		t.Fatal(err)
	}
	checked.add(loss.Graph())
	out, err := newPlanned(t, d, loss, nodes, grads).run()
	if err != nil {
		t.Fatal(err)
	}
	value, out := out[0], out[1:]
	var each [][]float32
	for _, in := range e.inputs {
		each = append(each, out[:len(in.data)])
		out = out[len(in.data):]
	}
	return value, each
}

// copies returns nodes of equal value. Each matrix is the result of an op of this package.
func copies(t *testing.T, nodes G.Nodes) G.Nodes {
	t.Helper()
	out := slices.Clone(nodes)
	for k, n := range nodes {
		if n.Dims() != 2 {
			continue
		}
		zero := input{"zero " + n.Name(), n.Shape()[0], n.Shape()[1], make([]float32, n.Shape().TotalSize())}.node(n.Graph())
		var err error
		if out[k], err = Add(n, zero); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// checked holds the types of ops whose gradients were compared on a backend, and
// resized those that ran over other numbers of rows than their graph was built for.
var checked, resized opTypes

type opTypes struct{ names map[string]bool }

func (o *opTypes) add(g *G.ExprGraph) {
	if o.names == nil {
		o.names = map[string]bool{}
	}
	for _, n := range g.AllNodes() {
		if op, ok := n.Op().(plan.Op); ok {
			o.names[strings.TrimPrefix(fmt.Sprintf("%T", op), "*ops.")] = true
		}
	}
}

// TestMain runs all tests, and fails if an op had no gradient test.
func TestMain(m *testing.M) {
	code := m.Run()
	if run := flag.Lookup("test.run"); code == 0 && run.Value.String() == "" && flag.Lookup("test.list").Value.String() == "" && flag.Lookup("test.fuzz").Value.String() == "" {
		for _, name := range opsOfPackage() {
			if !checked.names[name] {
				fmt.Fprintf(os.Stderr, "no gradient test covers the op %s: add an expression to TestGradients\n", name)
				code = 1
			}
			if !resized.names[name] {
				fmt.Fprintf(os.Stderr, "no test runs the op %s over other numbers of rows than its graph was built for: add it to middles\n", name)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// opsOfPackage returns the names of the package's types with a method Compute.
func opsOfPackage() []string {
	files, err := filepath.Glob("*.go")
	if err != nil {
		panic(err)
	}
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func \(op \*(\w+)\) Compute\(`).FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

// evaluate computes nodes on the host, op by op.
func evaluate(t testing.TB, nodes ...*G.Node) []float32 {
	t.Helper()
	values := map[*G.Node]G.Value{}
	var visit func(n *G.Node) G.Value
	visit = func(n *G.Node) G.Value {
		if v, ok := values[n]; ok {
			return v
		}
		var in []G.Value
		for _, child := range plan.Children(n) {
			in = append(in, visit(child))
		}
		v := n.Value()
		if n.Op() != nil {
			var err error
			if v, err = n.Op().Do(in...); err != nil {
				t.Fatal(err)
			}
		}
		values[n] = v
		return v
	}
	var out []float32
	for _, n := range nodes {
		data, err := plan.FloatsOf(visit(n))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, data...)
	}
	return out
}

// near reports whether a and b agree to 1e-5 of the largest value.
func near(a, b []float32) bool {
	var largest, worst float64
	for k, v := range b {
		largest = math.Max(largest, math.Abs(float64(v)))
		worst = math.Max(worst, math.Abs(float64(v)-float64(a[k])))
	}
	return len(a) == len(b) && worst <= 1e-5*largest
}

// A planned graph runs batches of any size, plain Gorgonia nodes included.
func TestPlannedBetweenPlainNodes(t *testing.T) {
	for name, middle := range middles {
		t.Run(name, func(t *testing.T) { checkPlanned(t, middle) })
	}
}

// checkPlanned compares the values of a planned graph with those of graphs built for the sizes
// of its batches.
func checkPlanned(t *testing.T, middle between) {
	onBackends(t, func(t *testing.T, d *Device) {
		x, y := networkData()
		rng := rand.New(rand.NewPCG(1, 2))
		n, err := newNetworkGraph(x, y, [3]int{5, 9, 3}, middle)
		if err != nil {
			t.Fatal(err)
		}
		p := newPlanned(t, d, n.loss, n.params, n.grads)
		resized.add(n.graph)
		for range 4 {
			size := []int{1 + rng.IntN(30), 1 + rng.IntN(30), 1 + rng.IntN(30)}
			blocks, seed := randomChain(rng, networkNodes, size...), rng.Uint64()
			if err := n.set(blocks, seed); err != nil {
				t.Fatal(err)
			}
			got, err := p.run()
			if err != nil {
				t.Fatal(err)
			}
			fresh, err := newNetworkGraph(x, y, [3]int(size), middle)
			if err != nil {
				t.Fatal(err)
			}
			if err := fresh.set(blocks, seed); err != nil {
				t.Fatal(err)
			}
			want := evaluate(t, append(G.Nodes{fresh.loss}, fresh.grads...)...)
			if !near(got, want) {
				t.Fatalf("sizes %v: backend gives\n%v, reference\n%v", size, got, want)
			}
			again, err := p.run()
			if err != nil || !sameBits(got, again) {
				t.Fatalf("sizes %v: a second run gives\n%v (%v), the first\n%v", size, again, err, got)
			}
		}
	})
}

// A constant that is no scalar is refused, with what to write in its place.
func TestConstantMatrices(t *testing.T) {
	x, y := networkData()
	values := tensor.New(tensor.WithShape(networkWidth, networkWidth), tensor.WithBacking(make([]float32, networkWidth*networkWidth)))
	plain := func(right func(g *G.ExprGraph) *G.Node) between {
		return func(h, _ *G.Node) (*G.Node, error) { return G.Mul(h, right(h.Graph())) }
	}
	constant := func(*G.ExprGraph) *G.Node { return G.NewConstant(values) }
	for name, middle := range map[string]between{
		"ours":  func(h, _ *G.Node) (*G.Node, error) { return MatMul(h, constant(nil)) },
		"plain": plain(constant),
	} {
		n, err := newNetworkGraph(x, y, [3]int{12, 8, 5}, middle)
		if err == nil {
			_, err = plan.NewBackend(nil, plan.Model{Loss: n.loss, Parameters: n.params, Gradients: n.grads})
		}
		if err == nil || !strings.Contains(err.Error(), "write") || !strings.Contains(err.Error(), "gorgonia.NewMatrix") {
			t.Errorf("%s: %v", name, err)
		}
	}
	checkPlanned(t, plain(func(g *G.ExprGraph) *G.Node {
		return G.NewMatrix(g, tensor.Float32, G.WithShape(networkWidth, networkWidth), G.WithValue(values))
	}))
}

// Covers a parameter that only a plain node reads, an input whose value changes between
// runs, and a gradient that two parameters share.
func TestPlannedInputs(t *testing.T) { onBackends(t, testPlannedInputs) }

func testPlannedInputs(t *testing.T, d *Device) {
	g := G.NewGraph()
	a := input{"a", 2, 3, []float32{1, 2, 3, 4, 5, 6}}.node(g)
	b := input{"b", 2, 3, []float32{6, 5, 4, 3, 2, 1}}.node(g)
	scale := G.NewScalar(g, tensor.Float32, G.WithName("scale"), G.WithValue(float32(2)))
	both, err := Add(a, b)
	if err != nil {
		t.Fatal(err)
	}
	scaled, err := G.Mul(both, scale)
	if err != nil {
		t.Fatal(err)
	}
	loss, err := Sum(scaled)
	if err != nil {
		t.Fatal(err)
	}
	params := G.Nodes{a, b}
	grads, err := G.Grad(loss, params...)
	if err != nil {
		t.Fatal(err)
	}
	p := newPlanned(t, d, loss, params, grads)
	for _, s := range []float32{2, -3} {
		if err := G.Let(scale, s); err != nil {
			t.Fatal(err)
		}
		got, err := p.run()
		if err != nil {
			t.Fatal(err)
		}
		want := []float32{42 * s}
		for range 12 {
			want = append(want, s)
		}
		if !near(got, want) {
			t.Errorf("scale %v: got %v, want %v", s, got, want)
		}
	}
}

// The activation adds the bias of a product only if nothing else reads the product.
func TestBiasOfProductReadTwice(t *testing.T) { onBackends(t, testBiasOfProductReadTwice) }

func testBiasOfProductReadTwice(t *testing.T, d *Device) {
	rng := rand.New(rand.NewPCG(1, 2))
	g := G.NewGraph()
	params := G.Nodes{
		input{"x", 4, 3, randomValues(rng, 12)}.node(g), input{"w", 3, 5, randomValues(rng, 15)}.node(g), input{"b", 0, 5, randomValues(rng, 5)}.node(g),
	}
	h, err := Affine(params[0], params[1], params[2], nil)
	if err != nil {
		t.Fatal(err)
	}
	activated, err := ELU(h)
	if err != nil {
		t.Fatal(err)
	}
	both, err := Add(h, activated)
	if err != nil {
		t.Fatal(err)
	}
	loss, err := Sum(both)
	if err != nil {
		t.Fatal(err)
	}
	grads, err := G.Grad(loss, params...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := newPlanned(t, d, loss, params, grads).run()
	if err != nil {
		t.Fatal(err)
	}
	if want := evaluate(t, append(G.Nodes{loss}, grads...)...); !near(got, want) {
		t.Errorf("backend gives\n%v, reference\n%v", got, want)
	}
}

// A failed run returns its error, and the next run succeeds.
func TestPlannedErrors(t *testing.T) { onBackends(t, testPlannedErrors) }

func testPlannedErrors(t *testing.T, d *Device) {
	x, y := networkData()
	n, err := newNetworkGraph(x, y, [3]int{5, 9, 3}, middles["nothing"])
	if err != nil {
		t.Fatal(err)
	}
	p := newPlanned(t, d, n.loss, n.params, n.grads)
	if _, err := p.run(); err == nil || !strings.Contains(err.Error(), "no block") {
		t.Errorf("a run without blocks gives error %v", err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	good := randomChain(rng, networkNodes, 4, 5, 6)
	broken := randomChain(rng, networkNodes, 4, 5, 6)
	broken[0].Src[2] = networkNodes
	unfit := append([]*graph.Block{}, good[0], randomChain(rng, networkNodes, 4, 7, 6)[1])
	for name, c := range map[string]struct {
		blocks []*graph.Block
		want   string
	}{"node outside the features": {broken, "outside the 40 rows"}, "layers that do not fit": {unfit, "matrix times"}} {
		if err := n.set(c.blocks, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := p.run(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
		if err := n.set(good, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := p.run(); err != nil {
			t.Errorf("a run after %s: %v", name, err)
		}
	}
}

// Layers of one sampled subgraph share a block: it must be sent once.
func TestSharedBlocksAreSentOnce(t *testing.T) {
	d := testDevice(t)
	rng := rand.New(rand.NewPCG(1, 2))
	block := randomBlock(rng, 12, 12, networkNodes)
	block.Dst = block.Src
	var sent []int64
	for _, blocks := range [][]*graph.Block{{block, block}, {block, clone(block)}} {
		g := G.NewGraph()
		h := input{"h", 12, 7, randomValues(rng, 84)}.node(g)
		params := G.Nodes{h}
		for _, b := range blocks {
			slot := NewSlot(12, 12)
			if err := slot.Set(b); err != nil {
				t.Fatal(err)
			}
			var err error
			if h, err = Propagate(slot, h); err != nil {
				t.Fatal(err)
			}
		}
		loss, err := Sum(h)
		if err != nil {
			t.Fatal(err)
		}
		grads, err := G.Grad(loss, params...)
		if err != nil {
			t.Fatal(err)
		}
		p := newPlanned(t, d, loss, params, grads)
		before := d.Counts()
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, d.Counts().BytesIn-before.BytesIn)
		got, err := p.run()
		if err != nil {
			t.Fatal(err)
		}
		if want := evaluate(t, loss, grads[0]); !near(got, want) {
			t.Errorf("backend gives %v, host %v", got, want)
		}
	}
	if sent[0] > sent[1]*2/3 {
		t.Errorf("a shared block takes %d bytes, two blocks %d", sent[0], sent[1])
	}
}

func clone(b *graph.Block) *graph.Block {
	c := *b
	return &c
}

// A step never waits for the device, and queues no more kernels, products and copies than
// it needs.
func TestCountsOfAStep(t *testing.T) {
	d := testDevice(t)
	x, y := networkData()
	n, err := newNetworkGraph(x, y, [3]int{5, 9, 3}, middles["nothing"])
	if err != nil {
		t.Fatal(err)
	}
	p := newPlannedModel(t, d, plan.Model{Loss: n.loss, Parameters: n.params, Gradients: n.grads})
	if _, err := d.Features(x); err != nil { // the first reader copies them, and waits
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for k := range 6 { // memory grows in the first steps
		before := d.Counts()
		if err := n.set(randomChain(rng, networkNodes, 30, 30, 30), 1); err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		// The first step copies the constant that the gradients start from: a wait on a device
		// that reads the host's memory.
		if c := countsSince(d, before); k > 0 && k < 4 && c.Syncs != 0 {
			t.Errorf("step %d waits %d times", k, c.Syncs)
		}
	}
	before := d.Counts()
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	c := countsSince(d, before)
	t.Logf("%+v", c)
	if c.CopiesIn != 1 || c.CopiesOut != 0 || c.Copies != 0 || c.Allocs != 0 {
		t.Errorf("a step copies %d times to the device, %d from it, %d within, and allocates %d times: want one copy to it", c.CopiesIn, c.CopiesOut, c.Copies, c.Allocs)
	}
	// Forward: propagate, activate+bias, propagate, bias, ReLU, dropout, loss,
	// total. Backward: two slopes, propagate, column sums, slope, column sums.
	if c.Launches != 15 {
		t.Errorf("a step launches %d kernels, want 15", c.Launches)
	}
	// Forward four. Backward two for each, but one for the first, whose input is
	// constant.
	if c.Products != 11 {
		t.Errorf("a step has %d dense products, want 11", c.Products)
	}
}
