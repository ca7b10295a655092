package ops

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	G "gorgonia.org/gorgonia"
)

// plainLoss is the logistic loss of each output against the others, of plain nodes:
// Σ w·(log(1+exp(z)) − y·z).
func plainLoss(z *G.Node, targets *Targets) (*G.Node, error) {
	g, rows := z.Graph(), z.Shape()[0]
	y, err := TargetLabels(g, targets, rows)
	if err != nil {
		return nil, err
	}
	w, err := TargetWeights(g, targets, rows)
	if err != nil {
		return nil, err
	}
	soft, err := G.Softplus(z)
	if err != nil {
		return nil, err
	}
	product, err := G.HadamardProd(y, z)
	if err != nil {
		return nil, err
	}
	each, err := G.Sub(soft, product)
	if err != nil {
		return nil, err
	}
	if each, err = G.HadamardProd(w, each); err != nil {
		return nil, err
	}
	return Sum(each)
}

// refPlainLoss is plainLoss by its formula, from the labels of the batch and the weights of its
// nodes, nil for none.
func refPlainLoss(z dense, targets *Targets, weights []float32) float64 {
	known := func(i, j int) (y float64, ok bool) {
		if targets.labels.Tasks > 0 {
			y = float64(targets.multi[i*z.cols+j])
			return y, y == y
		}
		if int(targets.class[i]) == j {
			y = 1
		}
		return y, targets.class[i] >= 0
	}
	rows, entries := 0, 0
	of := make([]int, z.rows) // known entries of each row
	for i := range z.rows {
		for j := range z.cols {
			if _, ok := known(i, j); ok {
				of[i]++
				entries++
			}
		}
		if of[i] > 0 {
			rows++
		}
	}
	total := 0.0
	for i := range z.rows {
		for j := range z.cols {
			y, ok := known(i, j)
			if !ok {
				continue
			}
			w := 1 / float64(rows)
			switch tasks := targets.labels.Tasks > 0; {
			case weights != nil && tasks:
				w = float64(weights[i]) / float64(of[i])
			case weights != nil:
				w = float64(weights[i])
			case tasks:
				w = 1 / float64(entries)
			}
			total += w * (math.Log1p(math.Exp(z.at(i, j))) - y*z.at(i, j))
		}
	}
	return total
}

// For binary tasks plainLoss is Loss.
func TestOwnLossEqualsBCE(t *testing.T) {
	nan := float32(math.NaN())
	targets := NewTargets(&graph.Labels{Tasks: 2, Multi: []float32{1, 0, nan, 1, nan, nan}})
	if err := targets.Smooth(0.2); err != nil {
		t.Fatal(err)
	}
	for _, weights := range [][]float32{nil, {0.5, 2, 3}} {
		if err := targets.Set([]int32{0, 1, 2}, weights); err != nil {
			t.Fatal(err)
		}
		var got [2]float32
		var gradients [2][]float32
		for k, build := range []func(*G.Node) (*G.Node, error){
			func(z *G.Node) (*G.Node, error) { return plainLoss(z, targets) },
			func(z *G.Node) (*G.Node, error) { return Loss(z, targets) },
		} {
			e := expression{inputs: []input{{"z", 3, 2, []float32{1, -2, 3, 0.5, -1, 2}}}, graph: func(_ *G.ExprGraph, v []*G.Node) (*G.Node, error) { return build(v[0]) }}
			value, grads := e.run(t)
			got[k], gradients[k] = value, grads[0]
		}
		if math.Abs(float64(got[0]-got[1])) > 1e-6 || !near(gradients[0], gradients[1]) {
			t.Errorf("weights %v: %v and %v, gradients %v and %v", weights, got[0], got[1], gradients[0], gradients[1])
		}
	}
}

// Labels are smoothed and weighted as Targets say; nodes without a label are 0.
func TestTargetValues(t *testing.T) {
	targets := NewTargets(&graph.Labels{Classes: 2, Class: []int32{1, -1, 0}})
	if err := targets.Smooth(0.5); err != nil {
		t.Fatal(err)
	}
	if err := targets.WeighClasses([]float32{3, 1}); err != nil {
		t.Fatal(err)
	}
	g := G.NewGraph()
	labels, err := TargetLabels(g, targets, 7)
	if err != nil {
		t.Fatal(err)
	}
	weights, err := TargetWeights(g, targets, 7)
	if err != nil {
		t.Fatal(err)
	}
	if labels == weights || !Constant(labels) || !labels.Shape().Eq([]int{7, 2}) {
		t.Errorf("labels %v of shape %v", labels, labels.Shape())
	}
	if _, err := labels.Op().Do(); err == nil {
		t.Error("targets without nodes have values")
	}
	if err := targets.Set([]int32{2, 1, 0, 0}, nil); err != nil {
		t.Fatal(err)
	}
	if got := evaluate(t, labels); !slices.Equal(got, []float32{0.75, 0.25, 0, 0, 0.25, 0.75, 0.25, 0.75}) {
		t.Errorf("labels %v", got)
	}
	if got := evaluate(t, weights); !near(got, []float32{1, 1, 0, 0, 1. / 3, 1. / 3, 1. / 3, 1. / 3}) {
		t.Errorf("weights %v", got)
	}
	for _, bad := range []func() (*G.Node, error){
		func() (*G.Node, error) { return TargetLabels(nil, targets, 1) },
		func() (*G.Node, error) { return TargetLabels(g, nil, 1) },
		func() (*G.Node, error) { return TargetWeights(g, NewTargets(nil), 1) },
		func() (*G.Node, error) { return TargetWeights(g, targets, 0) },
	} {
		if _, err := bad(); err == nil {
			t.Error("no error")
		}
	}
}

// A loss of one's own takes batches of any size, on the CPU and on a GPU.
func TestOwnLossOfAnySize(t *testing.T) {
	onBackends(t, func(t *testing.T, d *Device) {
		x, y := networkData()
		rng := rand.New(rand.NewPCG(5, 6))
		slot, targets := NewSlot(4, 4), NewTargets(y)
		g := G.NewGraph()
		w := input{"w", networkFeatures, networkClasses, randomValues(rng, networkFeatures*networkClasses)}.node(g)
		h, err := OutputFeatures(g, x, slot)
		if err != nil {
			t.Fatal(err)
		}
		z, err := MatMul(h, w)
		if err != nil {
			t.Fatal(err)
		}
		loss, err := plainLoss(z, targets)
		if err != nil {
			t.Fatal(err)
		}
		grads, err := G.Grad(loss, w)
		if err != nil {
			t.Fatal(err)
		}
		p := newPlanned(t, d, loss, G.Nodes{w}, grads)
		resized.add(g)
		for range 5 {
			b := randomBlock(rng, 1+rng.IntN(30), 5, networkNodes)
			if err := slot.Set(b); err != nil {
				t.Fatal(err)
			}
			weights := randomValues(rng, len(b.Dst))
			if err := targets.Set(b.Dst, weights); err != nil {
				t.Fatal(err)
			}
			got, err := p.run()
			if err != nil {
				t.Fatal(err)
			}
			logits := refMul(refFeatures(x, b.Dst), denseOf(networkFeatures, networkClasses, w.Value().Data().([]float32)))
			if want := refPlainLoss(logits, targets, weights); math.Abs(float64(got[0])-want) > 1e-5*math.Max(1, math.Abs(want)) {
				t.Fatalf("%d nodes: loss %v, want %v", len(b.Dst), got[0], want)
			}
			if want := evaluate(t, grads...); !near(got[1:], want) {
				t.Fatalf("%d nodes: gradient %v, want %v", len(b.Dst), got[1:], want)
			}
		}
	})
}
