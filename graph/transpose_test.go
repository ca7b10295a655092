package graph

import (
	"math/rand/v2"
	"testing"
)

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
