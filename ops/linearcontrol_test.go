package ops

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	G "gorgonia.org/gorgonia"
)

// linearTest holds random constants of a LinearControl.
type linearTest struct {
	nodes, in, out int
	px, w, b, s    []float32
	rows           []int32   // of the output nodes
	rho            []float32 // for them
}

func newLinearTest(rng *rand.Rand, nodes, dst, in, out int) *linearTest {
	l := &linearTest{nodes: nodes, in: in, out: out, px: randomValues(rng, nodes*in), w: randomValues(rng, in*out), b: randomValues(rng, out), s: randomValues(rng, out)}
	for _, v := range rng.Perm(nodes)[:dst] {
		l.rows = append(l.rows, int32(v))
	}
	l.rho = randomValues(rng, dst)
	return l
}

func (l *linearTest) control(slot *Slot) (*LinearControl, error) {
	c, err := NewLinearControl(slot, l.nodes, l.in, l.out)
	if err != nil {
		return nil, err
	}
	c.SetPropagated(0, l.px[:l.in])
	c.SetPropagated(1, l.px[l.in:])
	if err := c.SetPoint(l.w, l.b, l.s); err != nil {
		return nil, err
	}
	return c, c.SetRows(l.rows, l.rho)
}

func (l *linearTest) add(slot *Slot, z, x, w, b *G.Node) (*G.Node, error) {
	c, err := l.control(slot)
	if err != nil {
		return nil, err
	}
	return AddLinearControl(c, z, x, w, b)
}

// reference is Z + ((PX − P̃X)(W − W̄) + ρ⊗(b − b̄)) ⊙ 1⊗s.
func (l *linearTest) reference(block *graph.Block, x *graph.Features, z, w, b dense) dense {
	drawn := refMul(refCSR(&block.Matrix), refFeatures(x, block.Src))
	rest := newDense(z.rows, l.in).each(func(i, j int) float64 { return float64(l.px[int(l.rows[i])*l.in+j]) - drawn.at(i, j) })
	change := refMul(rest, newDense(l.in, l.out).each(func(i, j int) float64 { return w.at(i, j) - float64(l.w[i*l.out+j]) }))
	return z.each(func(i, j int) float64 {
		return z.at(i, j) + (change.at(i, j)+float64(l.rho[i])*(b.at(0, j)-float64(l.b[j])))*float64(l.s[j])
	})
}

// The constants may change between runs: the next run reads the new ones.
func TestLinearControlChanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const nodes, in, out, dst, src = 30, 5, 4, 6, 9
	x, b := randomFeatures(rng, nodes, in), randomBlock(rng, dst, src, nodes)
	slot, l := NewSlot(dst, src), newLinearTest(rng, nodes, dst, in, out)
	if err := slot.Set(b); err != nil {
		t.Fatal(err)
	}
	c, err := l.control(slot)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Bytes(), int64(4*(nodes*in+(in+2)*out)); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	g := G.NewGraph()
	z, w, bias := input{"z", dst, out, randomValues(rng, dst*out)}, input{"w", in, out, randomValues(rng, in*out)}, input{"b", 0, out, randomValues(rng, out)}
	f, err := Features(g, x, slot)
	if err != nil {
		t.Fatal(err)
	}
	y, err := AddLinearControl(c, z.node(g), f, w.node(g), bias.node(g))
	if err != nil {
		t.Fatal(err)
	}
	m := G.NewTapeMachine(g)
	defer m.Close()
	for range 3 {
		if err := m.RunAll(); err != nil {
			t.Fatal(err)
		}
		for k, want := range l.reference(b, x, z.dense(), w.dense(), bias.dense()).data {
			if got := float64(y.Value().Data().([]float32)[k]); math.Abs(got-want) > 1e-4 {
				t.Fatalf("element %d is %v, want %v", k, got, want)
			}
		}
		m.Reset()
		l = newLinearTest(rng, nodes, dst, in, out)
		c.SetPropagated(0, l.px)
		if err := c.SetPoint(l.w, l.b, l.s); err != nil {
			t.Fatal(err)
		}
		if err := c.SetRows(l.rows, l.rho); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLinearControlErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const nodes, in, out, dst, src = 30, 5, 4, 6, 9
	x, slot := randomFeatures(rng, nodes, in), NewSlot(dst, src)
	c, err := newLinearTest(rng, nodes, dst, in, out).control(slot)
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range [][]int32{{-1}, {nodes}, {}} {
		if err := c.SetRows(rows, make([]float32, len(rows))); !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("rows %v: %v", rows, err)
		}
	}
	if err := c.SetRows([]int32{1, 2}, make([]float32, 3)); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("3 elements of ρ for 2 rows: %v", err)
	}
	if err := c.SetPoint(make([]float32, in*out), nil, make([]float32, out+1)); !errors.Is(err, ErrShape) {
		t.Errorf("slopes of another width: %v", err)
	}
	for _, sizes := range [][3]int{{0, in, out}, {nodes, 0, out}, {nodes, in, 0}} {
		if _, err := NewLinearControl(slot, sizes[0], sizes[1], sizes[2]); !errors.Is(err, ErrShape) {
			t.Errorf("sizes %v: %v", sizes, err)
		}
	}
	g := G.NewGraph()
	matrix := func(name string, rows, cols int) *G.Node {
		return input{name, rows, cols, make([]float32, rows*cols)}.node(g)
	}
	z, w := matrix("z", dst, out), matrix("w", in, out)
	f, err := Features(g, x, slot)
	if err != nil {
		t.Fatal(err)
	}
	for what, add := range map[string]func() (*G.Node, error){
		"no control":   func() (*G.Node, error) { return AddLinearControl(nil, z, f, w, nil) },
		"no weight":    func() (*G.Node, error) { return AddLinearControl(c, z, f, nil, nil) },
		"a variable X": func() (*G.Node, error) { return AddLinearControl(c, z, matrix("x", src, in), w, nil) },
		"a wide Z":     func() (*G.Node, error) { return AddLinearControl(c, matrix("wide", dst, out+1), f, w, nil) },
		"a wide W":     func() (*G.Node, error) { return AddLinearControl(c, z, f, matrix("wideW", in, out+1), nil) },
		"a wide b": func() (*G.Node, error) {
			return AddLinearControl(c, z, f, w, input{"wideB", 0, out + 1, make([]float32, out+1)}.node(g))
		},
		"a matrix b":     func() (*G.Node, error) { return AddLinearControl(c, z, f, w, w) },
		"Z of more rows": func() (*G.Node, error) { return AddLinearControl(c, matrix("long", dst+1, out), f, w, nil) },
	} {
		if _, err := add(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	// A block of other output nodes than the rows.
	if err := slot.Set(randomBlock(rng, dst-1, src, nodes)); err != nil {
		t.Fatal(err)
	}
	if _, err := AddLinearControl(c, z, f, w, nil); err != nil {
		t.Fatal(err)
	}
	m := G.NewTapeMachine(g)
	defer m.Close()
	if err := m.RunAll(); err == nil || !strings.Contains(err.Error(), ErrShape.Error()) {
		t.Errorf("rows of another block: %v", err)
	}
}
