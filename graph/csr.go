package graph

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrInvalid is wrapped by the errors of this package: by the errors of Validate
// methods, of a Builder and of ToHalf.
var ErrInvalid = errors.New("invalid")

// CSR is a Rows×Cols sparse matrix in compressed sparse row form: the columns of row
// i are Idx[Ptr[i]:Ptr[i+1]], and their values are at the same places of Val.
//
// The zero value is not valid: the 0×0 matrix needs a Ptr of one entry, 0. A shared
// CSR must not be changed.
type CSR struct {
	Rows, Cols int
	Ptr        []int64   // Rows+1 offsets into Idx, monotone from 0
	Idx        []int32   // column of each stored entry
	Val        []float32 // value of each stored entry; nil means every value is 1

	// Place is not nil if several processes hold the rows together. Idx and Val are then of some
	// rows only: the entries of row i begin at Starts[Place[i]], and are not here if Place[i] < 0.
	// Ptr belongs to the whole matrix, so the length of every row is known.
	Place  []int32
	Starts []int64

	// Prefetch, if not nil, starts to read the entries of the given rows from disk, all at
	// once, and does not wait. Rows in ascending order take fewer requests. A matrix in a
	// file larger than memory has it. Calls may be concurrent.
	Prefetch func(rows []int32)
}

// NNZ returns the number of stored entries.
func (m *CSR) NNZ() int64 {
	if len(m.Ptr) == 0 {
		return 0
	}
	return m.Ptr[len(m.Ptr)-1]
}

// First returns the place in Idx and Val of the first entry of row i. It panics if the row is not
// here.
func (m *CSR) First(i int) int64 {
	if m.Place != nil {
		return m.Starts[m.Place[i]]
	}
	return m.Ptr[i]
}

// Row returns the columns stored in row i. The slice aliases m.
func (m *CSR) Row(i int) []int32 {
	at := m.First(i)
	return m.Idx[at : at+m.Ptr[i+1]-m.Ptr[i]]
}

// RowValues returns the values stored in row i, in the order of Row(i), or nil if
// every value is 1. The slice aliases m.
func (m *CSR) RowValues(i int) []float32 {
	if m.Val == nil {
		return nil
	}
	at := m.First(i)
	return m.Val[at : at+m.Ptr[i+1]-m.Ptr[i]]
}

// Weight returns value k of a row's RowValues, 1 if values is nil. It is cheap enough for inner
// loops.
func Weight(values []float32, k int) float64 {
	if values == nil {
		return 1
	}
	return float64(values[k])
}

// Degree returns the number of entries stored in row i.
func (m *CSR) Degree(i int) int { return int(m.Ptr[i+1] - m.Ptr[i]) }

// Bytes returns the size of the matrix's slices.
func (m *CSR) Bytes() int64 {
	return 8*int64(len(m.Ptr)+len(m.Starts)) + 4*int64(len(m.Idx)+len(m.Val)+len(m.Place))
}

// Validate returns an error about the first fault of m, with its row and entry:
// offsets that do not start at 0 or decrease, lengths that disagree, a column
// outside [0, Cols), a value that is not finite. Cost: O(Rows + NNZ).
func (m *CSR) Validate() error {
	if err := m.validateRows(); err != nil {
		return err
	}
	return m.validateEntries(0, m.NNZ())
}

// validateEntries is Validate of the columns and the values of the entries first to last−1.
func (m *CSR) validateEntries(first, last int64) error {
	columns := uint32(m.Cols)
	for k, j := range m.Idx[first:last] {
		if uint32(j) >= columns {
			return fmt.Errorf("graph: CSR %s: column %d outside [0, %d): %w", m.place(first, k), j, m.Cols, ErrInvalid)
		}
	}
	if m.Val == nil {
		return nil
	}
	for k, v := range m.Val[first:last] {
		if !finite(v) {
			return fmt.Errorf("graph: CSR %s: value %v is not finite: %w", m.place(first, k), v, ErrInvalid)
		}
	}
	return nil
}

// place names entry first+k.
func (m *CSR) place(first int64, k int) string {
	entry := first + int64(k)
	row, _ := slices.BinarySearch(m.Ptr, entry+1)
	return fmt.Sprintf("row %d, entry %d", row-1, entry)
}

// validateRows is Validate without the columns and the values.
func (m *CSR) validateRows() error {
	switch {
	case min(m.Rows, m.Cols) < 0 || max(m.Rows, m.Cols) > math.MaxInt32:
		return fmt.Errorf("graph: CSR %d×%d: want 0 to %d rows and columns: %w", m.Rows, m.Cols, math.MaxInt32, ErrInvalid)
	case len(m.Ptr) != m.Rows+1:
		return fmt.Errorf("graph: CSR of %d rows has %d row offsets, want %d: %w", m.Rows, len(m.Ptr), m.Rows+1, ErrInvalid)
	case m.Ptr[0] != 0:
		return fmt.Errorf("graph: CSR row offset 0 is %d, want 0: %w", m.Ptr[0], ErrInvalid)
	case m.Val != nil && len(m.Val) != len(m.Idx):
		return fmt.Errorf("graph: CSR has %d values for %d columns: %w", len(m.Val), len(m.Idx), ErrInvalid)
	}
	for i := range m.Rows {
		if m.Ptr[i+1] < m.Ptr[i] {
			return fmt.Errorf("graph: CSR row offset %d is %d, below the %d before it: %w", i+1, m.Ptr[i+1], m.Ptr[i], ErrInvalid)
		}
	}
	if m.Ptr[m.Rows] != int64(len(m.Idx)) {
		return fmt.Errorf("graph: CSR's last row offset is %d, but it stores %d entries: %w", m.Ptr[m.Rows], len(m.Idx), ErrInvalid)
	}
	return nil
}

func finite(v float32) bool {
	return v-v == 0 // NaN of an infinite v or NaN
}

// resize returns a slice of length n, in the memory of s if that is large enough.
// Its contents are unspecified.
func resize[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
