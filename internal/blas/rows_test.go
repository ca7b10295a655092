package blas_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/internal/blas"
)

// rowImplementations are those that leave rows out.
func rowImplementations(t *testing.T) (list []blas.RowBLAS) {
	for _, b := range implementations(t) {
		if r, ok := b.(blas.RowBLAS); ok {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		t.Skip("no implementation leaves rows out on this machine")
	}
	return list
}

// someOf draws some of n rows in any order; nil, all of them, at times.
func someOf(t *rapid.T, n int) []int32 {
	if rapid.IntRange(0, 4).Draw(t, "all") == 0 {
		return nil
	}
	rows := []int32{}
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "rows"), 1))
	for _, i := range rng.Perm(n) {
		if rng.IntN(3) > 0 {
			rows = append(rows, int32(i))
		}
	}
	return rows
}

var nan = float32(math.NaN())

func TestSgemmRows(t *testing.T) {
	largest := 160
	if raceDetector {
		largest = 40
	}
	for _, b := range rowImplementations(t) {
		for _, size := range []*rapid.Generator[int]{rapid.IntRange(0, 40), rapid.IntRange(1, largest)} {
			rapid.Check(t, func(t *rapid.T) {
				p := &product{m: size.Draw(t, "m"), n: size.Draw(t, "n"), k: max(size.Draw(t, "k"), 1), alpha: 1, beta: 1}
				if rapid.IntRange(0, 5).Draw(t, "deep") == 0 {
					p.k = rapid.IntRange(257, 600).Draw(t, "k of several steps")
				}
				p.a = newMatrix(p.m, p.k, false, rapid.IntRange(0, 3).Draw(t, "padA"), 1)
				p.b = newMatrix(p.k, p.n, rapid.Bool().Draw(t, "transB"), rapid.IntRange(0, 3).Draw(t, "padB"), 2)
				p.c = newMatrix(p.m, p.n, false, rapid.IntRange(0, 20).Draw(t, "padC"), 3)
				rows := someOf(t, p.m)
				var bias, scale []float32
				if rapid.Bool().Draw(t, "bias") {
					bias = random(p.n, 4)
					if rapid.Bool().Draw(t, "scale") {
						scale = random(p.m, 5)
					}
				}
				// The reference adds to C, so C must hold scale⊗bias.
				old := slices.Clone(p.c.x)
				for i := range p.m {
					for j := range p.n {
						x := &p.c.x[i*p.c.ld+j]
						switch {
						case bias == nil:
							*x = 0
						case scale == nil:
							*x = bias[j]
						default:
							*x = scale[i] * bias[j]
						}
					}
				}
				want, size := p.naive()
				left := map[int]bool{}
				for i := range p.m {
					left[i] = rows != nil && !slices.Contains(rows, int32(i))
				}
				copy(p.c.x, old)
				whole := &product{a: p.a, c: p.c}
				whole.c.x = slices.Clone(old)
				b.SgemmRows(nil, p.b.trans, p.m, p.n, p.k, p.a.x, p.a.ld, p.b.x, p.b.ld, bias, scale, whole.c.x, p.c.ld)
				for i := range p.m { // rows left out are not read
					if left[i] {
						for l := range p.k {
							p.a.x[i*p.a.ld+l] = nan
						}
					}
				}
				b.SgemmRows(rows, p.b.trans, p.m, p.n, p.k, p.a.x, p.a.ld, p.b.x, p.b.ld, bias, scale, p.c.x, p.c.ld)
				for i := range p.m {
					for j := range p.n {
						k := i*p.c.ld + j
						got := p.c.x[k]
						switch {
						case left[i]:
							if got != old[k] {
								t.Fatalf("row %d, which is left out, was written", i)
							}
							want[i*p.n+j] = float64(got)
						case math.Float32bits(got) != math.Float32bits(whole.c.x[k]):
							t.Fatalf("row %d, column %d is %v, and %v among all rows", i, j, got, whole.c.x[k])
						}
					}
				}
				p.check(t, want, size)
			})
		}
	}
}

func TestSgemmOver(t *testing.T) {
	largest := 160
	if raceDetector {
		largest = 40
	}
	for _, b := range rowImplementations(t) {
		rapid.Check(t, func(t *rapid.T) {
			size := rapid.IntRange(0, largest)
			stored := rapid.IntRange(1, 3*largest).Draw(t, "stored")
			m, n := size.Draw(t, "m"), size.Draw(t, "n")
			a, x := newMatrix(m, stored, true, 1, 1), newMatrix(stored, n, false, 2, 2)
			over := someOf(t, stored)
			if len(over) == 0 {
				for i := range stored {
					over = append(over, int32(i))
				}
			}
			p := &product{m: m, n: n, k: len(over), alpha: 1, a: newMatrix(m, len(over), true, 0, 1), b: newMatrix(len(over), n, false, 0, 2), c: newMatrix(m, n, false, 3, 3)}
			for l, r := range over {
				for i := range m {
					p.a.x[l*p.a.ld+i] = float32(a.at(i, int(r)))
				}
				for j := range n {
					p.b.x[l*p.b.ld+j] = float32(x.at(int(r), j))
				}
			}
			want, magnitude := p.naive()
			for r := range stored {
				if slices.Contains(over, int32(r)) {
					continue
				}
				for i := range m {
					a.x[r*a.ld+i] = nan
				}
				for j := range n {
					x.x[r*x.ld+j] = nan
				}
			}
			b.SgemmOver(over, stored, m, n, a.x, a.ld, x.x, x.ld, p.c.x, p.c.ld)
			p.check(t, want, magnitude)
		})
	}
}

func TestRowsOutsideTheMatrixPanic(t *testing.T) {
	for _, b := range rowImplementations(t) {
		x, c := make([]float32, 6), make([]float32, 4)
		for name, call := range map[string]func(){
			"row":         func() { b.SgemmRows([]int32{0, 2}, false, 2, 2, 3, x, 3, x, 2, nil, nil, c, 2) },
			"below 0":     func() { b.SgemmRows([]int32{-1}, false, 2, 2, 3, x, 3, x, 2, nil, nil, c, 2) },
			"short bias":  func() { b.SgemmRows(nil, false, 2, 2, 3, x, 3, x, 2, x[:1], nil, c, 2) },
			"short scale": func() { b.SgemmRows(nil, false, 2, 2, 3, x, 3, x, 2, x, x[:1], c, 2) },
			"over":        func() { b.SgemmOver([]int32{3}, 3, 2, 2, x, 2, x, 2, c, 2) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic", name)
					}
				}()
				call()
			}()
		}
	}
}
