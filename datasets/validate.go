package datasets

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// Validate reports the first fault of d: of the graph's structure, numbers of rows
// that disagree, features that are not finite, labels or split nodes out of range,
// a split that holds a node twice or a node without a label, an empty training set,
// a metric that does not fit the labels. Errors wrap graph.ErrInvalid. Cost:
// O(edges log(max degree) + features).
func (d *Data) Validate() error { return d.validate(context.Background()) }

// validate is Validate on all cores; it stops when ctx is done.
func (d *Data) validate(ctx context.Context) error {
	if err := checkContext(ctx); err != nil {
		return err
	}
	if err := d.complete(); err != nil {
		return err
	}
	if err := d.validateStructure(ctx); err != nil {
		return err
	}
	return d.validateNodes(ctx)
}

// complete reports nil data, or a nil part of them.
func (d *Data) complete() error {
	if d == nil {
		return fmt.Errorf("datasets: no data: %w", graph.ErrInvalid)
	}
	if d.Graph == nil || d.Features == nil || d.Labels == nil {
		return fmt.Errorf("datasets: %s: graph, features or labels missing: %w", d.title(), graph.ErrInvalid)
	}
	return nil
}

// validateStructure checks the graph.
func (d *Data) validateStructure(ctx context.Context) error {
	check := d.Graph.ValidateAdjacency
	if d.Directed {
		check = d.Graph.ValidateDirected
	}
	err := check(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("datasets: %s: %w", d.title(), err)
}

// validateNodes is Validate without the graph's structure.
func (d *Data) validateNodes(ctx context.Context) error {
	if err := d.validateFeatures(ctx, d.Features); err != nil {
		return err
	}
	if px := d.Propagated; px != nil {
		if px.Rows != d.Features.Rows || px.Cols != d.Features.Cols {
			return fmt.Errorf("datasets: %s: propagated features %d×%d of features %d×%d: %w", d.title(), px.Rows, px.Cols, d.Features.Rows, d.Features.Cols, graph.ErrInvalid)
		}
		if err := d.validateFeatures(ctx, px); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.validateLabels()
}

// validateLabels is validateNodes without the values of the features.
func (d *Data) validateLabels() error {
	n := d.Nodes()
	if err := d.Labels.Validate(); err != nil && !d.validUnlabelled() {
		return fmt.Errorf("datasets: %s: %w", d.title(), err)
	}
	if d.NodeNames != nil {
		if err := d.NodeNames.Validate(); err != nil {
			return fmt.Errorf("datasets: %s: %w", d.title(), err)
		}
		if d.NodeNames.Len() != n {
			return fmt.Errorf("datasets: %s: %d names of %d nodes: %w", d.title(), d.NodeNames.Len(), n, graph.ErrInvalid)
		}
	}
	if d.Features.Rows != n || d.Labels.Nodes() != n {
		return fmt.Errorf("datasets: %s: graph of %d nodes, features of %d, labels of %d: %w", d.title(), n, d.Features.Rows, d.Labels.Nodes(), graph.ErrInvalid)
	}
	if !plausibleClasses(d.Labels.Classes, n) {
		return fmt.Errorf("datasets: %s: %d classes for %d nodes: %w", d.title(), d.Labels.Classes, n, graph.ErrInvalid)
	}
	switch multi := d.Labels.Multi != nil; {
	case d.Metric != Accuracy && d.Metric != MicroF1 && d.Metric != ROCAUC:
		return fmt.Errorf("datasets: %s: metric %q: want %s, %s or %s: %w", d.title(), d.Metric, Accuracy, MicroF1, ROCAUC, graph.ErrInvalid)
	case d.Metric == Accuracy && multi || d.Metric == ROCAUC && !multi:
		return fmt.Errorf("datasets: %s: metric %s does not fit labels of %d classes and %d tasks: %w", d.title(), d.Metric, d.Labels.Classes, d.Labels.Tasks, graph.ErrInvalid)
	}
	if d.validUnlabelled() {
		return nil
	}
	return d.validateSplit()
}

// plausibleClasses tells whether n nodes may have so many classes. Far more classes
// than nodes mean a damaged file.
func plausibleClasses(classes, n int) bool { return classes <= max(n, 1<<16) }

// validUnlabelled tells whether d are data that Options.Unlabelled allowed.
func (d *Data) validUnlabelled() bool {
	known := func(class int32) bool { return class != -1 }
	return d.unlabelled && d.Unlabelled() && !slices.ContainsFunc(d.Labels.Class, known) && len(d.Split.Train)+len(d.Split.Valid)+len(d.Split.Test) == 0
}

// validateFeatures is graph.Features.Validate on all cores, until ctx is done.
func (d *Data) validateFeatures(ctx context.Context, x *graph.Features) error {
	fail := func(err error) error { return fmt.Errorf("datasets: %s: %w", d.title(), err) }
	if x.Sparse != nil {
		if err := x.Validate(); err != nil {
			return fail(err)
		}
		if !plausibleColumns(x) {
			return fail(fmt.Errorf("%d columns of features with %d entries: too sparse to learn from: %w", x.Cols, x.Len(), graph.ErrInvalid))
		}
		return ctx.Err()
	}
	if x.Cols <= 0 || x.Rows < 0 || x.Rows > math.MaxInt/x.Cols || x.Len() != x.Rows*x.Cols || x.Data != nil && x.Half != nil {
		return fail(x.Validate())
	}
	rows := max(1<<20/x.Cols, 1)
	return parallel.Chunks(ctx, (x.Rows+rows-1)/rows, func(chunk int) error {
		lo, hi := chunk*rows, min((chunk+1)*rows, x.Rows)
		part := &graph.Features{Rows: hi - lo, Cols: x.Cols}
		if x.Half != nil {
			part.Half = x.Half[lo*x.Cols : hi*x.Cols]
		} else {
			part.Data = x.Data[lo*x.Cols : hi*x.Cols]
		}
		if part.Validate() == nil {
			return nil
		}
		for k, v := range part.Float32s() {
			if v-v != 0 { // NaN or infinite
				return fail(fmt.Errorf("feature %d of node %d is %v, want finite: %w", k%x.Cols, lo+k/x.Cols, v, graph.ErrInvalid))
			}
		}
		return nil
	})
}

func (d *Data) validateSplit() error {
	if len(d.Split.Train) == 0 {
		return fmt.Errorf("datasets: %s: the training set is empty: %w", d.title(), graph.ErrInvalid)
	}
	const unused = 0
	n := d.Nodes()
	part := make([]uint8, n) // of each node: the index of its part, plus 1
	names := [...]string{"", "train", "valid", "test"}
	for p, ids := range d.Split.parts() {
		for k, id := range ids {
			if id < 0 || int(id) >= n {
				return fmt.Errorf("datasets: %s: %s node %d is %d, outside [0, %d): %w", d.title(), names[p+1], k, id, n, graph.ErrInvalid)
			}
			switch before := part[id]; {
			case int(before) == p+1:
				return fmt.Errorf("datasets: %s: %s node %d (id %d) is there twice: %w", d.title(), names[p+1], k, id, graph.ErrInvalid)
			case before != unused:
				return fmt.Errorf("datasets: %s: %s node %d (id %d) is in the %s set too: %w", d.title(), names[p+1], k, id, names[before], graph.ErrInvalid)
			}
			part[id] = uint8(p + 1)
			if !d.labelled(int(id)) {
				return fmt.Errorf("datasets: %s: %s node %d (id %d) has no label: %w", d.title(), names[p+1], k, id, graph.ErrInvalid)
			}
		}
	}
	return nil
}
