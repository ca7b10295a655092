package datasets

import (
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// chooseForm makes the features sparse (sparse=1) or dense (sparse=0).
//
// Without the key, features that the source holds sparse stay sparse if the dense matrix would
// take at least 64 MiB, and at least four times the bytes of the sparse matrix: a smaller one costs
// little. Features of dense sources and of stores keep their form.
func (d *Data) chooseForm(spec *Spec) error {
	x, form := d.Features, spec.Values["sparse"]
	dense := uint64(denseBytes(x)) // large also if it overflows
	isSmall := d.file == nil && (dense < 64<<20 || dense < 4*uint64(x.Bytes()))
	switch {
	case x.Sparse != nil && (form == "0" || form == "" && isSmall):
		return d.copyFeatures(true)
	case x.Sparse == nil && form == "1":
		d.Features = x.ToSparse()
	}
	return nil
}

// denseBytes returns the size of x as a dense matrix in single precision, −1 if it overflows.
func denseBytes(x *graph.Features) int64 { return memory.Product(4, x.Rows, x.Cols) }

// copyFeatures makes the features d's own, in single precision, and dense if they are to be.
func (d *Data) copyFeatures(dense bool) error {
	x := d.Features
	own := &graph.Features{Rows: x.Rows, Cols: x.Cols}
	if m := x.Sparse; m != nil && !dense {
		copied := *m // Ptr and Idx do not change
		copied.Val = slices.Clone(m.Val)
		own.Sparse = &copied
	} else if err := memory.Check(fmt.Sprintf("datasets: %s: dense features", d.title()), denseBytes(x)); err != nil {
		return err
	} else if own.Data = x.Float32s(); x.Data != nil {
		own.Data = slices.Clone(x.Data)
	}
	d.Features = own
	return nil
}
