package graph

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestHalfFeatures(t *testing.T) {
	x := &Features{Rows: 2, Cols: 3, Data: []float32{0.5, -65504, 1e-8, 0.1, -3, 0}}
	h, err := x.ToHalf()
	if err != nil {
		t.Fatal(err)
	}
	want := []float32{0.5, -65504, 0, 0.0999755859375, -3, 0}
	if got := h.Float32s(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := h.Row(1); !slices.Equal(got, want[3:]) {
		t.Errorf("row 1 is %v, want %v", got, want[3:])
	}
	if h.Len() != 6 || h.Bytes() != 12 || x.Bytes() != 24 {
		t.Errorf("%d values of %d bytes, %d before", h.Len(), h.Bytes(), x.Bytes())
	}
	if again, err := h.ToHalf(); again != h || err != nil {
		t.Errorf("halves were converted again: %v", err)
	}
	if err := h.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	if got := x.Float32s(); &got[0] != &x.Data[0] {
		t.Error("single precision was copied")
	}
}

func TestHalfRange(t *testing.T) {
	for _, v := range []float32{65520, -1e30, float32(math.Inf(1)), float32(math.NaN())} {
		x := &Features{Rows: 3, Cols: 2, Data: []float32{1, 2, 3, 65519, v, 70000}}
		_, err := x.ToHalf()
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "feature 0 of node 2 is ") || !strings.Contains(err.Error(), "65504") {
			t.Errorf("%v: %v", v, err)
		}
	}
}

func TestInvalidFeatures(t *testing.T) {
	for _, c := range []struct {
		x    Features
		want string
	}{
		{Features{Rows: 2, Cols: 2, Data: make([]float32, 3)}, "2×2 hold 3 values"},
		{Features{Rows: 2, Cols: 2, Half: make([]uint16, 5)}, "2×2 hold 5 values"},
		{Features{Rows: 1, Cols: 1, Half: make([]uint16, 1), Data: make([]float32, 1)}, "at once"},
		{Features{Rows: 1, Cols: 0}, "1×0"},
		{Features{Rows: 2, Cols: 2, Data: []float32{0, 0, 0, float32(math.NaN())}}, "feature 1 of node 1 is NaN"},
		{Features{Rows: 2, Cols: 2, Half: []uint16{0, 0, 0xfc00, 0}}, "feature 0 of node 1 is -Inf"},
	} {
		if err := c.x.Validate(t.Context()); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want … %s …", err, c.want)
		}
	}
}
