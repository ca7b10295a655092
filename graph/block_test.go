package graph

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"strings"
	"testing"
)

// small returns a block of two output and three input nodes in a graph of ten.
func small() *Block {
	b := &Block{
		Dst:    []int32{4, 7},
		Src:    []int32{7, 1, 9},
		Matrix: CSR{Rows: 2, Cols: 3, Ptr: []int64{0, 2, 3}, Idx: []int32{2, 0, 1}, Val: []float32{0.5, 0.25, 2}},
	}
	b.Finish()
	return b
}

func TestBlockFinish(t *testing.T) {
	b := small()
	if err := b.Validate(10); err != nil {
		t.Fatal(err)
	}
	if b.RowSums[0] != 0.75 || b.RowSums[1] != 2 {
		t.Errorf("row sums are %v", b.RowSums)
	}
	// Entries without values are ones.
	ones := &Block{Dst: b.Dst, Src: b.Src, Matrix: b.Matrix, Control: &CSR{Rows: 2, Cols: 10, Ptr: []int64{0, 0, 2}, Idx: []int32{3, 4}}}
	ones.Matrix.Val = nil
	ones.Finish()
	if ones.RowSums[0] != 2 || ones.RowSums[1] != 3 {
		t.Errorf("row sums without values are %v", ones.RowSums)
	}
	// The same memory again, for a smaller block.
	b.Dst, b.Src = b.Dst[:1], b.Src[:1]
	b.Matrix = CSR{Rows: 1, Cols: 1, Ptr: []int64{0, 1}, Idx: []int32{0}, Val: []float32{3}}
	b.Finish()
	if err := b.Validate(10); err != nil {
		t.Fatal(err)
	}
}

func TestBlockValidate(t *testing.T) {
	for _, c := range []struct {
		name, says string
		spoil      func(b *Block)
	}{
		{"output node missing", "1 output", func(b *Block) { b.Dst = b.Dst[:1] }},
		{"input node missing", "2 input", func(b *Block) { b.Src = b.Src[:2] }},
		{"node out of range", "output node 0 is 10", func(b *Block) { b.Dst[0] = 10 }},
		{"node repeated", "input node 2 is 7", func(b *Block) { b.Src[2] = 7 }},
		{"no values", "no values", func(b *Block) { b.Matrix.Val = nil }},
		{"matrix", "column 3", func(b *Block) { b.Matrix.Idx[0] = 3 }},
		{"transposed shape", "transpose differs", func(b *Block) { b.Transposed = *b.Transposed.Transpose() }},
		{"transposed value", "transpose differs", func(b *Block) { b.Transposed.Val[0]++ }},
		{"row sums missing", "row sums", func(b *Block) { b.RowSums = nil }},
		{"transposed values missing", "transpose differs", func(b *Block) { b.Transposed.Val = nil }},
		{"transposed columns", "transpose differs", func(b *Block) { b.Transposed.Idx[0] = 9 }},
		{"row sum NaN", "sums to", func(b *Block) { b.RowSums[1] = float32(math.NaN()) }},
		{"column scales missing", "2 column scales", func(b *Block) { b.ColScale = []float32{1, 1} }},
		{"column scale", "column scale 0", func(b *Block) { b.ColScale = []float32{1, 0, 1} }},
		{"row sum", "sums to", func(b *Block) { b.RowSums[1] = 1 }},
	} {
		b := small()
		c.spoil(b)
		if err := b.Validate(10); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error is %v, want one with %q", c.name, err, c.says)
		}
	}
}

// plain validates features without a context.
type plain struct{ *Features }

func (p plain) Validate() error { return p.Features.Validate(context.Background()) }

func TestFeaturesAndLabelsValidate(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		name, says string
		v          interface{ Validate() error }
	}{
		{"features", "", plain{&Features{Rows: 1, Cols: 2, Data: []float32{1, 2}}}},
		{"features without end", "hold 0 values", plain{&Features{Rows: 1 << (bits.UintSize / 2), Cols: 1 << (bits.UintSize / 2)}}},
		{"feature missing", "hold 1 values", plain{&Features{Rows: 1, Cols: 2, Data: []float32{1}}}},
		{"feature NaN", "feature 1 of node 1", plain{&Features{Rows: 2, Cols: 2, Data: []float32{1, 2, 3, nan}}}},
		{"no columns", "features 1×0", plain{&Features{Rows: 1}}},
		{"classes", "", &Labels{Classes: 2, Class: []int32{0, 1, -1}}},
		{"tasks", "", &Labels{Tasks: 2, Multi: []float32{0, 1, nan, 0}}},
		{"class too large", "node 1 is 2", &Labels{Classes: 2, Class: []int32{0, 2}}},
		{"class too small", "node 0 is -2", &Labels{Classes: 2, Class: []int32{-2}}},
		{"binary label of 2", "node 1, task 0 is 2", &Labels{Tasks: 1, Multi: []float32{0, 2}}},
		{"ragged tasks", "3 binary labels for 2 tasks", &Labels{Tasks: 2, Multi: []float32{0, 1, 0}}},
		{"no labels", "either", &Labels{}},
		{"both kinds", "either", &Labels{Classes: 1, Class: []int32{0}, Tasks: 1, Multi: []float32{0}}},
		{"classes of none", "0 classes", &Labels{Class: []int32{0}}},
	} {
		err := c.v.Validate()
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		} else if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error is %v, want one with %q", c.name, err, c.says)
		}
	}
	if y := (&Labels{Tasks: 2, Multi: make([]float32, 6)}); y.Nodes() != 3 || y.Outputs() != 2 {
		t.Errorf("3 nodes of 2 tasks are %d of %d", y.Nodes(), y.Outputs())
	}
	if y := (&Labels{Classes: 5, Class: make([]int32, 6)}); y.Nodes() != 6 || y.Outputs() != 5 {
		t.Errorf("6 nodes of 5 classes are %d of %d", y.Nodes(), y.Outputs())
	}
}
