package datasets

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
)

// finish applies the keys metric, normalize and sparse, which all schemes that read files
// have. It makes the only changes to features that there are. Without the key,
// normalize is byDefault, and if that is "" standardize for tables, and else none.
//
//	normalize=none         as in the files
//	normalize=row          each node's features scaled to sum to 1 in absolute value
//	normalize=standardize  each feature to mean 0, deviation 1 over the training nodes; of
//	                       tables, numbers except columns of 0 and 1
//
// A schema, if not nil, says all this. It leaves features that a store holds scaled.
func finish(ctx context.Context, d *Data, spec *Spec, byDefault string, s *Schema) error {
	d.Metric = Metric(cmp.Or(spec.Values["metric"], string(d.Metric))) // checked by Validate
	if d.table != nil {
		byDefault = "standardize"
	}
	how := cmp.Or(spec.Values["normalize"], byDefault, "none")
	switch {
	case s != nil && spec.given("normalize") != "" && how != s.Normalize:
		return spec.fail("normalize=%s, and the model's data had normalize=%s: leave it out", how, s.Normalize)
	case s != nil:
		how = s.Normalize
	case how == "standardize" && d.unlabelled && (d.table == nil || d.table.Scaled()):
		return spec.fail("normalize=standardize needs training nodes, and there are no labels: say normalize=none here, and where the model was trained")
	}
	var err error
	isRaw := cmp.Or(d.encoding.Normalize, "none") == "none" && d.encoding.Columns == nil // an array, and not scaled yet
	switch {
	case d.table != nil:
		var notes []string
		d.Features, notes, err = d.table.Features(ctx, d.Split.Train, how == "standardize")
		d.encoding.Columns, d.encoding.Normalize = d.table.Columns(), how
		d.table, d.Notes = nil, append(d.Notes, notes...)
		if err == nil && how == "row" {
			d.rescale()
		}
	case how == "none":
	case s == nil || isRaw && s.columnNames() == nil && s.Features == d.Features.Cols: // Check names any other difference
		err = d.normalize(spec, how, s)
	}
	if err != nil {
		return err
	}
	return d.chooseForm(spec)
}

// normalize scales the rows, or each feature over the training nodes or by the schema.
func (d *Data) normalize(spec *Spec, how string, s *Schema) (err error) {
	standardize, names, x := how == "standardize", d.encoding.columnNames(), d.Features
	switch {
	case standardize && names != nil:
		err = spec.fail("the store holds the columns %s of tables: say normalize=standardize where it is converted", quoted(names))
	case d.file != nil || x.Data == nil: // a mapping cannot be written to
		err = d.copyFeatures(standardize)
	}
	if err != nil {
		return err
	}
	d.Propagated = nil // it is of the features as they were
	d.encoding.Normalize = how
	if standardize && s != nil {
		d.encoding.Columns = s.Columns
	} else if standardize {
		d.encoding.Columns = standardizing(d)
	}
	d.rescale()
	return nil
}

// rescale scales the features in place, as the schema says.
func (d *Data) rescale() {
	x, row := d.Features, d.Features.Row
	if m := x.Sparse; m != nil {
		if row = m.RowValues; m.Val == nil {
			m.Val = slices.Repeat([]float32{1}, len(m.Idx))
		}
	}
	for i := range x.Rows {
		d.encoding.scaleRow(row(i))
	}
	d.note("features scaled: normalize=%s", d.encoding.Normalize)
}

// scaleRow scales the numbers of a node, all or those of a sparse row. Columns of texts, and of
// tables that are scaled by row, have no deviation and stay.
func (s *Schema) scaleRow(row []float32) {
	for k, v := range row[:min(len(row), len(s.Columns))] {
		row[k] = s.Columns[k].Scaled(v)
	}
	if s.Normalize != "row" {
		return
	}
	var sum float64
	for _, v := range row {
		sum += math.Abs(float64(v))
	}
	for j := 0; j < len(row) && sum > 0; j++ {
		row[j] = float32(float64(row[j]) / sum)
	}
}

// withoutLabels completes data without labels: see Options.Unlabelled.
func (d *Data) withoutLabels(spec *Spec) error {
	if key := spec.given("split", "seed", "train", "valid", "test", "metric"); key != "" {
		return spec.fail("%s needs labels, and there are none", key)
	}
	d.Labels = &graph.Labels{Class: slices.Repeat([]int32{-1}, d.Nodes())}
	d.Metric, d.unlabelled = Accuracy, true
	d.note("no labels")
	return nil
}

// standardizing returns scikit-learn's StandardScaler, which the loaders of GraphSAGE and
// GraphSAINT use: it takes the population deviation, and 1 for constant features.
func standardizing(d *Data) []Column {
	x := d.Features
	columns := make([]Column, x.Cols)
	n := float64(len(d.Split.Train))
	for _, i := range d.Split.Train {
		for j, v := range x.Row(int(i)) {
			columns[j].Mean += float64(v) / n
		}
	}
	for _, i := range d.Split.Train {
		for j, v := range x.Row(int(i)) {
			e := float64(v) - columns[j].Mean
			columns[j].Deviation += e * e / n
		}
	}
	for j := range columns {
		columns[j].Deviation = cmp.Or(math.Sqrt(columns[j].Deviation), 1)
	}
	return columns
}
