package graph

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawCSR returns a matrix with sorted or shuffled rows.
func drawCSR(t *rapid.T, rows, cols int) *CSR {
	m := &CSR{Rows: rows, Cols: cols, Ptr: []int64{0}}
	weighted := rapid.Bool().Draw(t, "weighted")
	for range rows {
		for j := range cols {
			if rapid.IntRange(0, 3).Draw(t, "stored") > 0 {
				continue
			}
			m.Idx = append(m.Idx, int32(j))
			if weighted {
				m.Val = append(m.Val, rapid.Float32Range(-2, 2).Draw(t, "value"))
			}
		}
		m.Ptr = append(m.Ptr, int64(len(m.Idx)))
	}
	if weighted && m.Val == nil {
		m.Val = []float32{}
	}
	return m
}

func dense(m *CSR) [][]float64 {
	d := make([][]float64, m.Rows)
	for i := range d {
		d[i] = make([]float64, m.Cols)
		for k, j := range m.Row(i) {
			d[i][j] = 1
			if values := m.RowValues(i); values != nil {
				d[i][j] = float64(values[k])
			}
		}
	}
	return d
}

func TestTranspose(t *testing.T) {
	var reused CSR // keeps the memory of earlier cases
	rapid.Check(t, func(t *rapid.T) {
		m := drawCSR(t, rapid.IntRange(0, 12).Draw(t, "rows"), rapid.IntRange(0, 12).Draw(t, "cols"))
		if err := m.Validate(); err != nil {
			t.Fatal(err)
		}
		m.TransposeInto(&reused)
		if err := reused.Validate(); err != nil {
			t.Fatal(err)
		}
		a, b := dense(m), dense(&reused)
		if m.NNZ() != reused.NNZ() {
			t.Fatalf("%d entries, want %d", reused.NNZ(), m.NNZ())
		}
		for i := range m.Rows {
			for j := range m.Cols {
				if a[i][j] != b[j][i] {
					t.Fatalf("transpose differs at (%d, %d)", j, i)
				}
			}
		}
		for j := range reused.Rows {
			if !slices.IsSorted(reused.Row(j)) {
				t.Fatalf("row %d of the transpose is %v", j, reused.Row(j))
			}
		}
		if twice := m.Transpose().Transpose(); !slices.Equal(twice.Idx, m.Idx) || !slices.Equal(twice.Ptr, m.Ptr) {
			t.Fatal("transposing twice changes the matrix")
		}
	})
}

// TestValidate breaks the valid path graph 0–1–2 in every way.
func TestValidate(t *testing.T) {
	valid := func() *CSR {
		return &CSR{Rows: 3, Cols: 3, Ptr: []int64{0, 1, 3, 4}, Idx: []int32{1, 0, 2, 1}, Val: []float32{1, 1, 2, 2}}
	}
	if err := valid().ValidateAdjacency(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	nan := float32(math.NaN())
	for _, c := range []struct {
		name, says string
		spoil      func(m *CSR)
		adjacency  bool // valid for Validate, invalid for ValidateAdjacency
	}{
		{"negative size", "want 0 to", func(m *CSR) { m.Rows = -1 }, false},
		{"too many columns", "want 0 to", func(m *CSR) { m.Cols = math.MaxInt32; m.Cols++ }, false},
		{"offsets missing", "3 row offsets, want 4", func(m *CSR) { m.Ptr = m.Ptr[:3] }, false},
		{"no offsets", "0 row offsets", func(m *CSR) { m.Ptr = nil }, false},
		{"first offset", "row offset 0 is 1", func(m *CSR) { m.Ptr[0] = 1 }, false},
		{"offsets fall", "row offset 2 is 0, below the 1", func(m *CSR) { m.Ptr[2] = 0 }, false},
		{"last offset", "last row offset is 5", func(m *CSR) { m.Ptr[3] = 5 }, false},
		{"huge offset within", "below the", func(m *CSR) { m.Ptr[1] = 1 << 40 }, false},
		{"values missing", "3 values for 4 columns", func(m *CSR) { m.Val = m.Val[:3] }, false},
		{"column out of range", "row 1, entry 2: column 3", func(m *CSR) { m.Idx[2] = 3 }, false},
		{"negative column", "column -1", func(m *CSR) { m.Idx[0] = -1 }, false},
		{"value not finite", "row 0, entry 0: value NaN", func(m *CSR) { m.Val[0] = nan }, false},
		{"not square", "3×4", func(m *CSR) { m.Cols = 4 }, true},
		{"not increasing", "column 0 follows 2", func(m *CSR) { m.Idx[1], m.Idx[2] = 2, 0 }, true},
		{"repeated", "column 0 follows 0", func(m *CSR) { m.Idx[2] = 0 }, true},
		{"self-loop", "row 0 holds a self-loop", func(m *CSR) { m.Idx[0] = 0 }, true},
		{"one direction only", "holds (0, 2) but no equal (2, 0)", func(m *CSR) { m.Idx[0] = 2 }, true},
		{"values differ", "holds (0, 1) but no equal (1, 0)", func(m *CSR) { m.Val[0] = 3 }, true},
		{"value not positive", "want positive and finite", func(m *CSR) { m.Val[0], m.Val[1] = -1, -1 }, true},
	} {
		m := valid()
		c.spoil(m)
		err := m.Validate()
		if c.adjacency {
			if err != nil {
				t.Errorf("%s: Validate: %v", c.name, err)
			}
			err = m.ValidateAdjacency(t.Context(), false)
		}
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error is %v, want one with %q", c.name, err, c.says)
		}
	}
}

// TestValidateAdjacencyPattern draws matrices that are nearly symmetric: a matrix is an adjacency
// matrix exactly if it equals its transpose, with its values.
func TestValidateAdjacencyPattern(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(t, "n")
		m := &CSR{Rows: n, Cols: n, Ptr: []int64{0}}
		weighted := rapid.Bool().Draw(t, "weighted")
		var dense [8][8]float32
		for i := range n {
			for j := range n {
				switch mirrored := dense[j][i]; {
				case i == j:
				case j < i && rapid.IntRange(0, 20).Draw(t, "flip") > 0:
					dense[i][j] = mirrored
				case rapid.Bool().Draw(t, "entry"):
					dense[i][j] = rapid.SampledFrom([]float32{1, 2, 0.5}).Draw(t, "value")
				}
				if dense[i][j] != 0 {
					m.Idx = append(m.Idx, int32(j))
					if weighted {
						m.Val = append(m.Val, dense[i][j])
					}
				}
			}
			m.Ptr = append(m.Ptr, int64(len(m.Idx)))
		}
		want := true
		for i := range n {
			for j := range n {
				want = want && (dense[i][j] == dense[j][i] || m.Val == nil && dense[i][j]*dense[j][i] != 0)
			}
		}
		if err := m.ValidateAdjacency(t.Context(), false); (err == nil) != want {
			t.Fatalf("symmetric: %v; want %v", err, want)
		}
	})
}

// A column out of range panics, also the first one.
func TestTransposeOutOfRange(t *testing.T) {
	for _, column := range []int32{-1, 2, 3} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("column %d of a matrix of 2 columns: no panic", column)
				}
			}()
			(&CSR{Rows: 1, Cols: 2, Ptr: []int64{0, 1}, Idx: []int32{column}}).Transpose()
		}()
	}
}
