package layers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// linearModel is a model of the equation's form with a linear control, or without. Its logits
// are the estimate of PH times the second weight. values are the logits, and the gradient of the
// first weight for a loss with the gradient c at the logits.
type linearModel struct {
	*GCN
	machine G.VM
	values  G.Nodes
}

func newLinearModel(t *testing.T, s *samplers.LayerWise, x *graph.Features, y *graph.Labels, px *ExactInput, linear bool, c []float32) *linearModel {
	t.Helper()
	o := GCNOptions{Form: FormEquation, BiasAfter: true, Hidden: 5, Dropout: NoDropout, ExactInput: px, ControlLinear: linear, Seed: 4}
	m, err := NewGCN(NewBatch(G.NewGraph(), s), x, y, o)
	if err != nil {
		t.Fatal(err)
	}
	outputs := y.Outputs()
	at := G.NewMatrix(m.Batch.Graph(), G.Float32, G.WithShape(len(c)/outputs, outputs), G.WithName("c"), G.WithValue(tensor.New(tensor.WithShape(len(c)/outputs, outputs), tensor.WithBacking(c))))
	product, err := G.HadamardProd(m.Logits, at)
	if err != nil {
		t.Fatal(err)
	}
	loss, err := ops.Sum(product)
	if err != nil {
		t.Fatal(err)
	}
	gradients, err := G.Grad(loss, m.Parameters[0])
	if err != nil {
		t.Fatal(err)
	}
	l := &linearModel{GCN: m, values: G.Nodes{m.Logits, gradients[0]}, machine: G.NewTapeMachine(m.Batch.Graph())}
	t.Cleanup(func() { l.machine.Close() })
	return l
}

func (m *linearModel) run(t *testing.T, batch *samplers.MiniBatch) []float64 {
	t.Helper()
	if err := m.Batch.Set(batch, true, 1); err != nil {
		t.Fatal(err)
	}
	m.machine.Reset()
	if err := m.machine.RunAll(); err != nil {
		t.Fatal(err)
	}
	var out []float64
	for _, n := range m.values {
		for _, v := range n.Value().Data().([]float32) {
			out = append(out, float64(v))
		}
	}
	return out
}

// TestLinearControlUnbiased draws 20,000 blocks by several draws and weights. The mean of the
// estimate is PH, and the mean of the gradient of the first weight is its value over all
// neighbours, with the linear control and without, for histories of other parameters. The control
// lowers the variance of the gradient.
func TestLinearControlUnbiased(t *testing.T) {
	if ops.CUDA {
		t.Skip("plain nodes in Gorgonia's own machine")
	}
	const n, draws, features = 60, 20000, 3
	rng := rand.New(rand.NewPCG(1, 2))
	p := graph.NewLaplacian(randomGraph(t, rng, n, 200, true))
	x, y := randomFeatures(rng, n, features), randomLabels(rng, n, 2)
	px := exactInput(t, p, x)
	nodes := nodesOf(rng, n, 12) // as many as a layer draws, which are the nominal rows
	c := make([]float32, len(nodes)*y.Outputs())
	for k := range c {
		c[k] = float32(rng.NormFloat64())
	}
	for _, parts := range []func() *samplers.LayerWise{
		func() *samplers.LayerWise { return &samplers.LayerWise{} },
		func() *samplers.LayerWise {
			return &samplers.LayerWise{Importance: samplers.LADIES{}, Draw: samplers.WithReplacement{}}
		},
		func() *samplers.LayerWise { return &samplers.LayerWise{Draw: samplers.Poisson{}} },
		func() *samplers.LayerWise {
			return &samplers.LayerWise{Importance: samplers.LADIES{}, Weight: samplers.Rank{}}
		},
	} {
		t.Run(fmt.Sprintf("%T %T %T", parts().Importance, parts().Draw, parts().Weight), func(t *testing.T) {
			t.Parallel()
			count := draws
			if testing.Short() {
				count = 50
			}
			s := parts()
			s.Control = samplers.ControlRefresh
			_, err := samplers.Configure(s, samplers.Config{Laplacian: p, Layers: 1, Sizes: []int{12}, Train: nodes, ExactInput: true})
			if err != nil {
				t.Fatal(err)
			}
			var models [2]*linearModel
			var sums, squares [2][]float64
			for k := range models {
				m := newLinearModel(t, s, x, y, px, k == 1, c)
				if err := m.Refresh(context.Background()); err != nil {
					t.Fatal(err)
				}
				disturbBy(m.GCN, rand.New(rand.NewPCG(7, 8)), 0.1)
				models[k], sums[k], squares[k] = m, make([]float64, len(c)+features*5), make([]float64, len(c)+features*5)
			}
			// Over all neighbours.
			whole := new(samplers.MiniBatch)
			full := &samplers.Full{Laplacian: p, Depth: 1}
			if err := cmp.Or(samplers.Prepare(full), full.Sample(context.Background(), nodes, rand.New(rand.NewPCG(1, 1)), whole)); err != nil {
				t.Fatal(err)
			}
			want := models[0].run(t, whole)
			batch := new(samplers.MiniBatch)
			for k := range count {
				if err := s.Sample(context.Background(), nodes, rand.New(samplers.NewSource(1, 0, uint64(k))), batch); err != nil {
					t.Fatal(err)
				}
				for j, m := range models {
					if j == 0 && k >= count/10 {
						continue // only its mean squared error is compared
					}
					for i, v := range m.run(t, batch) {
						sums[j][i] += v
						squares[j][i] += (v - want[i]) * (v - want[i])
					}
				}
			}
			if count < 1000 {
				return
			}
			var error2 [2][2]float64 // of the estimate and of the gradient
			for j, count := range []int{count / 10, count} {
				for i, w := range want {
					mean, of := sums[j][i]/float64(count), 0
					if i >= len(c) {
						of = 1
					}
					error2[j][of] += squares[j][i] / float64(count)
					if sem := math.Sqrt(squares[j][i]) / float64(count); math.Abs(mean-w) > 4.5*sem+1e-5 {
						t.Errorf("linear %v: value %d has the mean %v, standard error %v, over all neighbours %v", j == 1, i, mean, sem, w)
					}
				}
			}
			t.Logf("mean squared errors of the estimate and of the gradient: %.3g with the linear control, %.3g without", error2[1], error2[0])
			if !(error2[1][0] < 0.5*error2[0][0]) || !(error2[1][1] < 0.5*error2[0][1]) {
				t.Errorf("mean squared errors of the estimate and of the gradient: %v with the linear control, %v without", error2[1], error2[0])
			}
		})
	}
}

// disturbBy changes all parameters.
func disturbBy(m *GCN, rng *rand.Rand, size float32) {
	for _, p := range m.Parameters {
		values := p.Value().Data().([]float32)
		for k := range values {
			values[k] += size * float32(rng.NormFloat64())
		}
	}
}

// The slopes are the means over H̄, and P·(P·X) has the bits of a propagation of P·X.
func TestLinearControlConstants(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, features, hidden = 9000, 6, 7
	p := graph.NewLaplacian(randomGraph(t, rng, n, 20000, true))
	x, y := randomFeatures(rng, n, features), randomLabels(rng, n, 4)
	px := exactInput(t, p, x)
	for _, activation := range []ops.Activation{ops.ActivationELU, ops.ActivationReLU} {
		for _, half := range []bool{false, true} {
			s := controlled(p, true, 20)
			m, err := NewGCN(NewBatch(G.NewGraph(), s), x, y, GCNOptions{Hidden: hidden, Activation: activation, ExactInput: px, ControlLinear: true, ControlHalf: half})
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Refresh(context.Background()); err != nil {
				t.Fatal(err)
			}
			r := m.Batch.refresher
			w, b := parameterOf(m.Parameters[0]), parameterOf(m.Parameters[1])
			z := matrixOf(n, features, px.px.Data).Times(w)
			want := make([]float64, hidden)
			rows := r.rows[0]
			for _, v := range rows {
				for j := range want {
					switch at := z[int(v)][j] + float64(px.sums[v])*b[0][j]; {
					case at > 0:
						want[j]++
					case activation == ops.ActivationELU:
						want[j] += math.Exp(at)
					}
				}
			}
			for j, got := range r.linear.slopes {
				if slope := want[j] / float64(len(rows)); math.Abs(float64(got)-slope) > 0.03 { // of every third row
					t.Errorf("activation %v, half %v: column %d has the mean slope %v, over all rows %v", activation, half, j, got, slope)
				}
			}
		}
	}
}

func TestLinearControlModels(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n = 60
	p := graph.NewLaplacian(randomGraph(t, rng, n, 200, true))
	x, y := randomFeatures(rng, n, 6), randomLabels(rng, n, 4)
	px := exactInput(t, p, x)
	plain := controlled(p, true, 9)
	plain.Control = samplers.ControlNone
	rolling := controlled(p, true, 9)
	rolling.Control = samplers.ControlRolling
	kept := controlled(p, true, 9)
	kept.KeepSelf = true
	for what, c := range map[string]struct {
		s *samplers.LayerWise
		o GCNOptions
	}{
		"ControlRefresh":   {plain, GCNOptions{ExactInput: px}},
		"a sampler with":   {rolling, GCNOptions{ExactInput: px}},
		"two convolution":  {controlled(p, true, 9, 9), GCNOptions{ExactInput: px}},
		"exact input":      {controlled(p, false, 9, 9), GCNOptions{}},
		"LayerNorm":        {controlled(p, true, 9), GCNOptions{ExactInput: px, Norm: NormLayer}},
		"BatchNorm":        {controlled(p, true, 9), GCNOptions{ExactInput: px, Norm: NormBatch}},
		"layers: Residual": {controlled(p, true, 9), GCNOptions{ExactInput: px, Residual: true}},
		"HiddenResidual":   {kept, GCNOptions{ExactInput: px, HiddenResidual: ResidualLinear}},
		"GELU":             {controlled(p, true, 9), GCNOptions{ExactInput: px, Activation: ops.ActivationGELU}},
	} {
		c.o.ControlLinear, c.o.Hidden = true, 5
		if _, err := NewGCN(NewBatch(G.NewGraph(), c.s), x, y, c.o); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
		c.o.ControlLinear = false
		if _, err := NewGCN(NewBatch(G.NewGraph(), c.s), x, y, c.o); err != nil {
			t.Errorf("%s, without ControlLinear: %v", what, err)
		}
	}
	m, err := NewGCN(NewBatch(G.NewGraph(), controlled(p, true, 9)), x, y, GCNOptions{Hidden: 5, ExactInput: px, ControlLinear: true})
	if err != nil {
		t.Fatal(err)
	}
	r := m.Batch.refresher
	if got, want := m.Batch.StateBytes(), int64(4*(5*(len(r.rows[0])+n/2)+6*n/2+(6+2)*5)); got != want {
		t.Errorf("state of %d bytes, want %d", got, want)
	}
}
