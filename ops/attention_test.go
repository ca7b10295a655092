package ops

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// attentionExpression is Attention over slot's block with heads of the given width.
func attentionExpression(rng *rand.Rand, slot *Slot, width int, o AttentionOptions, bias bool) expression {
	b, heads := slot.Block(), max(o.Heads, 1)
	columns := heads * width
	out := columns
	if o.Average {
		out = width
	}
	inputs := []input{
		{"z", len(b.Src), columns, randomValues(rng, len(b.Src)*columns)},
		{"source", 0, columns, randomValues(rng, columns)},
		{"target", 0, columns, randomValues(rng, columns)},
	}
	if bias {
		inputs = append(inputs, input{"bias", 0, out, randomValues(rng, out)})
	}
	c := randomValues(rng, len(b.Dst)*out)
	ordinal := uint64(0)
	return expression{
		inputs,
		func(_ *G.ExprGraph, v []*G.Node) (*G.Node, error) {
			var shift *G.Node
			if bias {
				shift = v[3]
			}
			if o.Mode != nil { // the same mask in every graph
				ordinal = 1
				o.Mode.made = 0
			}
			y, err := Attention(slot, v[0], v[1], v[2], shift, o)
			if err != nil {
				return nil, err
			}
			return probe(y, c)
		},
		func(v []dense) float64 {
			var drop kernel.Dropout
			if o.Mode != nil {
				drop = kernel.Dropout{Rate: float32(o.Dropout), Seed: o.Mode.seed(ordinal)}
			}
			return refProbe(refAttention(b, v, heads, o, drop), c)
		},
	}
}

// refAttention is Attention as its formulas say, over v = z, source, target, bias.
func refAttention(b *graph.Block, v []dense, heads int, o AttentionOptions, drop kernel.Dropout) dense {
	z, width := v[0], v[0].cols/heads
	position := make(map[int32]int)
	for j, u := range b.Src {
		position[u] = j
	}
	dot := func(vector dense, j, h int) (sum float64) {
		for c := h * width; c < (h+1)*width; c++ {
			sum += vector.data[c] * z.at(j, c)
		}
		return sum
	}
	all := newDense(len(b.Dst), heads*width)
	most := 0
	for i := range b.Dst {
		most = max(most, b.Matrix.Degree(i))
	}
	mask := refMask(drop, len(b.Dst), most*heads)
	for i, u := range b.Dst {
		values := b.Matrix.RowValues(i)
		for h := range heads {
			powers, total := make([]float64, len(values)), 0.0
			for k, j := range b.Matrix.Row(i) {
				q := dot(v[1], int(j), h) + dot(v[2], position[u], h)
				if q < 0 {
					q *= 0.2
				}
				powers[k] = math.Exp(q)
				if !o.Plain {
					powers[k] *= float64(values[k]) / float64(b.ColScale[j])
				}
				total += powers[k]
			}
			for k, j := range b.Matrix.Row(i) {
				for c := h * width; c < (h+1)*width; c++ {
					all.data[i*all.cols+c] += mask.at(i, k*heads+h) * powers[k] / total * z.at(int(j), c)
				}
			}
		}
	}
	out := all
	if o.Average {
		out = newDense(all.rows, width).each(func(i, j int) (mean float64) {
			for h := range heads {
				mean += all.at(i, h*width+j) / float64(heads)
			}
			return mean
		})
	}
	if len(v) < 4 {
		return out
	}
	return out.each(func(i, j int) float64 { return out.at(i, j) + v[3].data[j] })
}

// refMask returns the factors of a dropout over a matrix.
func refMask(drop kernel.Dropout, rows, cols int) dense {
	ones := make([]float32, rows*cols)
	for k := range ones {
		ones[k] = 1
	}
	kernel.Activate(kernel.Identity, ones, nil, ones, rows, cols, drop)
	return denseOf(rows, cols, ones)
}

// Scores of any size give finite coefficients that sum to 1.
func TestAttentionOfLargeScores(t *testing.T) {
	b := randomEdges(rand.New(rand.NewPCG(1, 2)), 5, 5, 9)
	slot := NewSlot(5, 5)
	if err := slot.Set(b); err != nil {
		t.Fatal(err)
	}
	e := attentionExpression(rand.New(rand.NewPCG(3, 4)), slot, 1, AttentionOptions{}, false)
	for k := range e.inputs[0].data {
		e.inputs[0].data[k] = 1 // so the output is the sum of the coefficients
	}
	e.inputs[1].data[0], e.inputs[2].data[0] = 4e3, 5e3
	want := 0.0
	for i := range b.Dst {
		if b.Matrix.Degree(i) > 0 {
			want++
		}
	}
	e.graph = func(_ *G.ExprGraph, v []*G.Node) (*G.Node, error) {
		y, err := Attention(slot, v[0], v[1], v[2], nil, AttentionOptions{})
		if err != nil {
			return nil, err
		}
		return Sum(y)
	}
	value, grads := e.run(t)
	if math.Abs(float64(value)-want) > 1e-5 {
		t.Errorf("coefficients of %v rows sum to %v", want, value)
	}
	for _, g := range grads {
		if !kernel.Finite(g) {
			t.Errorf("gradient %v is not finite", g)
		}
	}
}

func TestAttentionErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	g := G.NewGraph()
	z, a := input{"z", 6, 4, randomValues(rng, 24)}.node(g), input{"a", 0, 4, randomValues(rng, 4)}.node(g)
	short := input{"short", 0, 2, randomValues(rng, 2)}.node(g)
	slot := NewSlot(4, 6)
	for name, build := range map[string]func() (*G.Node, error){
		"no slot":              func() (*G.Node, error) { return Attention(nil, z, a, a, nil, AttentionOptions{}) },
		"no vector":            func() (*G.Node, error) { return Attention(slot, z, nil, a, nil, AttentionOptions{}) },
		"a vector too short":   func() (*G.Node, error) { return Attention(slot, z, a, short, nil, AttentionOptions{}) },
		"a bias too short":     func() (*G.Node, error) { return Attention(slot, z, a, a, short, AttentionOptions{}) },
		"heads do not divide":  func() (*G.Node, error) { return Attention(slot, z, a, a, nil, AttentionOptions{Heads: 3}) },
		"negative heads":       func() (*G.Node, error) { return Attention(slot, z, a, a, nil, AttentionOptions{Heads: -1}) },
		"another slot's rows":  func() (*G.Node, error) { return Attention(NewSlot(6, 4), z, a, a, nil, AttentionOptions{}) },
		"dropout without mode": func() (*G.Node, error) { return Attention(slot, z, a, a, nil, AttentionOptions{Dropout: 0.5}) },
	} {
		if _, err := build(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}

	y, err := Attention(slot, z, a, a, nil, AttentionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m := G.NewTapeMachine(g)
	defer m.Close()
	run := func(b *graph.Block) error {
		t.Helper()
		if err := slot.Set(b); err != nil {
			t.Fatal(err)
		}
		defer m.Reset()
		return m.RunAll()
	}
	if err := run(randomEdges(rng, 4, 6, 9)); err != nil {
		t.Fatal(err)
	}
	if y.Value() == nil {
		t.Error("no value")
	}
	for want, change := range map[string]func(b *graph.Block){
		"is not among its input nodes": func(b *graph.Block) { b.Dst[2] = 20 },
		"0 column scales":              func(b *graph.Block) { b.ColScale = nil },
		"control variate":              func(b *graph.Block) { b.Control = new(graph.Control) },
		"at least 0": func(b *graph.Block) {
			b.Matrix.Val[1] = -1
			b.Finish()
		},
	} {
		b := randomEdges(rng, 4, 6, 9)
		change(b)
		slot.block, slot.edges.filled = b, false // Set refuses a control without a history
		err := m.RunAll()
		m.Reset()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
