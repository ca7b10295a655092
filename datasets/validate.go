package datasets

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/formats"
)

// Validate reports the first fault of d: of the graph's structure, numbers of rows
// that disagree, features that are not finite, labels or split nodes out of range,
// a split that holds a node twice or a node without a label, an empty training set,
// a metric that does not fit the labels. Errors wrap graph.ErrInvalid. Cost:
// O(edges log(max degree) + features).
func (d *Data) Validate() error { return d.validate(context.Background()) }

// validate is Validate on all cores; it stops when ctx is done.
func (d *Data) validate(ctx context.Context) error {
	d = cmp.Or(d, new(Data))
	if d.Graph == nil || d.Features == nil || d.Labels == nil {
		return d.check(false, "graph, features or labels missing")
	}
	if err := d.named(d.Graph.ValidateAdjacency(ctx, d.Directed)); err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	return d.validateNodes(ctx)
}

// named begins an error with the name of d.
func (d *Data) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("datasets: %s: %w", d.title(), err)
}

// fail returns an error about d.
func (d *Data) fail(format string, args ...any) error { return d.named(fmt.Errorf(format, args...)) }

// check is an error about d, unless it is good.
func (d *Data) check(good bool, format string, args ...any) error {
	if good {
		return nil
	}
	return d.fail("%w: %w", fmt.Errorf(format, args...), graph.ErrInvalid)
}

// validateNodes is Validate without the graph's structure.
func (d *Data) validateNodes(ctx context.Context) error {
	for _, x := range []*graph.Features{d.Features, d.Propagated} {
		if x == nil {
			continue
		}
		if err := x.Validate(ctx); err != nil {
			return cmp.Or(ctx.Err(), d.named(err))
		}
		// A model has weights for each column: far more columns than entries mean a damaged file.
		if err := d.check(x.Sparse == nil || x.Cols <= 1<<24+4096*x.Len(), "%d columns of features with %d entries: too sparse to learn from", x.Cols, x.Len()); err != nil {
			return err
		}
	}
	return d.validateLabels()
}

// validateLabels is validateNodes without the values of the features.
func (d *Data) validateLabels() error {
	n, x, px, y, names := d.Nodes(), d.Features, cmp.Or(d.Propagated, d.Features), d.Labels, d.NodeNames
	err := cmp.Or(
		d.named(names.Validate()),
		d.check(names == nil || names.Len() == n, "%d names of %d nodes", names.Len(), n),
		d.check(x.Rows == n && len(y.Class)+len(y.Multi) == n*max(y.Tasks, 1), "graph of %d nodes, features of %d, labels of %d", n, x.Rows, y.Nodes()),
		d.check(px.Rows == x.Rows && px.Cols == x.Cols, "propagated features of %d nodes × %d, want %d × %d", px.Rows, px.Cols, x.Rows, x.Cols),
		d.check(y.Classes <= formats.MostClasses(n), "%d classes for %d nodes", y.Classes, n),
		d.check(d.Metric == MicroF1 || d.Metric == metricFor(y), "metric %q does not fit labels of %s: want %s or %s",
			d.Metric, countText(y.Classes, y.Tasks), MicroF1, metricFor(y)),
	)
	if err == nil && !d.unlabelled {
		if err = d.named(y.Validate()); err == nil {
			err = d.validateSplit()
		}
	}
	return err
}

func partNames() [3]string { return [...]string{"train", "valid", "test"} }

func (d *Data) validateSplit() error {
	n := d.Nodes()
	part := make([]uint8, n) // of each node: the number of its part, from 1
	for p, ids := range d.Split.parts() {
		name := partNames()[p]
		for k, id := range *ids {
			switch {
			case id < 0 || int(id) >= n:
				return d.check(false, "%s node %d is %d, outside [0, %d)", name, k, id, n)
			case part[id] > 0:
				return d.check(false, "%s node %d (id %d) is in the %s set already", name, k, id, partNames()[part[id]-1])
			case !d.Labels.Known(int(id)):
				return d.check(false, "%s node %d (id %d) has no label", name, k, id)
			}
			part[id] = uint8(p + 1)
		}
	}
	return d.check(len(d.Split.Train) > 0, "the training set is empty")
}
