package graph

import (
	"context"
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// ValidateAdjacency returns an error if m is not the adjacency matrix of an undirected
// simple graph: an error of Validate, a matrix that is not square, columns of a row
// that do not increase strictly, a self-loop, a value that is not positive, or an
// entry (i, j) without an equal entry (j, i). Cost: O(NNZ) time on all cores, and with
// values O(NNZ log(max degree)); 8 bytes per row. Once ctx is done, the error is the
// context's.
func (m *CSR) ValidateAdjacency(ctx context.Context) error {
	if err := m.ValidateDirected(ctx); err != nil {
		return err
	}
	symmetric, err := parallel.Symmetric(ctx, m.Ptr, m.Idx)
	if err != nil || symmetric && m.Val == nil {
		return err
	}
	return eachRow(ctx, m.Rows, m.validateReverse)
}

// ValidateDirected is ValidateAdjacency for a directed graph: entries need no reverse.
func (m *CSR) ValidateDirected(ctx context.Context) error {
	if err := m.validateRows(); err != nil {
		return err
	}
	if m.Rows != m.Cols {
		return fmt.Errorf("graph: adjacency matrix is %d×%d, want square: %w", m.Rows, m.Cols, ErrInvalid)
	}
	return eachRow(ctx, m.Rows, m.validateRow)
}

// rowRange is the number of rows that a processor takes at a time.
const rowRange = 4096

// eachRow calls f for 0 … rows−1 on all cores, and returns an error of one of the calls, or the
// context's.
func eachRow(ctx context.Context, rows int, f func(i int) error) error {
	return parallel.Chunks(ctx, (rows+rowRange-1)/rowRange, func(chunk int) error {
		for i := chunk * rowRange; i < min((chunk+1)*rowRange, rows); i++ {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	})
}

// validateRow checks the columns and values of row i.
func (m *CSR) validateRow(i int) error {
	before := int32(-1)
	for _, j := range m.Row(i) {
		switch {
		case j < 0 || int(j) >= m.Cols:
			return fmt.Errorf("graph: adjacency row %d: column %d outside [0, %d): %w", i, j, m.Cols, ErrInvalid)
		case j <= before:
			return fmt.Errorf("graph: adjacency row %d: column %d follows %d, want increasing: %w", i, j, before, ErrInvalid)
		case int(j) == i:
			return fmt.Errorf("graph: adjacency row %d holds a self-loop: %w", i, ErrInvalid)
		}
		before = j
	}
	for k, v := range m.RowValues(i) {
		if !(v > 0) || !finite(v) {
			return fmt.Errorf("graph: adjacency value %v at (%d, %d), want positive and finite: %w", v, i, m.Row(i)[k], ErrInvalid)
		}
	}
	return nil
}

// validateReverse returns an error if an entry of row i lacks its reverse, or differs from it.
func (m *CSR) validateReverse(i int) error {
	for k, j := range m.Row(i) {
		back, found := slices.BinarySearch(m.Row(int(j)), int32(i))
		if !found {
			return fmt.Errorf("graph: adjacency holds (%d, %d) but not (%d, %d): %w", i, j, j, i, ErrInvalid)
		}
		if v, w := Weight(m.RowValues(i), k), Weight(m.RowValues(int(j)), back); v != w {
			return fmt.Errorf("graph: adjacency values %v at (%d, %d) and %v at (%d, %d), want equal: %w", v, i, j, w, j, i, ErrInvalid)
		}
	}
	return nil
}
