package ops

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/samplers"
	"gonum.org/v1/gonum/stat/combin"
	G "gorgonia.org/gorgonia"
)

// attentionExpression is Attention over slot's block with heads of the given width.
func attentionExpression(rng *rand.Rand, slot *Slot, width int, o AttentionOptions, bias bool) expression {
	b, heads := slot.block, max(o.Heads, 1)
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
				drop = dropout{float32(o.Dropout), o.Mode, ordinal}.in(plan.NewRun(nil))
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
		"control variate":              func(b *graph.Block) { b.Control = new(graph.CSR) },
		"at least 0": func(b *graph.Block) {
			b.Matrix.Val[1] = -1
			b.Finish()
		},
	} {
		b := randomEdges(rng, 4, 6, 9)
		change(b)
		slot.use(b) // Set refuses a control without a history
		err := m.RunAll()
		m.Reset()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestAttentionBias enumerates all draws of s of 7 neighbours, with equal and with unequal
// probabilities and with debiased weights, for 30 nodes with random scores. The numerator
// and the denominator are unbiased. The attention, their ratio, is not: its bias, on
// average over the nodes, falls like 1/s − 1/7 with equal probabilities, and is 0 with all
// neighbours. Plain attention has a larger one. For a single node it can be the other way
// round.
func TestAttentionBias(t *testing.T) {
	const neighbors, nodes = 7, 30
	for _, equal := range []bool{true, false} {
		rng := rand.New(rand.NewPCG(7, 8))
		var bias, plain [neighbors]float64
		for range nodes {
			weighted, unweighted := attentionBias(t, rng, neighbors, equal)
			for k := range bias {
				bias[k] += weighted[k] / nodes
				plain[k] += unweighted[k] / nodes
			}
		}
		t.Logf("equal probabilities %v: bias by s %.4f, plain %.4f", equal, bias, plain)
		rate := func(s int) float64 { return bias[s-1] / (1/float64(s) - 1.0/neighbors) }
		for s := 1; s < neighbors; s++ {
			if b := bias[s-1]; !(b > 0 && b < 0.8*plain[s-1]) {
				t.Errorf("equal probabilities %v: bias %v at s = %d, plain %v", equal, b, s, plain[s-1])
			}
			if off := rate(s) / rate(neighbors-1); equal && s >= 3 && (off < 0.8 || off > 1.2) {
				t.Errorf("s = %d: the bias is %v times a bias in proportion to 1/s − 1/m", s, off)
			}
		}
		if last := bias[neighbors-1]; last > 1e-12 {
			t.Errorf("bias %v with all neighbours", last)
		}
	}
}

// attentionBias returns the magnitude of the bias of one output by the number of neighbours
// drawn, for the attention with weights and for the plain one. The node itself is always
// there.
func attentionBias(t *testing.T, rng *rand.Rand, neighbors int, equal bool) (weighted, plain []float64) {
	t.Helper()
	powers, values := make([]float64, neighbors+1), make([]float64, neighbors+1) // the node itself last
	var numerator, denominator float64
	for j := range powers {
		powers[j], values[j] = math.Exp(rng.NormFloat64()), rng.NormFloat64()
		numerator += powers[j] * values[j]
		denominator += powers[j]
	}
	population := samplers.Population{Weights: make([]float64, neighbors), Positive: neighbors}
	for j := range population.Weights {
		population.Weights[j] = 1
		if !equal {
			population.Weights[j] = 0.5 + rng.Float64()
		}
		population.Total += population.Weights[j]
	}
	for s := 1; s <= neighbors; s++ {
		var up, down, estimate, unweighted float64
		beta := make([]float64, s)
		for _, order := range combin.Permutations(neighbors, s) { // every ordered sample without replacement
			sample, probability, left := new(samplers.Sample), 1.0, population.Total
			for _, j := range order {
				w := population.Weights[j]
				sample.Index, sample.Weight = append(sample.Index, int32(j)), append(sample.Weight, w)
				sample.Remaining = append(sample.Remaining, left)
				probability, left = probability*w/left, left-w
			}
			samplers.Debiased{}.Weigh(&population, sample, beta)
			n, d := powers[neighbors]*values[neighbors], powers[neighbors]
			plainN, plainD := n, d
			for k, j := range sample.Index {
				n, d = n+beta[k]*powers[j]*values[j], d+beta[k]*powers[j]
				plainN, plainD = plainN+powers[j]*values[j], plainD+powers[j]
			}
			up, down = up+probability*n, down+probability*d
			estimate, unweighted = estimate+probability*n/d, unweighted+probability*plainN/plainD
		}
		if math.Abs(up-numerator) > 1e-11 || math.Abs(down-denominator) > 1e-11 {
			t.Errorf("s = %d: numerator %v and denominator %v, want %v and %v", s, up, down, numerator, denominator)
		}
		weighted = append(weighted, math.Abs(estimate-numerator/denominator))
		plain = append(plain, math.Abs(unweighted-numerator/denominator))
	}
	return weighted, plain
}
