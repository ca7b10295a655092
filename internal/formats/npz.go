package formats

import (
	"context"
	"math"

	"github.com/gcn-layerwise/gcn/graph"
)

// NPZ reads an archive in one of two layouts: gnn-benchmark's (Shchur et al.
// 2018, arXiv:1811.05868), which has no split, or the heterophilous graphs'
// (Platonov et al. 2023, arXiv:2302.11640), which has several. It reads split o.Number
// if o.Split is true.
func NPZ(ctx context.Context, path string, o Options) (*Set, error) {
	r := newReader(ctx, path, o)
	a := r.archive(path)
	switch {
	case a.has("adj_indptr"):
		a.benchmark()
	case a.has("node_features") && a.has("edges"):
		a.heterophilous()
	default:
		_, err := a.open("adj_indptr")
		r.check(false, path, "neither gnn-benchmark's layout (adj_indptr …) nor the heterophilous graphs' (node_features, edges …): %w", err)
	}
	return r.end()
}

// benchmark reads adj_{indptr,indices,shape}, attr_{data,indices,indptr,
// shape} or attr_matrix, and labels. Edges are stored as found, in one direction
// or both; there is no split.
func (s *source) benchmark() {
	if s.sciPyGraph("adj_"); s.err != nil {
		return
	}
	if s.has("attr_matrix") {
		s.Features = s.dense("attr_matrix", s.nodes())
	} else {
		s.Features = s.sparse("attr_", s.nodes())
	}
	if s.has("labels") {
		s.labels("labels", s.nodes(), false)
	}
}

// heterophilous reads node_features, node_labels, edges (each undirected edge
// once) and {train,val,test}_masks, which have a row for each split. Two classes
// become one binary task, as in the paper.
func (s *source) heterophilous() {
	if s.Features = s.dense("node_features", "nodes"); s.err != nil {
		return
	}
	n := s.Features.Rows
	ends, a := numbers[int32](s, "edges", "edges", 2)
	if s.err == nil {
		s.checkIDs(a.Name(), "element %d is %d, outside [0, %d)", ends, n)
		s.pairs(a.Name(), n, len(ends)/2, nil, func(k int) (int32, int32) { return ends[2*k], ends[2*k+1] })
	}
	s.keys = map[string]string{"lists": "tasks"}
	if s.labels("node_labels", n, false); s.err != nil {
		return
	}
	if s.Labels.Classes == 2 {
		y := &graph.Labels{Tasks: 1, Multi: make([]float32, n)}
		for i, c := range s.Labels.Class {
			if y.Multi[i] = float32(c); c < 0 {
				y.Multi[i] = float32(math.NaN())
			}
		}
		s.Labels = y
		s.note("two classes taken as one binary task")
	}
	split := s.o.Number
	if !s.o.Split || !s.has("train_masks") {
		return
	}
	s.Split = &Split{}
	for k, key := range []string{"train_masks", "val_masks", "test_masks"} {
		masks, a := numbers[int32](s, key, "splits", n)
		if s.err == nil && s.check(split < a.Shape[0], a.Name(), "split=%d: want an integer in [0, %d], or shares such as 60/20/20", split, a.Shape[0]-1) {
			*s.Split.parts()[k] = masked(masks[split*n : (split+1)*n])
		}
	}
	s.note("split %d of the file", split)
}
