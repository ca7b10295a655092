package reference

import "math"

// Laplacian returns the renormalised Laplacian P = D̃^-½ (A+I) D̃^-½ of a symmetric adjacency
// matrix with an empty diagonal (section 2.1). D̃ has the row sums of A+I on its diagonal.
func Laplacian(a Matrix) Matrix {
	tilde := a.Each(func(i, j int) float64 { return a[i][j] })
	degree := make([]float64, len(a))
	for i, row := range tilde { // A + I
		row[i]++
		degree[i] = sum(row)
	}
	return tilde.Each(func(i, j int) float64 { return tilde[i][j] / math.Sqrt(degree[i]*degree[j]) })
}

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}
