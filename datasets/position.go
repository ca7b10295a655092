package datasets

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

const (
	positionWidth = 64 // features a node
	positionSteps = 40 // products with the propagation matrix
	positionBasis = 4  // products between two orthonormalisations; divides positionSteps, which is even
)

// positionFeatures returns features that say where in the graph a node is: an orthonormal basis
// of about the leading eigenvectors of
//
//	(D̃+τI)^-½ (A+I) (D̃+τI)^-½, τ a tenth of the mean of D̃,
//
// by a block power iteration from a fixed random matrix (Halko, Martinsson & Tropp 2011,
// arXiv:0909.4061). Without τ, small components would have the largest eigenvalues (Zhang & Rohe
// 2018, arXiv:1806.01468). Of a directed graph it is the basis of (D̃+τI)^-1 (A+I). Each column
// is scaled to mean square 1, but 0 if the matrix has a smaller rank. Then come the features of
// degreeFeatures.
//
// It does not rotate the basis to eigenvectors, which would depend on rounding where eigenvalues
// are close. Cost: 40·64 operations an edge and direction, and 80,000 a node. Memory: 520 bytes
// a node, and half of it stays.
func positionFeatures(ctx context.Context, a *graph.CSR, directed bool) (*graph.Features, error) {
	const width = positionWidth
	n := a.Rows
	if err := memory.Check("features=position (or take features=degree)", memory.Product(n, 2*width+2, 4)); err != nil {
		return nil, err
	}
	p := regularized(a, directed)
	h, next := make([]float32, n*width), make([]float32, n*(width+2))
	err := eachRows(ctx, n, func(chunk, lo, hi int) error {
		random := rand.New(rand.NewPCG(0x706f736974696f6e, uint64(chunk)))
		for k := lo * width; k < hi*width; k++ {
			h[k] = float32(random.NormFloat64())
		}
		return nil
	})
	for step := range positionSteps + 1 {
		if step > 0 {
			kernel.PropagateRows(next[:n*width], p, nil, h, width, nil)
			h, next = next[:n*width], h[:cap(h)]
		}
		if err == nil && step%positionBasis == 0 {
			err = orthogonalize(ctx, h, n)
		}
		if err != nil {
			return nil, err
		}
	}
	return withDegrees(a, h, width, next), nil
}

// regularized returns the matrix of positionFeatures.
func regularized(a *graph.CSR, directed bool) *graph.Laplacian {
	p := graph.NewRowLaplacian(a)
	p.Directed = directed
	tau := 0.0
	for _, r := range p.RowScale {
		tau += 0.1 / float64(r) / float64(a.Rows)
	}
	for i, r := range p.RowScale {
		p.RowScale[i] = float32(1 / (1/float64(r) + tau))
		if !directed {
			p.RowScale[i] = float32(math.Sqrt(float64(p.RowScale[i])))
			p.ColScale[i] = p.RowScale[i]
		}
	}
	return p
}

// eachRows calls f for the rows lo to hi of chunks of n rows. The chunks depend on n alone; there
// are at most 256, so that each may keep a matrix.
func eachRows(ctx context.Context, n int, f func(chunk, lo, hi int) error) error {
	rows := max(1<<10, (n+255)/256)
	return parallel.Chunks(ctx, (n+rows-1)/rows, func(chunk int) error { return f(chunk, chunk*rows, min((chunk+1)*rows, n)) })
}

// orthogonalize makes the columns of h orthogonal, with mean square 1, by the Cholesky
// factor of HᵀH. A column that depends on those before it becomes 0.
func orthogonalize(ctx context.Context, h []float32, n int) error {
	const width, most = positionWidth, 1 << 10 // rows at a time
	var parts [256][]float64
	var lapack gonum.Implementation
	widened := func(lo, hi int, f func(rows int, x []float64, h []float32)) {
		x := make([]float64, most*width)
		for ; lo < hi; lo += most {
			part := h[lo*width : min(lo+most, hi)*width]
			for k, v := range part {
				x[k] = float64(v)
			}
			f(len(part)/width, x, part)
		}
	}
	err := eachRows(ctx, n, func(chunk, lo, hi int) error {
		parts[chunk] = make([]float64, width*width)
		widened(lo, hi, func(rows int, x []float64, _ []float32) {
			lapack.Dsyrk(blas.Upper, blas.Trans, width, rows, 1/float64(n), x, width, 1, parts[chunk], width)
		})
		return nil
	})
	if err != nil {
		return err
	}
	r := parts[0]
	for _, part := range parts[1:] {
		for k, v := range part {
			r[k] += v
		}
	}
	cholesky(r, width)
	return eachRows(ctx, n, func(_, lo, hi int) error {
		widened(lo, hi, func(rows int, x []float64, h []float32) {
			lapack.Dtrsm(blas.Right, blas.Upper, blas.NoTrans, blas.NonUnit, rows, width, 1, r, width, x, width)
			for k := range h {
				h[k] = float32(x[k])
			}
		})
		return nil
	})
}

// cholesky replaces the upper triangle of the n×n matrix by its factor R. Where less than 1e-10
// of the diagonal is left, the row of R is 0 but for a diagonal so large that a division by it
// gives 0.
func cholesky(r []float64, n int) {
	for j := range n {
		whole := r[j*n+j]
		for i := range j {
			for k := j; k < n; k++ {
				r[j*n+k] -= r[i*n+j] * r[i*n+k]
			}
		}
		pivot := math.Sqrt(r[j*n+j])
		if !(r[j*n+j] > 1e-10*whole) {
			pivot = math.Inf(1)
		}
		for k := j; k < n; k++ {
			r[j*n+k] /= pivot
		}
		r[j*n+j] = min(pivot, 1e300)
	}
}
