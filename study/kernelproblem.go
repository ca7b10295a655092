package study

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// kernelProblem is an exact regression and the matrices that all draws share.
type kernelProblem struct {
	ridge     float64    // nλ
	bandwidth float64    // h
	k, test   *mat.Dense // K, and k(test row, training row)
	square    *mat.Dense // K²
	norms     []float64  // of K's columns
	targets   *mat.Dense // Y
	products  *mat.Dense // KY
	expected  *mat.Dense // targets of the test rows
	exact     *mat.Dense // f on the test rows
}

// problem solves the exact regression.
func (s *KernelRidge) problem(ctx context.Context, train, test []int32) (*kernelProblem, error) {
	n := len(train)
	x, z := s.rows(train), s.rows(test)
	p := &kernelProblem{ridge: float64(n) * s.Ridge, bandwidth: s.Bandwidth, k: squaredDistances(x, x), test: squaredDistances(z, x)}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.bandwidth == 0 {
		var distances []float64
		for i := range n {
			for j := range i {
				distances = append(distances, math.Sqrt(p.k.At(i, j)))
			}
		}
		p.bandwidth = Median(distances)
	}
	if !(p.bandwidth > 0) || math.IsInf(p.bandwidth, 1) {
		return nil, fmt.Errorf("study: the median distance of two rows is %v: choose a bandwidth", p.bandwidth)
	}
	gaussian := func(_, _ int, d2 float64) float64 { return math.Exp(-d2 / (2 * p.bandwidth * p.bandwidth)) }
	p.k.Apply(gaussian, p.k)
	p.test.Apply(gaussian, p.test)
	p.square = new(mat.Dense)
	p.square.Mul(p.k, p.k)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i := range n {
		p.norms = append(p.norms, math.Sqrt(p.square.At(i, i)))
	}
	means := s.targetMeans(train)
	p.targets, p.expected = s.targets(train, means), s.targets(test, means)
	p.products = new(mat.Dense)
	p.products.Mul(p.k, p.targets)
	regular := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			regular.SetSym(i, j, p.k.At(i, j))
		}
		regular.SetSym(i, i, 1+p.ridge)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	a, err := solve(regular, p.targets)
	if err != nil {
		return nil, err
	}
	p.exact = new(mat.Dense)
	p.exact.Mul(p.test, a)
	return p, nil
}

// rows returns rows of the features.
func (s *KernelRidge) rows(nodes []int32) *mat.Dense {
	x := mat.NewDense(len(nodes), s.Features.Cols, nil)
	for k, i := range nodes {
		row := x.RawRowView(k)
		for c, v := range s.Features.Row(int(i)) {
			row[c] = float64(v)
		}
	}
	return x
}

// target returns a label as a number, or NaN if it is unknown.
func (s *KernelRidge) target(i int32, column int) float64 {
	y := s.Labels
	if y.Multi != nil {
		return float64(y.Multi[int(i)*y.Tasks+column])
	}
	switch y.Class[i] {
	case -1:
		return math.NaN()
	case int32(column):
		return 1
	}
	return 0
}

// targetMeans returns the mean of the known targets in each column.
func (s *KernelRidge) targetMeans(nodes []int32) []float64 {
	means := make([]float64, s.Labels.Outputs())
	for c := range means {
		known := 0
		for _, i := range nodes {
			if v := s.target(i, c); !math.IsNaN(v) {
				means[c] += v
				known++
			}
		}
		means[c] /= float64(max(known, 1))
	}
	return means
}

// targets returns the targets minus means; unknown ones are 0.
func (s *KernelRidge) targets(nodes []int32, means []float64) *mat.Dense {
	y := mat.NewDense(len(nodes), len(means), nil)
	for k, i := range nodes {
		for c, mean := range means {
			if v := s.target(i, c); !math.IsNaN(v) {
				y.Set(k, c, v-mean)
			}
		}
	}
	return y
}

// squaredDistances returns ‖x_i − y_j‖².
func squaredDistances(x, y *mat.Dense) *mat.Dense {
	squares := func(m *mat.Dense) []float64 {
		rows, _ := m.Dims()
		norms := make([]float64, rows)
		for i := range norms {
			for _, v := range m.RawRowView(i) {
				norms[i] += v * v
			}
		}
		return norms
	}
	d := new(mat.Dense)
	d.Mul(x, y.T())
	x2, y2 := squares(x), squares(y)
	d.Apply(func(i, j int, v float64) float64 {
		if x == y && i == j {
			return 0
		}
		return max(x2[i]+y2[j]-2*v, 0)
	}, d)
	return d
}

// solve returns A⁻¹B for a positive definite A. It adds to the diagonal if A is
// singular in double precision.
func solve(a *mat.SymDense, b *mat.Dense) (*mat.Dense, error) {
	n := a.SymmetricDim()
	var trace float64
	for i := range n {
		trace += a.At(i, i)
	}
	var factor mat.Cholesky
	for _, jitter := range []float64{0, 1e-14, 1e-12, 1e-10, 1e-8} {
		m := a
		if jitter > 0 {
			m = mat.NewSymDense(n, nil)
			m.CopySym(a)
			for i := range n {
				m.SetSym(i, i, a.At(i, i)+jitter*trace/float64(n))
			}
		}
		if !factor.Factorize(m) || factor.Cond() > 1e15 {
			continue
		}
		x := new(mat.Dense)
		if err := factor.SolveTo(x, b); err == nil {
			return x, nil
		}
	}
	return nil, fmt.Errorf("study: a system of %d equations is singular", n)
}

// measure compares the products and predictions of one draw with the exact ones.
func (p *kernelProblem) measure(columns []int32, beta []float64, out *kernelDraw) error {
	out.delta = make([]float64, len(p.norms))
	for i := range out.delta {
		out.delta[i] = -1
	}
	for k, j := range columns {
		out.delta[j] += beta[k]
	}
	out.product2 = p.productInner(out.delta, out.delta)
	weighted, err := p.weighted(columns, beta)
	if err != nil {
		return err
	}
	sketched, err := p.sketched(columns)
	if err != nil {
		return err
	}
	var difference mat.Dense
	difference.Sub(weighted, p.exact)
	out.weighted, out.weightedRisk = mat.Norm(&difference, 2), p.risk(weighted)
	difference.Sub(sketched, p.exact)
	out.sketched, out.sketchedRisk = mat.Norm(&difference, 2), p.risk(sketched)
	return nil
}

// productInner returns ⟨K diag(x) K, K diag(y) K⟩, which is Σ_ij x_i y_j (K²)²_ij.
func (p *kernelProblem) productInner(x, y []float64) float64 {
	var total float64
	for i, v := range x {
		var row float64
		for j, k := range p.square.RawRowView(i) {
			row += k * k * y[j]
		}
		total += v * row
	}
	return total
}

// weighted returns the weighted regression's f on the test rows.
func (p *kernelProblem) weighted(columns []int32, beta []float64) (*mat.Dense, error) {
	a := mat.NewSymDense(len(columns), nil)
	for k, i := range columns {
		for l := k; l < len(columns); l++ {
			a.SetSym(k, l, p.k.At(int(i), int(columns[l])))
		}
		a.SetSym(k, k, a.At(k, k)+p.ridge/beta[k])
	}
	return p.predict(columns, a, p.targets)
}

// sketched returns the sketched regression's f on the test rows.
func (p *kernelProblem) sketched(columns []int32) (*mat.Dense, error) {
	a := mat.NewSymDense(len(columns), nil)
	for k, i := range columns {
		for l := k; l < len(columns); l++ {
			j := int(columns[l])
			a.SetSym(k, l, p.square.At(int(i), j)+p.ridge*p.k.At(int(i), j))
		}
	}
	return p.predict(columns, a, p.products)
}

// predict returns k_J·a⁻¹·y_J on the test rows.
func (p *kernelProblem) predict(columns []int32, a *mat.SymDense, y *mat.Dense) (*mat.Dense, error) {
	_, targets := y.Dims()
	rows, _ := p.test.Dims()
	right, kernel := mat.NewDense(len(columns), targets, nil), mat.NewDense(rows, len(columns), nil)
	for k, j := range columns {
		right.SetRow(k, y.RawRowView(int(j)))
		for i := range rows {
			kernel.Set(i, k, p.test.At(i, int(j)))
		}
	}
	c, err := solve(a, right)
	if err != nil {
		return nil, err
	}
	f := new(mat.Dense)
	f.Mul(kernel, c)
	return f, nil
}

// risk returns the mean squared error of predictions on the test rows.
func (p *kernelProblem) risk(f *mat.Dense) float64 {
	var difference mat.Dense
	difference.Sub(f, p.expected)
	rows, _ := f.Dims()
	return squaredFrobenius(&difference) / float64(rows)
}
