package study

import "math"

// Regression accumulates pairs (x, y) for the least-squares line y = β0 + β1·x.
// The zero value is empty. Sums are kept about the running means (Welford 1962;
// merging: Chan, Golub & LeVeque 1979), so that large means do not cancel.
type Regression struct {
	n             int
	meanX, meanY  float64
	sxx, syy, sxy float64 // Σ(x−x̄)², Σ(y−ȳ)², Σ(x−x̄)(y−ȳ)
}

// Add adds one pair.
func (r *Regression) Add(x, y float64) {
	r.n++
	dx, dy := x-r.meanX, y-r.meanY
	r.meanX += dx / float64(r.n)
	r.meanY += dy / float64(r.n)
	r.sxx += dx * (x - r.meanX)
	r.syy += dy * (y - r.meanY)
	r.sxy += dx * (y - r.meanY)
}

// Merge adds all pairs of other.
func (r *Regression) Merge(other Regression) {
	if other.n == 0 {
		return
	}
	if r.n == 0 {
		*r = other
		return
	}
	n, m := float64(r.n), float64(other.n)
	dx, dy := other.meanX-r.meanX, other.meanY-r.meanY
	share := n * m / (n + m)
	r.sxx += other.sxx + dx*dx*share
	r.syy += other.syy + dy*dy*share
	r.sxy += other.sxy + dx*dy*share
	r.meanX += dx * m / (n + m)
	r.meanY += dy * m / (n + m)
	r.n += other.n
}

// Swapped returns the regression of x on y.
func (r Regression) Swapped() Regression {
	r.meanX, r.meanY = r.meanY, r.meanX
	r.sxx, r.syy = r.syy, r.sxx
	return r
}

// Line is a fitted line y = Intercept + Slope·x.
type Line struct {
	N           int     `json:"n"`
	Intercept   float64 `json:"beta0"`
	InterceptSE float64 `json:"beta0_se"` // standard error
	Slope       float64 `json:"beta1"`
	SlopeSE     float64 `json:"beta1_se"` // standard error
	R2          float64 `json:"r2"`       // share of y's variance that the line explains
}

// Line returns the least-squares line:
//
//	β1 = Sxy/Sxx, β0 = ȳ − β1·x̄, σ² = (Syy − β1·Sxy)/(n−2),
//	se(β1)² = σ²/Sxx, se(β0)² = σ²·(1/n + x̄²/Sxx), R² = Sxy²/(Sxx·Syy).
//
// Where all x are equal, or all y, there is nothing to explain: the slope and R²
// are then 0. Standard errors are 0 for fewer than three pairs.
func (r Regression) Line() Line {
	line := Line{N: r.n, Intercept: r.meanY}
	if r.sxx <= 0 {
		return line
	}
	n := float64(r.n)
	line.Slope = r.sxy / r.sxx
	line.Intercept = r.meanY - line.Slope*r.meanX
	if r.syy > 0 {
		line.R2 = r.sxy * r.sxy / (r.sxx * r.syy)
	}
	if r.n > 2 {
		variance := max(r.syy-line.Slope*r.sxy, 0) / (n - 2)
		line.SlopeSE = math.Sqrt(variance / r.sxx)
		line.InterceptSE = math.Sqrt(variance * (1/n + r.meanX*r.meanX/r.sxx))
	}
	return line
}
