package graph

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/splitmix"
)

// ValidateAdjacency returns an error if m is not the adjacency matrix of an undirected
// simple graph: an error of Validate, a matrix that is not square, columns of a row
// that do not increase strictly, a self-loop, a value that is not positive, or an
// entry (i, j) without an equal entry (j, i), unless the graph is directed. Cost: O(NNZ) time on all
// cores. Once ctx is done, the error is the context's.
//
// It compares the sum of a random hash of 64 bits over the entries with the sum over the entries
// of the transpose. So a matrix that is not symmetric passes with a probability of about 2⁻⁶⁴.
func (m *CSR) ValidateAdjacency(ctx context.Context, directed bool) error {
	if err := m.validateRows(); err != nil {
		return err
	}
	if m.Rows != m.Cols {
		return fmt.Errorf("graph: adjacency matrix is %d×%d, want square: %w", m.Rows, m.Cols, ErrInvalid)
	}
	seed := rand.Uint64()
	var difference atomic.Uint64 // of the two sums
	err := eachRow(ctx, m.Rows, func(i int) error {
		sum, values := uint64(0), m.RowValues(i)
		for k, j := range m.Row(i) {
			v := math.Float64bits(Weight(values, k))
			sum += splitmix.Output(seed^splitmix.Hash(uint64(i)<<32|uint64(j)), v)
			sum -= splitmix.Output(seed^splitmix.Hash(uint64(j)<<32|uint64(i)), v)
		}
		difference.Add(sum)
		return m.validateNeighbors(i)
	})
	if err != nil || directed || difference.Load() == 0 {
		return err
	}
	return eachRow(ctx, m.Rows, m.validateReverse)
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

// validateNeighbors checks the entries of row i and the order of its columns, and that it holds no
// self-loop and no value of 0 or less.
func (m *CSR) validateNeighbors(i int) error {
	if err := cmp.Or(m.validateEntries(m.Ptr[i], m.Ptr[i+1]), m.validateOrder(i)); err != nil {
		return err
	}
	for k, j := range m.Row(i) {
		if int(j) == i {
			return fmt.Errorf("graph: adjacency row %d holds a self-loop: %w", i, ErrInvalid)
		}
		if v := Weight(m.RowValues(i), k); v <= 0 {
			return fmt.Errorf("graph: adjacency value %v at (%d, %d), want positive and finite: %w", v, i, j, ErrInvalid)
		}
	}
	return nil
}

// validateOrder returns an error unless the columns of row i ascend strictly.
func (m *CSR) validateOrder(i int) error {
	row := m.Row(i)
	for k := 1; k < len(row); k++ {
		if row[k-1] >= row[k] {
			return fmt.Errorf("graph: row %d: column %d follows %d, want ascending columns: %w", i, row[k], row[k-1], ErrInvalid)
		}
	}
	return nil
}

// validateReverse returns an error if an entry of row i lacks its reverse, or differs from it.
func (m *CSR) validateReverse(i int) error {
	for k, j := range m.Row(i) {
		back, found := slices.BinarySearch(m.Row(int(j)), int32(i))
		if !found || Weight(m.RowValues(i), k) != Weight(m.RowValues(int(j)), back) {
			return fmt.Errorf("graph: adjacency holds (%d, %d) but no equal (%d, %d): %w", i, j, j, i, ErrInvalid)
		}
	}
	return nil
}
