package study

import (
	"testing"
)

// Products read sparse features as the same features held dense.
func TestSparseFeatures(t *testing.T) {
	x := randomRows(80, 4, 0, 6)
	for k := range x.Data {
		if k%3 > 0 {
			x.Data[k] = 0
		}
	}
	weight := randomRows(x.Cols, 5, 0, 8).Data
	want, err := Product(x, weight)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Product(x.ToSparse(), weight)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range got.Data {
		near(t, "product", float64(v), float64(want.Data[k]), 1e-6)
	}
	wrong := x.ToSparse()
	wrong.Rows++
	if _, err := Product(wrong, weight); err == nil {
		t.Error("a product of features without their last row")
	}
}
