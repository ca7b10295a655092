package graph

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTransposeLarge: a matrix whose entries are grouped, in several parts and with a row that is
// a part alone, has the transpose that a list of its entries has.
func TestTransposeLarge(t *testing.T) {
	const rows, columns = 40, 3 << 19
	for _, weighted := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(3, 4))
		m := &CSR{Rows: rows, Cols: columns, Ptr: make([]int64, 1, rows+1)}
		for i := range rows {
			step := 1 + rng.IntN(40)
			if i == 20 {
				step = 1
			}
			for j := rng.IntN(40); j < columns && i%7 != 3; j += step {
				m.Idx = append(m.Idx, int32(j))
				if weighted {
					m.Val = append(m.Val, rng.Float32())
				}
			}
			m.Ptr = append(m.Ptr, int64(len(m.Idx)))
		}
		got := m.Transpose()
		if got.Rows != columns || got.Cols != rows || got.NNZ() != m.NNZ() || (got.Val != nil) != weighted {
			t.Fatalf("%d×%d with %d entries, values: %v", got.Rows, got.Cols, got.NNZ(), got.Val != nil)
		}
		next := slices.Clone(got.Ptr[:columns])
		for i := range rows {
			for k := m.Ptr[i]; k < m.Ptr[i+1]; k++ {
				at := next[m.Idx[k]]
				next[m.Idx[k]]++
				if got.Idx[at] != int32(i) || weighted && got.Val[at] != m.Val[k] {
					t.Fatalf("entry (%d, %d) is missing", i, m.Idx[k])
				}
			}
		}
		if !slices.Equal(next, got.Ptr[1:]) {
			t.Fatal("the rows of the transpose do not end where the next ones begin")
		}
	}
}

func BenchmarkTranspose(b *testing.B) {
	const rows, entries = 170_000, 14
	rng := rand.New(rand.NewPCG(1, 2))
	m := &CSR{Rows: rows, Cols: rows, Ptr: make([]int64, rows+1), Idx: make([]int32, rows*entries), Val: make([]float32, rows*entries)}
	for i := range m.Ptr {
		m.Ptr[i] = int64(i * entries)
	}
	for k := range m.Idx {
		m.Idx[k] = rng.Int32N(rows)
	}
	var t CSR
	for b.Loop() {
		m.TransposeInto(&t)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(m.Idx)), "ns/entry")
}
