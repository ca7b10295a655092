//go:build amd64 && !noasm

package blas

import (
	"runtime"
	"sync"

	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/simd"
)

//go:generate sh -c "cd ../kernel/_generate && go run . -part blas -out ../../blas/sgemm_amd64.s -stubs ../../blas/sgemm_amd64.go -pkg blas"

// Native returns this package's own implementation in assembly, or nil where
// the processor has no AVX2.
//
// It is the scheme of Goto & van de Geijn ("Anatomy of high-performance matrix
// multiplication", ACM TOMS 34, 2008): B is packed once into panels as wide as
// a register tile, then tiles of C are computed from a panel that stays in the
// first-level cache, while rows of A stream by. Each element of C is summed in
// the same order whatever the number of cores.
func Native() BLAS {
	if l := simd.Available(); l != simd.Portable {
		return newNative(l)
	}
	return nil
}

// native multiplies with tiles of tileRows rows and panels of wide or narrow
// columns.
type native struct {
	level        simd.Level
	tileRows     int
	wide, narrow int
}

func newNative(l simd.Level) *native {
	if l == simd.AVX512 {
		return &native{level: l, tileRows: 12, wide: 32, narrow: 16}
	}
	return &native{level: l, tileRows: 6, wide: 16, narrow: 8}
}

// tile sets a tile of C, of at most tileRows rows and width columns, to
// alpha·A·B + beta·C. (The switch, and not a function value, lets the compiler
// see that nothing escapes.)
func (n *native) tile(width int, c *float32, ldc, rows, cols int, a *float32, rowStep, kStep int, b *float32, k int, alpha, beta float32) {
	switch {
	case n.level == simd.AVX512 && width == n.wide:
		tile12x32AVX512(c, ldc, rows, cols, a, rowStep, kStep, b, k, alpha, beta)
	case n.level == simd.AVX512:
		tile12x16AVX512(c, ldc, rows, cols, a, rowStep, kStep, b, k, alpha, beta)
	case width == n.wide:
		tile6x16AVX2(c, ldc, rows, cols, a, rowStep, kStep, b, k, alpha, beta)
	default:
		tile6x8AVX2(c, ldc, rows, cols, a, rowStep, kStep, b, k, alpha, beta)
	}
}

// pack copies k rows of width elements, ld apart, to rows of step elements,
// padded with zeros. It may overwrite up to packSlack elements after them.
func (n *native) pack(dst *float32, step int, src *float32, ld, k, width int) {
	if n.level == simd.AVX512 {
		packStripAVX512(dst, step, src, ld, k, width)
	} else {
		packStripAVX2(dst, step, src, ld, k, width)
	}
}

func (n *native) Name() string { return "native " + n.level.String() }
func (n *native) Threads() int { return runtime.GOMAXPROCS(0) }

const (
	depth      = 256     // rows of a panel of B that stay in cache: at most 32 KB
	packed     = 1 << 20 // floats of B packed at a time
	taskRows   = 48      // rows of C computed together, a multiple of every tileRows
	taskPanels = 4       // and wide panels across
	packSlack  = 16      // elements that pack may write too many
)

// Packed pieces of A, a small one for each task, and of B.
var buffersA, buffersB sync.Pool

// buffer returns a slice of n elements from a pool; what it holds is
// unspecified.
func buffer(pool *sync.Pool, n int) *[]float32 {
	p, ok := pool.Get().(*[]float32)
	if !ok {
		p = new([]float32)
	}
	if cap(*p) < n {
		*p = make([]float32, n)
	}
	*p = (*p)[:n]
	return p
}

func (n *native) Sgemm(transA, transB bool, m, cols, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	checkSgemm(transA, transB, m, cols, k, a, lda, b, ldb, c, ldc)
	if m == 0 || cols == 0 {
		return
	}
	if k == 0 || alpha == 0 {
		scale(c, m, cols, ldc, beta)
		return
	}
	// Bands of columns and of k whose part of B is packed at a time. k is cut
	// into equal steps of at most depth.
	steps := (k + depth - 1) / depth
	step := (k + steps - 1) / steps
	bandK := min(k, max(packed/(min(cols, 1024)*step), 1)*step)
	bandCols := min(cols, max(packed/bandK/n.wide, 1)*n.wide)
	bp := buffer(&buffersB, bandK*((bandCols+n.narrow-1)/n.narrow*n.narrow))
	defer buffersB.Put(bp)
	for j0 := 0; j0 < cols; j0 += bandCols {
		for p0 := 0; p0 < k; p0 += bandK {
			g := &band{
				native: n, m: m, cols: min(bandCols, cols-j0), k: min(bandK, k-p0), step: step,
				transA: transA, transB: transB, lda: lda, ldb: ldb, ldc: ldc,
				alpha: alpha, beta: beta, c: c[j0:], packed: *bp,
			}
			if p0 > 0 {
				g.beta = 1
			}
			if g.a = a[p0:]; transA {
				g.a = a[p0*lda:]
			}
			if transB {
				g.b = b[j0*ldb+p0:]
			} else {
				g.b = b[p0*ldb+j0:]
			}
			g.multiply()
		}
	}
}

// scale sets C = beta·C.
func scale(c []float32, m, n, ldc int, beta float32) {
	for i := range m {
		row := c[i*ldc:][:n]
		if beta == 0 {
			clear(row)
			continue
		}
		for j := range row {
			row[j] *= beta
		}
	}
}

// band is a product whose part of B fits the packing buffer.
type band struct {
	*native
	m, cols, k     int
	step           int // of k, for which a panel stays in cache
	transA, transB bool
	alpha, beta    float32
	a, b, c        []float32
	lda, ldb, ldc  int
	packed         []float32
}

// panel returns where the panel that starts at column j lies in the packed B,
// and how wide it is there: wide, or narrow for a remainder that fits. Panels
// hold all of k.
func (g *band) panel(j int) (at []float32, width int) {
	width = g.wide
	if g.cols-j <= g.narrow {
		width = g.narrow
	}
	return g.packed[j*g.k:], width
}

func (g *band) multiply() {
	panels := (g.cols + g.wide - 1) / g.wide
	parallel.For(panels, max(1, (1<<15)/(g.k*g.wide)), func(lo, hi int) {
		for p := lo; p < hi; p++ {
			g.packPanel(p * g.wide)
		}
	})
	across := (panels + taskPanels - 1) / taskPanels
	down := (g.m + taskRows - 1) / taskRows
	grain := max(1, (1<<18)/(taskRows*taskPanels*g.wide*g.k))
	parallel.For(across*down, grain, func(lo, hi int) {
		for t := lo; t < hi; t++ {
			i, j := t/across*taskRows, t%across*taskPanels*g.wide
			g.task(i, min(i+taskRows, g.m), j, min(j+taskPanels*g.wide, g.cols))
		}
	})
}

// packPanel copies columns of B from j on to their panel.
func (g *band) packPanel(j int) {
	at, width := g.panel(j)
	have := min(width, g.cols-j)
	if !g.transB {
		g.pack(&at[0], width, &g.b[j], g.ldb, g.k, have)
		return
	}
	at = at[:g.k*width]
	for c := range have {
		row := g.b[(j+c)*g.ldb:][:g.k]
		for p, v := range row {
			at[p*width+c] = v
		}
	}
	for c := have; c < width; c++ {
		for p := range g.k {
			at[p*width+c] = 0
		}
	}
}

// task computes rows i0 to i1 and columns j0 to j1 of C.
func (g *band) task(i0, i1, j0, j1 int) {
	strips := (i1 - i0 + g.tileRows - 1) / g.tileRows
	ap := buffer(&buffersA, strips*g.tileRows*g.step+packSlack)
	defer buffersA.Put(ap)
	for p0 := 0; p0 < g.k; p0 += g.step {
		k := min(g.step, g.k-p0)
		beta := g.beta
		if p0 > 0 {
			beta = 1
		}
		g.packStrips(*ap, i0, i1, p0, k)
		for j := j0; j < j1; j += g.wide {
			panel, width := g.panel(j)
			panel = panel[p0*width:]
			for i := i0; i < i1; i += g.tileRows {
				rows, cols := min(g.tileRows, i1-i), min(width, j1-j)
				// Rows of A as they are stored, or packed.
				a, rowStep, kStep := (*ap)[(i-i0)*k:], 1, g.tileRows
				if !g.transA && rows == g.tileRows {
					a, rowStep, kStep = g.a[i*g.lda+p0:], g.lda, 1
				}
				g.tile(width, &g.c[i*g.ldc+j], g.ldc, rows, cols, &a[0], rowStep, kStep, &panel[0], k, g.alpha, beta)
			}
		}
	}
}

// packStrips packs rows of A into strips of tileRows, k by k: all of them if A
// is transposed, else only a last one that is not full.
func (g *band) packStrips(dst []float32, i0, i1, p0, k int) {
	for i := i0; i < i1; i += g.tileRows {
		rows := min(g.tileRows, i1-i)
		strip := dst[(i-i0)*k:][:g.tileRows*k]
		switch {
		case g.transA:
			g.pack(&strip[0], g.tileRows, &g.a[p0*g.lda+i], g.lda, k, rows)
		case rows < g.tileRows:
			clear(strip)
			for r := range rows {
				for p, v := range g.a[(i+r)*g.lda+p0:][:k] {
					strip[p*g.tileRows+r] = v
				}
			}
		}
	}
}
