package train

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// torchAdam is one step of the formula in PyTorch's documentation of
// torch.optim.Adam, in float64.
func torchAdam(a Adam, p, g, m, v []float64, t int) {
	norm := 0.0
	for _, x := range g {
		norm += x * x
	}
	scale := 1.0
	if norm = math.Sqrt(norm); a.Clip > 0 && norm > a.Clip {
		scale = a.Clip / norm
	}
	for i := range p {
		d := scale*g[i] + a.WeightDecay*p[i]
		m[i] = a.Beta1*m[i] + (1-a.Beta1)*d
		v[i] = a.Beta2*v[i] + (1-a.Beta2)*d*d
		mHat := m[i] / (1 - math.Pow(a.Beta1, float64(t)))
		vHat := v[i] / (1 - math.Pow(a.Beta2, float64(t)))
		p[i] -= a.LR * mHat / (math.Sqrt(vHat) + a.Epsilon)
	}
}

func TestAdamIsPyTorchs(t *testing.T) {
	for name, a := range map[string]Adam{
		"default":      {},
		"decay":        {WeightDecay: 0.1},
		"clip":         {Clip: 0.5, LR: 0.01},
		"other":        {LR: 0.1, Beta1: 0.5, Beta2: 0.9, Epsilon: 1e-3},
		"clip, decay ": {Clip: 2, WeightDecay: 0.01},
	} {
		t.Run(name, func(t *testing.T) {
			const n = 301
			rng := rand.New(rand.NewPCG(1, 2))
			params, grads := make([]float32, n), make([]float32, n)
			p, g, m, v := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range params {
				params[i] = float32(rng.NormFloat64())
				p[i] = float64(params[i])
			}
			var state AdamState
			for step := 1; step <= 200; step++ {
				for i := range grads {
					grads[i] = float32(rng.NormFloat64() * 0.1)
					g[i] = float64(grads[i])
				}
				if err := a.Step(params, grads, &state); err != nil {
					t.Fatal(err)
				}
				torchAdam(a.withDefaults(), p, g, m, v, step)
			}
			for i := range params {
				if math.Abs(float64(params[i])-p[i]) > 5e-6*(1+math.Abs(p[i])) {
					t.Fatalf("parameter %d is %v after 200 steps, want %v", i, params[i], p[i])
				}
			}
			if state.Steps != 200 {
				t.Errorf("%d steps counted, want 200", state.Steps)
			}
		})
	}
}

func TestAdamErrors(t *testing.T) {
	for want, a := range map[string]Adam{
		"Adam.LR is -1":       {LR: -1},
		"Adam.LR is NaN":      {LR: math.NaN()},
		"Beta2 are 1 and":     {Beta1: 1},
		"Beta2 are -1 and":    {Beta1: -1},
		"WeightDecay is -1":   {WeightDecay: -1},
		"WeightDecay is +Inf": {WeightDecay: math.Inf(1)},
		"Clip is NaN":         {Clip: math.NaN()},
		"Epsilon is -1":       {Epsilon: -1},
		"Epsilon is +Inf":     {Epsilon: math.Inf(1)},
		"Beta2 are 0.9 and 2": {Beta2: 2},
	} {
		if err := a.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", a, err, want)
		}
	}
	if err := (Adam{}).Step(make([]float32, 2), make([]float32, 3), new(AdamState)); err == nil {
		t.Error("3 gradients for 2 parameters passed")
	}
	if err := (Adam{}).Step(make([]float32, 2), make([]float32, 2), &AdamState{M: make([]float32, 1)}); err == nil {
		t.Error("1 moment for 2 parameters passed")
	}
}

func TestAdamAllocatesLittle(t *testing.T) {
	params, grads := make([]float32, 1000), make([]float32, 1000)
	var state AdamState
	a := Adam{Clip: 1}
	if err := a.Step(params, grads, &state); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(20, func() { a.Step(params, grads, &state) }); n > 2 {
		t.Errorf("%v allocations a step, want at most 2", n)
	}
}
