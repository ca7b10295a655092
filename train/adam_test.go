package train

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/reference"
)

// The steps are the reference's in float64. PyTorch adds weight decay to the gradient, after
// the clipping.
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
			p, g := make([]float64, n), make([]float64, n)
			for i := range params {
				params[i] = float32(rng.NormFloat64())
				p[i] = float64(params[i])
			}
			var state AdamState
			d := a.withDefaults()
			exact := reference.Adam{Rate: d.LR, Beta1: d.Beta1, Beta2: d.Beta2, Epsilon: d.Epsilon}
			for range 200 {
				norm, scale := 0.0, 1.0
				for i := range grads {
					grads[i] = float32(rng.NormFloat64() * 0.1)
					g[i] = float64(grads[i])
					norm += g[i] * g[i]
				}
				if norm = math.Sqrt(norm); a.Clip > 0 && norm > a.Clip {
					scale = a.Clip / norm
				}
				for i := range g {
					g[i] = scale*g[i] + a.WeightDecay*p[i]
				}
				if err := a.Step(params, grads, &state); err != nil {
					t.Fatal(err)
				}
				exact.Step([]reference.Matrix{{p}}, []reference.Matrix{{g}})
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

func TestAdamNeedsAState(t *testing.T) {
	if err := (Adam{}).Step([]float32{1}, []float32{1}, nil); err == nil {
		t.Error("Adam stepped without a state")
	}
}
