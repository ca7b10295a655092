package kernel

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"pgregory.net/rapid"
)

// thinned returns random features, most of them 0, dense and sparse.
func thinned(rng *rand.Rand, rows, cols int, binary bool) (dense, sparse *graph.Features) {
	dense = &graph.Features{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
	for k := range dense.Data {
		if rng.IntN(5) > 0 {
			continue
		}
		dense.Data[k] = 1
		if !binary {
			dense.Data[k] = float32(rng.NormFloat64())
		}
	}
	return dense, dense.ToSparse()
}

// denseRows returns the rows of m as a dense matrix; columns may be in any order.
func denseRows(m *graph.CSR) []float32 {
	dst := make([]float32, m.Rows*m.Cols)
	for i := range m.Rows {
		addRow(dst[i*m.Cols:(i+1)*m.Cols], 1, m, i)
	}
	return dst
}

func checkNear(t rapid.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for k, w := range want {
		if math.Abs(float64(got[k]-w)) > 1e-6*math.Max(1, math.Abs(float64(w)))*4 {
			t.Fatalf("%s: value %d is %v, want %v", what, k, got[k], w)
		}
	}
}

// WithoutZeros keeps the values that are not 0, also after larger matrices in the same memory.
func TestWithoutZeros(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var got graph.CSR
	for range 200 {
		rows, cols := rng.IntN(9), 1+rng.IntN(40)
		dense, sparse := thinned(rng, rows, cols, false)
		WithoutZeros(&got, dense.Data, rows, cols)
		want := sparse.Sparse
		if got.Rows != rows || got.Cols != cols || !slices.Equal(got.Ptr, want.Ptr) || !slices.Equal(got.Idx, want.Idx) || len(want.Val) > 0 && !slices.Equal(got.Val, want.Val) {
			t.Fatalf("%v of %v", got, dense.Data)
		}
	}
}

// Products with sparse features agree with the kernels of dense ones.
func TestSparseFeatureProducts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n, cols := rapid.IntRange(1, 200).Draw(t, "rows"), rapid.IntRange(1, 40).Draw(t, "cols")
		x, s := thinned(rng, n, cols, rapid.Bool().Draw(t, "binary"))
		m := s.Sparse
		ids := make([]int32, rapid.IntRange(0, 150).Draw(t, "ids"))
		for k := range ids {
			ids[k] = int32(rng.IntN(n))
		}
		gathered, want := make([]float32, len(ids)*cols), make([]float32, len(ids)*cols)
		for k := range gathered {
			gathered[k] = 7 // old contents
		}
		gatherSparse(gathered, m, ids)
		Gather(want, x.Data, ids, cols)
		if !slices.Equal(gathered, want) {
			t.Fatalf("gathered %v, want %v", gathered, want)
		}
		rows := graph.CSR{Idx: []int32{9, 9}, Val: []float32{9, 9}}
		SelectRows(&rows, m, ids)
		if got := denseRows(&rows); rows.Validate() != nil || !slices.Equal(got, want) {
			t.Fatalf("selected %v, want %v", got, want)
		}

		a := randomEntries(rng, rapid.IntRange(0, 150).Draw(t, "a"), len(ids), rapid.Bool().Draw(t, "values"))
		product := make([]float32, a.Rows*cols)
		SpMMGather(product, a, ids, x.Data, cols)
		dense := make([]float32, a.Rows*cols)
		SpMMSparse(dense, a, ids, m)
		checkNear(t, "SpMMSparse", dense, product)
		var scratch SparseProduct
		mixed := graph.CSR{Idx: []int32{9}}
		for range 2 { // the second time in old memory
			scratch.Multiply(&mixed, a, ids, m)
			if !slices.Equal(denseRows(&mixed), dense) { // the same terms in the same order
				t.Fatalf("Multiply gives %v, want %v", denseRows(&mixed), dense)
			}
		}
		const width = 5
		w, bias, scale := make([]float32, cols*width), make([]float32, width), make([]float32, a.Rows)
		for _, values := range [][]float32{w, bias, scale} {
			for k := range values {
				values[k] = float32(rng.NormFloat64())
			}
		}
		got := make([]float32, a.Rows*width)
		SpMMBias(got, &mixed, w, width, bias, scale)
		for i := range a.Rows {
			for j := range width {
				sum := float64(scale[i]) * float64(bias[j])
				size := math.Abs(sum) // of the terms: they may cancel, and their rounding errors stay
				for k := range cols {
					term := float64(dense[i*cols+k]) * float64(w[k*width+j])
					sum, size = sum+term, size+math.Abs(term)
				}
				if v := got[i*width+j]; math.Abs(float64(v)-sum) > float64(cols+2)*0x1p-24*size {
					t.Fatalf("SpMMBias: row %d, column %d is %v, want %v", i, j, v, sum)
				}
			}
		}
	})
}

func randomEntries(rng *rand.Rand, rows, cols int, values bool) *graph.CSR {
	a := &graph.CSR{Rows: rows, Cols: cols, Ptr: make([]int64, 1, rows+1)}
	for range rows {
		for j := range cols {
			if rng.IntN(8) > 0 {
				continue
			}
			a.Idx = append(a.Idx, int32(j))
			if values {
				a.Val = append(a.Val, float32(rng.NormFloat64()))
			}
		}
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
	}
	return a
}

// P·X of sparse features agrees with P·X of dense ones.
func TestPropagateSparseFeatures(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, cols = 300, 17
	b, err := graph.NewBuilder(n)
	if err != nil {
		t.Fatal(err)
	}
	for range 900 {
		if err := b.Add(int32(rng.IntN(n)), int32(rng.IntN(n))); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := b.Build()
	p := graph.NewLaplacian(a)
	x, s := thinned(rng, n, cols, false)
	propagated := func(x *graph.Features) (all []float32) {
		if err := PropagateFeatures(context.Background(), p, x, func(_ int, rows []float32) error {
			all = append(all, rows...)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := propagated(x)
	checkNear(t, "P·X", propagated(s), want)
	ids := []int32{299, 3, 3, 70}
	some, rows := make([]float32, len(ids)*cols), make([]float32, len(ids)*cols)
	Gather(some, want, ids, cols)
	PropagateRowsSparse(rows, p, ids, s.Sparse)
	checkNear(t, "rows of P·X", rows, some)
}
