package graph

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestSparseFeatures(t *testing.T) {
	dense := &Features{Rows: 3, Cols: 4, Data: []float32{0, 2, 0, -1, 0, 0, 0, 0, 3, 0, 0, 0}}
	x := dense.ToSparse()
	if err := x.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if x.Len() != 3 || !x.Sized() || x.Bytes() != 4*8+3*4+3*4 || x.ToSparse() != x || x.Data != nil {
		t.Errorf("%d values, %d bytes: %+v", x.Len(), x.Bytes(), x)
	}
	if !slices.Equal(x.Float32s(), dense.Data) || !slices.Equal(x.Row(0), dense.Row(0)) || !slices.Equal(x.Row(1), dense.Row(1)) {
		t.Errorf("rows %v", x.Float32s())
	}
	if _, err := x.ToHalf(); !errors.Is(err, ErrInvalid) {
		t.Errorf("half precision: %v", err)
	}
	ones := (&Features{Rows: 2, Cols: 2, Data: []float32{1, 0, 1, 1}}).ToSparse()
	if ones.Sparse.Val != nil || !slices.Equal(ones.Float32s(), []float32{1, 0, 1, 1}) {
		t.Errorf("binary features with values %v", ones.Sparse.Val)
	}
	half, err := (&Features{Rows: 1, Cols: 2, Data: []float32{0, 0.5}}).ToHalf()
	if err != nil || !slices.Equal(half.ToSparse().Float32s(), []float32{0, 0.5}) {
		t.Errorf("from half precision: %v, %v", half, err)
	}
}

func TestSparseFeaturesValidate(t *testing.T) {
	for want, change := range map[string]func(x *Features){
		"two forms at once":   func(x *Features) { x.Data = make([]float32, 6) },
		"features 2×4 hold 3": func(x *Features) { x.Cols = 4 },
		"want ascending":      func(x *Features) { x.Sparse.Idx[0], x.Sparse.Idx[1] = 2, 1 },
		"column 1 follows 1":  func(x *Features) { x.Sparse.Idx[0], x.Sparse.Idx[1] = 1, 1 },
		"outside [0, 3)":      func(x *Features) { x.Sparse.Idx[1] = 3 },
		"not finite":          func(x *Features) { x.Sparse.Val[2] = float32(math.NaN()) },
		"last row offset":     func(x *Features) { x.Sparse.Ptr[2] = 2 },
	} {
		x := (&Features{Rows: 2, Cols: 3, Data: []float32{2, 3, 0, 0, 0, 4}}).ToSparse()
		change(x)
		if err := x.Validate(t.Context()); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
