package kernel

import (
	"math"

	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// Adam holds the settings of the Adam update (Kingma & Ba 2015,
// arXiv:1412.6980). All are used as they are: there are no defaults here.
type Adam struct {
	LR             float64 // step size α
	Beta1, Beta2   float64 // decay of the first and second moment
	Epsilon        float64 // added to the root of the second moment
	WeightDecay    float64 // λ: an L2 penalty added to the gradient, as PyTorch's Adam does
	DecoupledDecay bool    // λ shrinks the parameters instead (Loshchilov & Hutter 2019, arXiv:1711.05101)
	Clip           float64 // largest Euclidean norm of the gradient; 0: no limit
}

// adamStep holds the factors of one step in the precision of the data. The
// assembly reads its fields in this order.
type adamStep struct {
	beta1, beta2   float32
	gain1, gain2   float32 // 1−beta1, 1−beta2
	step           float32 // LR / (1−beta1^t)
	rootCorrection float32 // 1/√(1−beta2^t)
	epsilon, decay float32
}

// AdamStep updates params, and the moments m and v, by gradients grads. All
// four have the length of params. step counts from 1.
//
//	g ← g + λ·p;  m ← β₁m + (1−β₁)g;  v ← β₂v + (1−β₂)g²
//	p ← p − α/(1−β₁ᵗ) · m / (√v/√(1−β₂ᵗ) + ε)
//
// With DecoupledDecay, the first assignment is p ← (1−αλ)·p. Clip first scales grads in place. Cost:
// one pass over four arrays, and up to two more for Clip.
func AdamStep(params, grads, m, v []float32, step int, cfg Adam) {
	n := len(params)
	checkLens("AdamStep", n, grads, m, v)
	if cfg.Clip > 0 {
		clip(grads, cfg.Clip)
	}
	t := float64(step)
	s := adamStep{
		beta1: float32(cfg.Beta1), beta2: float32(cfg.Beta2),
		gain1: float32(1 - cfg.Beta1), gain2: float32(1 - cfg.Beta2),
		step:           float32(cfg.LR / (1 - math.Pow(cfg.Beta1, t))),
		rootCorrection: float32(1 / math.Sqrt(1-math.Pow(cfg.Beta2, t))),
		epsilon:        float32(cfg.Epsilon),
	}
	var shrink float32
	s.decay, shrink = cfg.Split()
	parallel.For(n, rangeWork, func(lo, hi int) {
		scale(params[lo:hi], shrink)
		s.update(params[lo:hi], grads[lo:hi], m[lo:hi], v[lo:hi])
	})
}

// Split returns λ for the gradient, and the factor of the parameters before the step. One
// of them is neutral.
func (cfg Adam) Split() (decay, shrink float32) {
	if cfg.DecoupledDecay {
		return 0, float32(1 - cfg.LR*cfg.WeightDecay)
	}
	return float32(cfg.WeightDecay), 1
}

// scale multiplies x by factor.
func scale(x []float32, factor float32) {
	if factor == 1 {
		return
	}
	for k := range x {
		x[k] *= factor
	}
}

// updateGo is the portable form of update.
func (s *adamStep) updateGo(p, g, m, v []float32) {
	g, m, v = g[:len(p)], m[:len(p)], v[:len(p)]
	for k, w := range p {
		d := g[k] + s.decay*w
		m[k] = s.beta1*m[k] + s.gain1*d
		v[k] = s.beta2*v[k] + s.gain2*d*d
		root := float32(math.Sqrt(float64(v[k]))) * s.rootCorrection
		p[k] = w - s.step*m[k]/(root+s.epsilon)
	}
}

// clip scales grads down to a Euclidean norm of at most most. The norm is summed in float64.
func clip(grads []float32, most float64) {
	var squares float64
	for _, v := range grads {
		squares += float64(v) * float64(v)
	}
	if length := math.Sqrt(squares); length > most {
		scale(grads, float32(most/length))
	}
}
