package datasets

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
)

// fileKeys returns a scheme's own keys and the keys of all schemes that read files.
func fileKeys(own ...string) []string {
	return append(own, "split", "seed", "stratify", "train", "valid", "test", "normalize", "metric", sparseKey)
}

// finish applies the keys metric, normalize and sparse, which all schemes that read files
// have. It makes the only changes to features that there are. Without the key,
// normalize is byDefault, and if that is "" standardize for tables, and else none.
//
//	normalize=none         as in the files
//	normalize=row          each node's features scaled to sum to 1 in absolute value
//	normalize=standardize  each feature to mean 0, deviation 1 over the training nodes; of
//	                       tables, numbers except columns of 0 and 1
//
// A schema, if not nil, says all this.
func finish(ctx context.Context, d *Data, spec *Spec, byDefault string, s *Schema) error {
	if text, given := spec.Values["metric"]; given {
		d.Metric = Metric(text) // checked by Validate
	}
	if s != nil {
		if err := s.encode(ctx, d, spec); err != nil {
			return err
		}
		return d.chooseForm(spec)
	}
	how := spec.Text("normalize", cmp.Or(byDefault, "none"))
	if d.table != nil {
		how = spec.Text("normalize", "standardize")
		if err := d.joinTable(ctx, spec, how == "standardize"); err != nil {
			return err
		}
		if d.encoding.Normalize = how; how == "standardize" {
			how = "none"
		}
	}
	if err := d.normalize(ctx, spec, how); err != nil {
		return err
	}
	return d.chooseForm(spec)
}

// joinTable makes features of tables.
func (d *Data) joinTable(ctx context.Context, spec *Spec, scale bool) (err error) {
	if scale && d.unlabelled && d.table.Scaled() {
		return fmt.Errorf("datasets: %q: the numbers of a table are scaled over the training nodes, and there are none without labels: say normalize=none here, and where the model was trained", spec)
	}
	d.Name = spec.String()
	if !d.unlabelled {
		if err := d.validateSplit(); err != nil {
			return err
		}
	}
	var notes []string
	d.Features, notes, err = d.table.Features(ctx, d.Split.Train, scale)
	d.encoding.Columns = d.table.Columns()
	d.table, d.Notes = nil, append(d.Notes, notes...)
	return cmp.Or(err, ctx.Err())
}

func (d *Data) normalize(ctx context.Context, spec *Spec, how string) error {
	if how != "none" && d.Features.Half != nil {
		if err := d.copyFeatures(); err != nil {
			return err
		}
	}
	switch how {
	case "none":
		return nil
	case "row":
		normalizeRows(d)
		d.encoding.Normalize = how
		d.Notes = append(d.Notes, "features of each node scaled to sum to 1 (normalize=row)")
		return nil
	case "standardize":
		d.Name = spec.String()
		if names := d.encoding.columnNames(); names != nil {
			return fmt.Errorf("datasets: %q: the store holds the columns %s of tables: say normalize=standardize where it is converted", spec, quoted(names))
		}
		if d.Features.Sparse != nil {
			if spec.Text(sparseKey, "") == "1" {
				return fmt.Errorf("datasets: %q: normalize=standardize moves the mean to 0, so that few features stay 0: leave out sparse=1, or take normalize=row", spec)
			}
			if err := d.makeDense(); err != nil {
				return err
			}
		}
		if err := d.validateNodes(ctx); err != nil { // standardize uses the split
			return err
		}
		d.encoding.Normalize = how
		d.encoding.Columns = standardizing(d)
		d.scale()
		d.Notes = append(d.Notes, "features scaled to mean 0 and deviation 1 over the training nodes (normalize=standardize)")
		return nil
	}
	return fmt.Errorf("datasets: %q: normalize=%s: want none, row or standardize", spec, how)
}

// withoutLabels completes data without labels: see Options.Unlabelled.
func (d *Data) withoutLabels(ctx context.Context, spec *Spec, normalize string, s *Schema) error {
	for _, key := range []string{"split", "seed", "stratify", "train", "valid", "test", "metric"} {
		if _, given := spec.Values[key]; given {
			return fmt.Errorf("datasets: %q: %s needs labels, and there are none", spec, key)
		}
	}
	if s == nil && (normalize == "standardize" || spec.Text("normalize", "") == "standardize") {
		return fmt.Errorf("datasets: %q: normalize=standardize needs training nodes, and there are no labels: standardize the features of both graphs before", spec)
	}
	d.Labels = &graph.Labels{Class: slices.Repeat([]int32{-1}, d.Nodes())}
	d.Metric, d.unlabelled = Accuracy, true
	d.Notes = append(d.Notes, "no labels")
	return finish(ctx, d, spec, normalize, s)
}

// Unlabelled tells whether the data have no labels at all, see Options.Unlabelled.
func (d *Data) Unlabelled() bool {
	return d != nil && (d.unlabelled || d.Labels != nil && d.Labels.Outputs() == 0)
}

// checkLabelled reports data without labels: a store and the folders of WriteNumPy and
// WriteOGB open only with labels and a split.
func (d *Data) checkLabelled() error {
	if d.Unlabelled() {
		return fmt.Errorf("datasets: %s: data without labels are not written: they could not be opened again", d.title())
	}
	return nil
}

func normalizeRows(d *Data) {
	if m := d.Features.Sparse; m != nil && m.Val == nil {
		m.Val = slices.Repeat([]float32{1}, len(m.Idx))
	}
	for i := range d.Features.Rows {
		var row []float32
		if m := d.Features.Sparse; m != nil {
			row = m.RowValues(i)
		} else {
			row = d.Features.Row(i)
		}
		normalizeRow(row)
	}
}

// normalizeRow scales a row to sum to 1 in absolute value. A row of zeros stays.
func normalizeRow(row []float32) {
	var sum float64
	for _, v := range row {
		sum += math.Abs(float64(v))
	}
	if sum == 0 {
		return
	}
	for j := range row {
		row[j] = float32(float64(row[j]) / sum)
	}
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
		if columns[j].Deviation = math.Sqrt(columns[j].Deviation); columns[j].Deviation == 0 {
			columns[j].Deviation = 1
		}
	}
	return columns
}

// scale scales dense features by the columns of the schema.
func (d *Data) scale() {
	x := d.Features
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			x.Data[i*x.Cols+j] = d.encoding.Columns[j].Scaled(v)
		}
	}
}
