package train

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// Adam is the optimiser of Kingma & Ba (2015, arXiv:1412.6980) in PyTorch's
// form: weight decay is added to the gradient (coupled L2), unless DecoupledDecay makes it
// AdamW, and ε is added to the bias-corrected root. The zero value is PyTorch's default,
// without decay and clipping.
type Adam struct {
	LR             float64 // step size (learning rate); 0 means 0.001
	Beta1, Beta2   float64 // decay of the moments, between 0 and 1; 0 means 0.9 and 0.999
	Epsilon        float64 // 0 means 1e-8
	WeightDecay    float64 // λ, the L2 coefficient; 0 means none
	DecoupledDecay bool    // AdamW: shrink the parameters by 1−LR·λ before a step (Loshchilov & Hutter 2019, arXiv:1711.05101)
	Clip           float64 // largest Euclidean norm of the whole gradient: longer ones are scaled down; 0 means no limit
}

// AdamState is the state of Adam between steps: the number of steps done, and the
// first and second moment of each parameter. The zero value is the state before the
// first step. It belongs to one parameter slice.
type AdamState struct {
	Steps int
	M, V  []float32
}

// withDefaults returns a with defaults in the place of zeros.
func (a Adam) withDefaults() Adam {
	a.LR = cmp.Or(a.LR, 1e-3)
	a.Beta1 = cmp.Or(a.Beta1, 0.9)
	a.Beta2 = cmp.Or(a.Beta2, 0.999)
	a.Epsilon = cmp.Or(a.Epsilon, 1e-8)
	return a
}

// Validate returns an error for a setting that no run could use.
func (a Adam) Validate() error {
	a = a.withDefaults()
	switch {
	case !positive(a.LR):
		return fmt.Errorf("train: Adam.LR is %v, want a positive number", a.LR)
	case !(a.Beta1 > 0 && a.Beta1 < 1) || !(a.Beta2 > 0 && a.Beta2 < 1):
		return fmt.Errorf("train: Adam.Beta1 and Adam.Beta2 are %v and %v, want numbers between 0 and 1", a.Beta1, a.Beta2)
	case !positive(a.Epsilon):
		return fmt.Errorf("train: Adam.Epsilon is %v, want a positive number", a.Epsilon)
	case a.WeightDecay != 0 && !positive(a.WeightDecay):
		return fmt.Errorf("train: Adam.WeightDecay is %v, want a positive number, or 0 for none", a.WeightDecay)
	case a.DecoupledDecay && !(a.LR*a.WeightDecay < 1):
		return fmt.Errorf("train: Adam.LR·Adam.WeightDecay is %v, want less than 1: the decay is decoupled", a.LR*a.WeightDecay)
	case a.Clip != 0 && !positive(a.Clip):
		return fmt.Errorf("train: Adam.Clip is %v, want a positive number, or 0 for none", a.Clip)
	}
	return nil
}

// positive reports whether x is positive and finite.
func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// Step updates params by one step with grads, which has the same length, and updates
// the state. Clipping scales grads in place. The first step allocates the moments;
// later steps allocate next to nothing. Cost: one pass over four slices, and two more
// for clipping.
func (a Adam) Step(params, grads []float32, state *AdamState) error {
	if state == nil {
		return fmt.Errorf("train: Adam step without a state")
	}
	n := len(params)
	if state.M == nil && state.V == nil {
		state.M, state.V = make([]float32, n), make([]float32, n)
	}
	if len(grads) != n || len(state.M) != n || len(state.V) != n {
		return fmt.Errorf("train: Adam step of %d parameters with %d gradients and moments of %d and %d", n, len(grads), len(state.M), len(state.V))
	}
	a.step(params, grads, state, 0)
	return nil
}

// step is Step where the last values are averages: see plan.Model.Averages.
func (a Adam) step(params, grads []float32, state *AdamState, averages int) {
	state.Steps++
	plan.Update(kernel.Adam(a.withDefaults()), params, grads, state.M, state.V, averages, state.Steps)
}
