package datasets

import "fmt"

// normalize applies the key normalize=row, which scales each node's features to
// sum to 1 in absolute value, as many Planetoid baselines do. Nothing is
// normalised by default.
func normalize(d *Data, spec *Spec) error {
	how, err := spec.Choice("normalize", "none", "row")
	if err != nil || how == "none" {
		return err
	}
	for i := range d.Features.Rows {
		row := d.Features.Row(i)
		var sum float64
		for _, v := range row {
			sum += max(float64(v), -float64(v))
		}
		if sum == 0 {
			continue
		}
		for j := range row {
			row[j] = float32(float64(row[j]) / sum)
		}
	}
	d.Notes = append(d.Notes, fmt.Sprintf("features of each node scaled to sum to 1 (normalize=%s)", how))
	return nil
}
