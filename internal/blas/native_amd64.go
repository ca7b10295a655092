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
// the same order for any number of cores.
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

// tile is the assembly's argument: the operands of one tile of C.
type tile struct {
	c       *float32
	ldc     int
	numbers *int32 // of the rows of C, of in and of beta; one after another
	rows    int
	cols    int

	a              *float32
	rowStep, kStep int
	b              *float32
	k              int
	alpha          float32

	in       *float32 // added, times beta; nil: nothing
	ldin     int      // 0: one row for all
	beta     *float32
	betaStep int // 0: one beta for all
}

// multiply computes a tile of at most tileRows rows and width columns. (The
// switch, and not a function value, lets the compiler see that nothing escapes.)
func (n *native) multiply(width int, t *tile) {
	switch {
	case n.level == simd.AVX512 && width == n.wide:
		tile12x32AVX512(t.c, t.ldc, t.numbers, t.rows, t.cols, t.a, t.rowStep, t.kStep,
			t.b, t.k, t.alpha, t.in, t.ldin, t.beta, t.betaStep)
	case n.level == simd.AVX512:
		tile12x16AVX512(t.c, t.ldc, t.numbers, t.rows, t.cols, t.a, t.rowStep, t.kStep,
			t.b, t.k, t.alpha, t.in, t.ldin, t.beta, t.betaStep)
	case width == n.wide:
		tile6x16AVX2(t.c, t.ldc, t.numbers, t.rows, t.cols, t.a, t.rowStep, t.kStep,
			t.b, t.k, t.alpha, t.in, t.ldin, t.beta, t.betaStep)
	default:
		tile6x8AVX2(t.c, t.ldc, t.numbers, t.rows, t.cols, t.a, t.rowStep, t.kStep,
			t.b, t.k, t.alpha, t.in, t.ldin, t.beta, t.betaStep)
	}
}

// pack copies k rows of width elements, those numbered or one after another, ld
// apart, to rows of step elements, padded with zeros. It may overwrite up to
// packSlack elements after them.
func (n *native) pack(dst *float32, step int, src *float32, ld int, numbers *int32, k, width int) {
	if n.level == simd.AVX512 {
		packStripAVX512(dst, step, src, ld, numbers, k, width)
	} else {
		packStripAVX2(dst, step, src, ld, numbers, k, width)
	}
}

// transpose transposes count squares of lanes rows and columns that lie side by
// side in src to squares below each other in dst.
func (n *native) transpose(dst *float32, step int, src *float32, ld, count int) {
	if n.level == simd.AVX512 {
		transposeAVX512(dst, step, src, ld, count)
	} else {
		transposeAVX2(dst, step, src, ld, count)
	}
}

func (n *native) Name() string { return "native " + n.level.String() }
func (n *native) Threads() int { return runtime.GOMAXPROCS(0) }

const (
	depth      = 256     // rows of a panel of B that stay in cache: at most 32 KB
	packed     = 1 << 20 // floats of B packed at a time
	taskRows   = 48      // rows of C computed together, a multiple of every tileRows
	taskPanels = 4       // and wide panels across
	fewerRows  = 24      // in their place, where rows of A are packed,
	morePanels = 8       // since a task packs its own
	packSlack  = 16      // elements that pack may write too many
)

// Packed pieces of A, a small one for each task, and of B.
var buffersA, buffersB sync.Pool

// buffer returns a slice of n elements from a pool. Its contents are unspecified.
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
	n.multiplyBands(&band{
		m: m, cols: cols, k: k, transA: transA, transB: transB, alpha: alpha, beta: beta,
		a: a, lda: lda, b: b, ldb: ldb, c: c, ldc: ldc,
	})
}

func (n *native) SgemmRows(rows []int32, transB bool, m, cols, k int, a []float32, lda int, b []float32, ldb int, bias, scale, c []float32, ldc int) {
	checkRows(rows, transB, m, cols, k, a, lda, b, ldb, bias, scale, c, ldc)
	if rows != nil {
		m = len(rows)
	}
	if m == 0 || cols == 0 {
		return
	}
	n.multiplyBands(&band{
		m: m, cols: cols, k: k, transB: transB, alpha: 1, rows: rows, bias: bias, scale: scale,
		a: a, lda: lda, b: b, ldb: ldb, c: c, ldc: ldc,
	})
}

func (n *native) SgemmOver(over []int32, stored, m, cols int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	checkOver(over, stored, m, cols, a, lda, b, ldb, c, ldc)
	if m == 0 || cols == 0 {
		return
	}
	n.multiplyBands(&band{
		m: m, cols: cols, k: len(over), transA: true, alpha: 1, over: over,
		a: a, lda: lda, b: b, ldb: ldb, c: c, ldc: ldc,
	})
}

// multiplyBands cuts a product into bands of columns and of k. It packs the part of B
// in one band at a time. k is cut into equal steps of at most depth.
func (n *native) multiplyBands(whole *band) {
	cols, k := whole.cols, whole.k
	steps := (k + depth - 1) / depth
	step := (k + steps - 1) / steps
	bandK := min(k, max(packed/(min(cols, 1024)*step), 1)*step)
	bandCols := min(cols, max(packed/bandK/n.wide, 1)*n.wide)
	bp := buffer(&buffersB, bandK*((bandCols+n.narrow-1)/n.narrow*n.narrow)+packSlack)
	defer buffersB.Put(bp)
	for j0 := 0; j0 < cols; j0 += bandCols {
		for p0 := 0; p0 < k; p0 += bandK {
			g := new(band)
			*g = *whole
			g.native, g.packed, g.step = n, *bp, step
			g.cols, g.k = min(bandCols, cols-j0), min(bandK, k-p0)
			g.c = whole.c[j0:]
			switch {
			case p0 > 0:
				g.bias, g.beta = nil, 1
			case g.bias != nil:
				g.bias = g.bias[j0:]
			}
			if g.over != nil {
				g.over, g.b = g.over[p0:], g.b[j0:]
				g.multiply()
				continue
			}
			if g.transA {
				g.a = g.a[p0*g.lda:]
			} else {
				g.a = g.a[p0:]
			}
			if g.transB {
				g.b = g.b[j0*g.ldb+p0:]
			} else {
				g.b = g.b[p0*g.ldb+j0:]
			}
			g.multiply()
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

	rows  []int32   // the m rows of A and C that are meant; nil: the first m
	bias  []float32 // in place of beta·C, scale⊗bias; nil: none
	scale []float32 // of a row's bias, by its number; nil: 1
	over  []int32   // with transA, the k rows of A and B that are meant; nil: the first k
}

// numbers returns the list's address from element i on; nil if there is none.
func numbers(list []int32, i int) *int32 {
	if list == nil {
		return nil
	}
	return &list[i]
}

// Numbers of a tile's rows, where it is not told any.
var consecutive = [12]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}

var one = float32(1)

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
	rows, side := taskRows, taskPanels*g.wide
	if g.transA || g.rows != nil {
		rows, side = fewerRows, morePanels*g.wide
	}
	across := (g.cols + side - 1) / side
	down := (g.m + rows - 1) / rows
	grain := max(1, (1<<18)/(rows*side*g.k))
	parallel.For(across*down, grain, func(lo, hi int) {
		for t := lo; t < hi; t++ {
			i := t / across * rows
			j := t % across * side
			g.task(i, min(i+rows, g.m), j, min(j+side, g.cols))
		}
	})
}

// packPanel copies columns of B from j on to their panel.
func (g *band) packPanel(j int) {
	at, width := g.panel(j)
	have := min(width, g.cols-j)
	if !g.transB {
		g.pack(&at[0], width, &g.b[j], g.ldb, numbers(g.over, 0), g.k, have)
		return
	}
	// Squares of B are transposed in registers, the rest of it element by element.
	lanes := g.narrow
	squares := g.k / lanes
	c := 0
	if squares > 0 {
		for ; c+lanes <= have; c += lanes {
			g.transpose(&at[c], width, &g.b[(j+c)*g.ldb], g.ldb, squares)
		}
	}
	at = at[:g.k*width]
	for r := range have {
		from := 0
		if r < c {
			from = squares * lanes
		}
		row := g.b[(j+r)*g.ldb:][:g.k]
		for p := from; p < len(row); p++ {
			at[p*width+r] = row[p]
		}
	}
	for r := have; r < width; r++ {
		for p := range g.k {
			at[p*width+r] = 0
		}
	}
}

// task computes rows i0 to i1 and columns j0 to j1 of C.
func (g *band) task(i0, i1, j0, j1 int) {
	strips := (i1 - i0 + g.tileRows - 1) / g.tileRows
	ap := buffer(&buffersA, strips*g.tileRows*g.step+packSlack)
	defer buffersA.Put(ap)
	t := tile{ldc: g.ldc, alpha: g.alpha}
	for p0 := 0; p0 < g.k; p0 += g.step {
		t.k = min(g.step, g.k-p0)
		g.packStrips(*ap, i0, i1, p0, t.k)
		for j := j0; j < j1; j += g.wide {
			panel, width := g.panel(j)
			t.b, t.cols = &panel[p0*width], min(width, j1-j)
			for i := i0; i < i1; i += g.tileRows {
				t.rows = min(g.tileRows, i1-i)
				g.rowsOfA(&t, *ap, i0, i, p0)
				first := i // of C
				t.numbers = &consecutive[0]
				if g.rows != nil {
					first, t.numbers = 0, &g.rows[i]
				}
				t.c = &g.c[first*g.ldc+j]
				g.added(&t, p0, first, j)
				g.native.multiply(width, &t)
			}
		}
	}
}

// added sets the matrix that is added to the product in a tile at row first, column j.
func (g *band) added(t *tile, p0, first, j int) {
	t.in, t.ldin, t.beta, t.betaStep = t.c, g.ldc, &one, 0
	switch {
	case p0 > 0:
	case g.bias != nil:
		t.in, t.ldin = &g.bias[j], 0
		if g.scale != nil {
			t.beta, t.betaStep = &g.scale[first], 1
		}
	case g.beta == 0:
		t.in = nil
	default:
		t.beta = &g.beta
	}
}

// rowsOfA sets where a tile finds its rows of A: as they are stored, or as
// packStrips left them in strips.
func (g *band) rowsOfA(t *tile, strips []float32, i0, i, p0 int) {
	switch {
	case g.transA:
		t.a, t.rowStep, t.kStep = &strips[(i-i0)*t.k], 1, g.tileRows
	case g.rows != nil || t.rows < g.tileRows:
		t.a, t.rowStep, t.kStep = &strips[(i-i0)*t.k], t.k, 1
	default:
		t.a, t.rowStep, t.kStep = &g.a[i*g.lda+p0], g.lda, 1
	}
}

// packStrips packs rows of A into strips of tileRows: k by k if A is transposed, else row by
// row. It skips strips of tileRows rows that lie one after another. A strip with
// fewer rows keeps old values in the rest, which only reach elements outside C.
func (g *band) packStrips(dst []float32, i0, i1, p0, k int) {
	for i := i0; i < i1; i += g.tileRows {
		rows := min(g.tileRows, i1-i)
		strip := dst[(i-i0)*k:][:g.tileRows*k]
		switch {
		case g.transA && g.over != nil:
			g.pack(&strip[0], g.tileRows, &g.a[i], g.lda, &g.over[p0], k, rows)
		case g.transA:
			g.pack(&strip[0], g.tileRows, &g.a[p0*g.lda+i], g.lda, nil, k, rows)
		case g.rows != nil:
			for r, number := range g.rows[i : i+rows] {
				copy(strip[r*k:(r+1)*k], g.a[int(number)*g.lda+p0:])
			}
		case rows < g.tileRows:
			for r := range rows {
				copy(strip[r*k:(r+1)*k], g.a[(i+r)*g.lda+p0:])
			}
		}
	}
}
