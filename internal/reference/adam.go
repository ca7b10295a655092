package reference

import "math"

// Adam is the optimiser of Kingma & Ba (2015, arXiv:1412.6980), Algorithm 1 there. The paper
// trains with Rate 0.001 (A.1), and PyTorch's Beta1 0.9, Beta2 0.999 and Epsilon 1e-8.
type Adam struct {
	Rate, Beta1, Beta2, Epsilon float64

	t    float64  // steps done
	m, v []Matrix // first and second moments, one of each for a parameter
}

// Step changes the parameters by one step. The gradients have the parameters' order and sizes.
func (a *Adam) Step(parameters, gradients []Matrix) {
	if a.t == 0 {
		for _, p := range parameters {
			zeros := func(int, int) float64 { return 0 }
			a.m, a.v = append(a.m, p.Each(zeros)), append(a.v, p.Each(zeros))
		}
	}
	a.t++
	for k, gradient := range gradients {
		for i, row := range gradient {
			for j, g := range row {
				m, v := a.m[k][i], a.v[k][i]
				m[j] = a.Beta1*m[j] + (1-a.Beta1)*g
				v[j] = a.Beta2*v[j] + (1-a.Beta2)*g*g
				mHat := m[j] / (1 - math.Pow(a.Beta1, a.t))
				vHat := v[j] / (1 - math.Pow(a.Beta2, a.t))
				parameters[k][i][j] -= a.Rate * mHat / (math.Sqrt(vHat) + a.Epsilon)
			}
		}
	}
}
