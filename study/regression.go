package study

import "math"

// Regression accumulates pairs (x, y) for the least-squares line y = β0 + β1·x.
// The zero value is empty. Sums are about the running means (Chan, Golub & LeVeque 1979),
// so that large means do not cancel.
type Regression struct {
	N     int     `json:"n"`
	MeanX float64 `json:"mean_x"`
	MeanY float64 `json:"mean_y"`
	SXX   float64 `json:"sxx"` // Σ(x−x̄)²
	SYY   float64 `json:"syy"` // Σ(y−ȳ)²
	SXY   float64 `json:"sxy"` // Σ(x−x̄)(y−ȳ)
}

// Add adds one pair.
func (r *Regression) Add(x, y float64) { r.Merge(Regression{N: 1, MeanX: x, MeanY: y}) }

// Merge adds all pairs of other.
func (r *Regression) Merge(other Regression) {
	if r.N == 0 {
		*r = other
		return
	}
	n, m := float64(r.N), float64(other.N)
	dx, dy := other.MeanX-r.MeanX, other.MeanY-r.MeanY
	share := n * m / (n + m)
	r.SXX += other.SXX + dx*dx*share
	r.SYY += other.SYY + dy*dy*share
	r.SXY += other.SXY + dx*dy*share
	r.MeanX += dx * m / (n + m)
	r.MeanY += dy * m / (n + m)
	r.N += other.N
}

// Swapped returns the regression of x on y.
func (r Regression) Swapped() Regression {
	r.MeanX, r.MeanY = r.MeanY, r.MeanX
	r.SXX, r.SYY = r.SYY, r.SXX
	return r
}

// Line is a fitted line y = Intercept + Slope·x.
type Line struct {
	N           int     `json:"n" show:"pairs"`
	Intercept   float64 `json:"beta0" show:"β0|%.4g"`
	InterceptSE float64 `json:"beta0_se" show:"± se|%.2g"` // standard error
	Slope       float64 `json:"beta1" show:"β1|%.4g"`
	SlopeSE     float64 `json:"beta1_se" show:"± se|%.2g"` // standard error
	R2          float64 `json:"r2" show:"R²|%.4f"`         // share of y's variance that the line explains
}

// Line returns the least-squares line:
//
//	β1 = Sxy/Sxx, β0 = ȳ − β1·x̄, σ² = (Syy − β1·Sxy)/(n−2),
//	se(β1)² = σ²/Sxx, se(β0)² = σ²·(1/n + x̄²/Sxx), R² = Sxy²/(Sxx·Syy).
//
// If all x are equal, or all y, the slope and R² are 0. Standard errors are 0 for
// fewer than three pairs.
func (r Regression) Line() Line {
	line := Line{N: r.N, Intercept: r.MeanY}
	if r.SXX <= 0 {
		return line
	}
	n := float64(r.N)
	line.Slope = r.SXY / r.SXX
	line.Intercept = r.MeanY - line.Slope*r.MeanX
	if r.SYY > 0 {
		line.R2 = r.SXY * r.SXY / (r.SXX * r.SYY)
	}
	if r.N > 2 {
		variance := max(r.SYY-line.Slope*r.SXY, 0) / (n - 2)
		line.SlopeSE = math.Sqrt(variance / r.SXX)
		line.InterceptSE = math.Sqrt(variance * (1/n + r.MeanX*r.MeanX/r.SXX))
	}
	return line
}
