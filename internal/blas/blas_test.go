package blas_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/internal/blas"
)

func ExampleBLAS() {
	b := blas.Gonum()
	x := []float32{1, 2, 3, 4, 5, 6} // 2×3
	w := []float32{1, 0, 0, 1, 1, 1} // 3×2
	y := make([]float32, 4)
	b.Sgemm(false, false, 2, 2, 3, 1, x, 3, w, 2, 0, y, 2)
	fmt.Println(y)
	// Output: [4 5 10 11]
}

// implementations returns the ones that this machine has.
func implementations(tb testing.TB) []blas.BLAS {
	list := []blas.BLAS{blas.Gonum()}
	list = append(list, blas.NativeLevels()...)
	if b, err := blas.Open("libopenblas.so.0"); err == nil {
		list = append(list, b)
	} else {
		tb.Logf("OpenBLAS not compared: %v", err)
	}
	return list
}

// each runs f for every implementation.
func each(t *testing.T, f func(t *testing.T, b blas.BLAS)) {
	for _, b := range implementations(t) {
		t.Run(b.Name(), func(t *testing.T) { f(t, b) })
	}
}

// random returns n values in [-1, 1), the same ones each time.
func random(n int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*rng.Float32() - 1
	}
	return x
}

// matrix is stored as Sgemm takes it.
type matrix struct {
	x     []float32
	ld    int
	trans bool
}

func (m matrix) at(i, j int) float64 {
	if m.trans {
		i, j = j, i
	}
	return float64(m.x[i*m.ld+j])
}

// newMatrix returns op(X) of rows×cols, X's rows padded with NaN.
func newMatrix(rows, cols int, trans bool, pad int, seed uint64) matrix {
	if trans {
		rows, cols = cols, rows
	}
	m := matrix{ld: max(cols+pad, 1), trans: trans}
	m.x = random(rows*m.ld, seed)
	for k := range m.x {
		if k%m.ld >= cols {
			m.x[k] = float32(math.NaN())
		}
	}
	if rows > 0 {
		m.x = m.x[:(rows-1)*m.ld+cols] // the last row ends where it ends
	}
	return m
}

// product is one call of Sgemm.
type product struct {
	m, n, k     int
	alpha, beta float32
	a, b, c     matrix
}

// naive returns C in float64, and the scale of its error: the sum of the
// magnitudes of the terms.
func (p *product) naive() (c, size []float64) {
	c, size = make([]float64, p.m*p.n), make([]float64, p.m*p.n)
	for i := range p.m {
		for j := range p.n {
			var sum, mag float64
			for l := range p.k {
				term := p.a.at(i, l) * p.b.at(l, j)
				sum += term
				mag += math.Abs(term)
			}
			size[i*p.n+j] = math.Abs(float64(p.alpha)) * mag
			c[i*p.n+j] = float64(p.alpha) * sum
			if p.beta != 0 {
				c[i*p.n+j] += float64(p.beta) * p.c.at(i, j)
			}
		}
	}
	return c, size
}

func (p *product) run(b blas.BLAS) {
	b.Sgemm(p.a.trans, p.b.trans, p.m, p.n, p.k, p.alpha, p.a.x, p.a.ld, p.b.x, p.b.ld, p.beta, p.c.x, p.c.ld)
}

func draw(t *rapid.T, size *rapid.Generator[int]) *product {
	p := &product{
		m: size.Draw(t, "m"), n: size.Draw(t, "n"), k: max(size.Draw(t, "k"), 1),
		alpha: rapid.SampledFrom([]float32{1, 1, 0.5, -2, 0}).Draw(t, "alpha"),
		beta:  rapid.SampledFrom([]float32{0, 1, -0.5, 0}).Draw(t, "beta"),
	}
	p.a = newMatrix(p.m, p.k, rapid.Bool().Draw(t, "transA"), rapid.IntRange(0, 3).Draw(t, "padA"), 1)
	p.b = newMatrix(p.k, p.n, rapid.Bool().Draw(t, "transB"), rapid.IntRange(0, 3).Draw(t, "padB"), 2)
	p.c = newMatrix(p.m, p.n, false, rapid.IntRange(0, 20).Draw(t, "padC"), 3)
	if p.beta == 0 {
		for k := range p.c.x {
			p.c.x[k] = float32(math.NaN()) // must not be read
		}
	}
	return p
}

// check compares C after p.run with want.
func (p *product) check(t interface{ Fatalf(string, ...any) }, want, size []float64) {
	for i := range p.m {
		for j := range p.c.ld {
			k := i*p.c.ld + j
			if k >= len(p.c.x) {
				break
			}
			got := float64(p.c.x[k])
			if j >= p.n {
				if got == got {
					t.Fatalf("wrote between the rows of C: row %d, column %d", i, j)
				}
				continue
			}
			if !(math.Abs(got-want[i*p.n+j]) <= 1e-6*(1+size[i*p.n+j])) {
				t.Fatalf("%d×%d×%d: row %d, column %d is %v, want %v", p.m, p.n, p.k, i, j, got, want[i*p.n+j])
			}
		}
	}
}

func TestSgemm(t *testing.T) {
	each(t, func(t *testing.T, b blas.BLAS) {
		for _, sizes := range []*rapid.Generator[int]{rapid.IntRange(0, 40), rapid.IntRange(1, 160)} {
			if raceDetector {
				sizes = rapid.IntRange(0, 40)
			}
			rapid.Check(t, func(t *rapid.T) {
				p := draw(t, sizes)
				want, size := p.naive()
				p.run(b)
				p.check(t, want, size)
			})
		}
	})
}

// Shapes that cross the blocking of every implementation: several steps of k,
// several tasks, more than one packed band.
func TestSgemmLarge(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("large products; TestSgemmIsTheSameOnAnyCores has some that run in parallel")
	}
	each(t, func(t *testing.T, b blas.BLAS) {
		for _, s := range []struct {
			m, n, k        int
			transA, transB bool
		}{
			{100, 70, 700, false, false}, {131, 257, 513, true, false}, {97, 129, 300, false, true},
			{5, 1100, 1300, false, false}, {5, 1100, 1300, true, true}, {130, 40, 9000, true, false},
		} {
			p := &product{m: s.m, n: s.n, k: s.k, alpha: 1, beta: 1}
			p.a, p.b, p.c = newMatrix(s.m, s.k, s.transA, 1, 1), newMatrix(s.k, s.n, s.transB, 1, 2), newMatrix(s.m, s.n, false, 1, 3)
			want, size := p.naive()
			p.run(b)
			p.check(t, want, size)
		}
	})
}

func TestSgemmIsTheSameOnAnyCores(t *testing.T) {
	old := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(old)
	each(t, func(t *testing.T, b blas.BLAS) {
		for _, transA := range []bool{false, true} {
			const m, n, k = 300, 290, 530
			x, y := newMatrix(m, k, transA, 0, 1), random(k*n, 2)
			var first []float32
			for _, procs := range []int{1, 2, 7} {
				runtime.GOMAXPROCS(procs)
				c := make([]float32, m*n)
				b.Sgemm(transA, false, m, n, k, 1, x.x, x.ld, y, n, 0, c, n)
				if first == nil {
					first = c
				}
				for i := range c {
					if math.Float32bits(c[i]) != math.Float32bits(first[i]) {
						t.Fatalf("element %d is %v on %d processors, %v on 1", i, c[i], procs, first[i])
					}
				}
			}
		}
	})
}

func TestSgemmRunsConcurrently(t *testing.T) {
	each(t, func(t *testing.T, b blas.BLAS) {
		const m, n, k = 150, 170, 190
		x, y := random(m*k, 1), random(k*n, 2)
		want := make([]float32, m*n)
		b.Sgemm(false, false, m, n, k, 1, x, k, y, n, 0, want, n)
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				for range 10 {
					c := make([]float32, m*n)
					b.Sgemm(false, false, m, n, k, 1, x, k, y, n, 0, c, n)
					for i := range c {
						if c[i] != want[i] {
							t.Errorf("element %d is %v, alone %v", i, c[i], want[i])
							return
						}
					}
				}
			})
		}
		wait.Wait()
	})
}

func TestSgemmRefusesShortSlices(t *testing.T) {
	each(t, func(t *testing.T, b blas.BLAS) {
		good := func() *product {
			p := &product{m: 3, n: 4, k: 5, alpha: 1}
			p.a, p.b, p.c = newMatrix(3, 5, false, 0, 1), newMatrix(5, 4, false, 0, 2), newMatrix(3, 4, false, 0, 3)
			return p
		}
		for name, spoil := range map[string]func(p *product){
			"A":          func(p *product) { p.a.x = p.a.x[1:] },
			"B":          func(p *product) { p.b.x = p.b.x[1:] },
			"C":          func(p *product) { p.c.x = p.c.x[1:] },
			"row of A":   func(p *product) { p.a.ld-- },
			"row of C":   func(p *product) { p.c.ld-- },
			"size":       func(p *product) { p.m = -1 },
			"no depth":   func(p *product) { p.k = 0 },
			"Aᵀ":         func(p *product) { p.a.trans = true },
			"more depth": func(p *product) { p.k++ },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic", name)
					}
				}()
				p := good()
				spoil(p)
				p.run(b)
			}()
		}
		good().run(b)
	})
}

func TestSgemmAllocatesLittle(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes pools drop at random")
	}
	for _, b := range implementations(t)[1:] {
		const m, n, k = 512, 256, 512
		x, y, c := random(m*k, 1), random(k*n, 2), make([]float32, m*n)
		if a := testing.AllocsPerRun(50, func() { b.Sgemm(false, false, m, n, k, 1, x, k, y, n, 0, c, n) }); a > 8 {
			t.Errorf("%s: %v allocations a product", b.Name(), a)
		}
	}
}

func TestFind(t *testing.T) {
	for _, name := range []string{"", "auto"} {
		if b, err := blas.Find(name); err != nil || b == nil {
			t.Errorf("Find(%q): %v", name, err)
		} else {
			t.Logf("%q is %s", name, b.Name())
		}
	}
	if b, err := blas.Find("gonum"); err != nil || b.Name() != "gonum" {
		t.Errorf("Find(gonum): %v", err)
	}
	if b, err := blas.Find("native"); (err == nil) != (blas.Native() != nil) || err == nil && !strings.HasPrefix(b.Name(), "native") {
		t.Errorf("Find(native): %v", err)
	}
	if b, err := blas.Find("library"); err != nil {
		t.Logf("no library: %v", err)
	} else if b.Name() == "gonum" {
		t.Error("Find(library) gives gonum")
	}
	dir := t.TempDir()
	text := filepath.Join(dir, "libtext.so")
	if err := os.WriteFile(text, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "libnone.so"), text, dir, "libc.so.6"} {
		b, err := blas.Find(path)
		if err == nil || b != nil {
			t.Errorf("Find(%q) gives %v", path, b)
			continue
		}
		if !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") || errors.Unwrap(err) != nil && err.Error() == "" {
			t.Errorf("Find(%q): %v", path, err)
		}
	}
}

func TestDefaultIsChosenOnce(t *testing.T) {
	first, err := blas.Default()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(blas.Variable, "/nowhere/libblas.so")
	second, err := blas.Default()
	if err != nil || first != second {
		t.Errorf("second choice %v, %v", second, err)
	}
	if second.Threads() < 1 || second.Name() == "" {
		t.Errorf("%q runs on %d threads", second.Name(), second.Threads())
	}
}
