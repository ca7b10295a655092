package datasets

import (
	"fmt"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// sparseKey is the key of a SPEC that says how features are held.
//
//	sparse=1  as a sparse matrix
//	sparse=0  as a dense matrix
//
// Without the key, features that the source holds sparse stay sparse if the dense matrix
// would be large: see leastDense and sparseFactor. Features of dense sources and of stores
// keep their form.
const sparseKey = "sparse"

// Features of a sparse source stay sparse if the dense matrix would take at least
// leastDense bytes, and at least sparseFactor times the bytes of the sparse matrix. A
// smaller dense matrix costs little.
const (
	leastDense   = 64 << 20
	sparseFactor = 4
)

// chooseForm makes the features sparse or dense, by the key sparse or by their size.
func (d *Data) chooseForm(spec *Spec) error {
	x, form := d.Features, spec.Text(sparseKey, "")
	dense := denseBytes(x)
	isSmall := d.file == nil && (dense < leastDense || dense < sparseFactor*x.Bytes())
	switch {
	case x.Sparse != nil && (form == "0" || form == "" && isSmall):
		return d.copyFeatures(true)
	case x.Sparse == nil && form == "1":
		d.Features = x.ToSparse()
	}
	return nil
}

// denseBytes returns the size of x as a dense matrix in single precision.
func denseBytes(x *graph.Features) int64 {
	if bytes := memory.Product(4, int64(x.Rows), int64(x.Cols)); bytes >= 0 {
		return bytes
	}
	return math.MaxInt64
}

// copyFeatures makes the features d's own, in single precision, and dense if they are to be.
func (d *Data) copyFeatures(dense bool) error {
	x := d.Features
	if m := x.Sparse; m != nil && !dense {
		own := *m // Ptr and Idx do not change
		own.Val = slices.Clone(m.Val)
		d.Features = &graph.Features{Rows: x.Rows, Cols: x.Cols, Sparse: &own}
		return nil
	}
	bytes := denseBytes(x)
	if err := memory.Check(fmt.Sprintf("datasets: %s: dense features", d.title()), bytes); err != nil {
		return err
	}
	data := x.Float32s()
	if x.Data != nil {
		data = slices.Clone(data)
	}
	d.Features = &graph.Features{Rows: x.Rows, Cols: x.Cols, Data: data}
	return nil
}
