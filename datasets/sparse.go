package datasets

import (
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/formats"
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
	form, x := spec.Text(sparseKey, ""), d.Features
	if form == "" {
		form = "1"
		if dense := denseBytes(x); dense < leastDense || dense < sparseFactor*x.Bytes() {
			form = "0"
		}
		if d.file != nil || x.Sparse == nil {
			return nil
		}
	}
	switch {
	case form == "0" && x.Sparse != nil:
		return d.makeDense()
	case form == "1" && x.Sparse == nil:
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

// plausibleColumns tells whether sparse features may have so many columns. A model has weights
// for each column, and far more columns than entries mean a damaged file.
func plausibleColumns(x *graph.Features) bool {
	return x.Cols <= formats.SmallMatrix+formats.CellsAnEntry*x.Len()
}

// makeDense makes sparse features dense.
func (d *Data) makeDense() error {
	x := d.Features
	if bytes := denseBytes(x); bytes > leastDense && bytes/4/formats.CellsAnEntry > int64(x.Len()) {
		return fmt.Errorf("datasets: %s: %d×%d features with %d entries are too sparse to hold densely: say sparse=1, or leave sparse out", d.title(), x.Rows, x.Cols, x.Len())
	}
	if err := memory.Check(fmt.Sprintf("datasets: %s: dense features", d.title()), denseBytes(x)); err != nil {
		return err
	}
	d.Features = &graph.Features{Rows: x.Rows, Cols: x.Cols, Data: x.Float32s()}
	return nil
}

// sparseText says how large sparse features are; "" for dense ones.
func (d *Data) sparseText() string {
	if d.Features == nil || d.Features.Sparse == nil {
		return ""
	}
	x := d.Features
	return fmt.Sprintf("features sparse: %d of %d×%d values, %.1f MB; dense they take %.1f MB (sparse=0)", x.Len(), x.Rows, x.Cols, megabytes(x.Bytes()), megabytes(denseBytes(x)))
}
