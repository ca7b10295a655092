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
// normalize is byDefault, and none if that is "".
//
//	normalize=none         as in the files
//	normalize=row          each node's features scaled to sum to 1 in absolute value
//	normalize=standardize  each feature to mean 0, deviation 1 over the training nodes
func finish(ctx context.Context, d *Data, spec *Spec, byDefault string) error {
	if text, given := spec.Values["metric"]; given {
		d.Metric = Metric(text) // checked by Validate
	}
	how := spec.Text("normalize", cmp.Or(byDefault, "none"))
	if err := d.normalize(ctx, spec, how); err != nil {
		return err
	}
	return d.chooseForm(spec)
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
		d.Notes = append(d.Notes, "features of each node scaled to sum to 1 (normalize=row)")
		return nil
	case "standardize":
		d.Name = spec.String()
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
		standardize(d)
		d.Notes = append(d.Notes, "features scaled to mean 0 and deviation 1 over the training nodes (normalize=standardize)")
		return nil
	}
	return fmt.Errorf("datasets: %q: normalize=%s: want none, row or standardize", spec, how)
}

// withoutLabels completes data without labels: see Options.Unlabelled.
func (d *Data) withoutLabels(ctx context.Context, spec *Spec, normalize string) error {
	for _, key := range []string{"split", "seed", "stratify", "train", "valid", "test", "metric"} {
		if _, given := spec.Values[key]; given {
			return fmt.Errorf("datasets: %q: %s needs labels, and there are none", spec, key)
		}
	}
	if normalize == "standardize" || spec.Text("normalize", "") == "standardize" {
		return fmt.Errorf("datasets: %q: normalize=standardize needs training nodes, and there are no labels: standardize the features of both graphs before", spec)
	}
	d.Labels = &graph.Labels{Class: slices.Repeat([]int32{-1}, d.Nodes())}
	d.Metric, d.unlabelled = Accuracy, true
	d.Notes = append(d.Notes, "no labels")
	return finish(ctx, d, spec, normalize)
}

// Unlabelled tells whether the data have no labels at all, see Options.Unlabelled.
func (d *Data) Unlabelled() bool {
	return d != nil && d.Labels != nil && d.Labels.Outputs() == 0
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
		var sum float64
		for _, v := range row {
			sum += math.Abs(float64(v))
		}
		if sum == 0 {
			continue
		}
		for j := range row {
			row[j] = float32(float64(row[j]) / sum)
		}
	}
}

// standardize is scikit-learn's StandardScaler, which the loaders of GraphSAGE and
// GraphSAINT use: it takes the population deviation, and 1 for constant features.
func standardize(d *Data) {
	x := d.Features
	mean, deviation := make([]float64, x.Cols), make([]float64, x.Cols)
	n := float64(len(d.Split.Train))
	for _, i := range d.Split.Train {
		for j, v := range x.Row(int(i)) {
			mean[j] += float64(v) / n
		}
	}
	for _, i := range d.Split.Train {
		for j, v := range x.Row(int(i)) {
			e := float64(v) - mean[j]
			deviation[j] += e * e / n
		}
	}
	for j := range deviation {
		if deviation[j] = math.Sqrt(deviation[j]); deviation[j] == 0 {
			deviation[j] = 1
		}
	}
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			x.Data[i*x.Cols+j] = float32((float64(v) - mean[j]) / deviation[j])
		}
	}
}
