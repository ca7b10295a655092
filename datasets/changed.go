package datasets

import (
	"fmt"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// Changed returns the data with the graph and the features of o, whose base are d's, without
// removed nodes. added has the ids of the nodes that o adds; they have no label and are in no
// part of the split. If the nodes of d go by their numbers and some were removed, the numbers
// become names. The result shares no memory with d but names of classes. Cost: O(nodes + edges).
func (d *Data) Changed(o *graph.Overlay, added []string) (*Data, error) {
	p, x := o.Base()
	base, n := p.Nodes(), o.Nodes()
	if base != d.Nodes() || n-base != len(added) {
		return nil, d.fail("changes of a graph of %d nodes that add %d, and the ids of %d", base, n-base, len(added))
	}
	number, kept := slices.Repeat([]int32{-1}, n), []int32{} // −1: removed
	for v := range int32(n) {
		if o.Has(v) {
			number[v], kept = int32(len(kept)), append(kept, v)
		}
	}
	if err := memory.Check("the changed data", memory.Product(4, len(kept), x.Cols)); err != nil {
		return nil, err
	}
	a := &graph.CSR{Rows: len(kept), Cols: len(kept), Ptr: []int64{0}}
	y, names := d.Labels, new(graph.Names)
	labels := &graph.Labels{Classes: y.Classes, Tasks: y.Tasks, Names: y.Names}
	classes := append(slices.Clip(y.Class), -1) // of an added node: the last
	tasks := append(slices.Clip(y.Multi), slices.Repeat([]float32{float32(math.NaN())}, y.Tasks)...)
	for _, v := range kept {
		neighbors, weights := o.Row(v)
		for k, u := range neighbors {
			a.Idx, a.Val = append(a.Idx, number[u]), append(a.Val, float32(graph.Weight(weights, k)))
		}
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
		at := min(int(v), base)
		if at < base {
			names.Append(d.NodeNames.At(at))
		} else {
			names.Append(added[int(v)-base])
		}
		if labels.Multi = append(labels.Multi, tasks[at*y.Tasks:(at+1)*y.Tasks]...); y.Class != nil {
			labels.Class = append(labels.Class, classes[at])
		}
	}
	if d.NodeNames == nil && len(kept) == n {
		names = nil
	}
	if d.Graph.Val == nil && !slices.ContainsFunc(a.Val, func(w float32) bool { return w != 1 }) {
		a.Val = nil
	}
	var split [3][]int32
	for p, nodes := range d.Split.parts() {
		for _, v := range *nodes {
			if number[v] >= 0 {
				split[p] = append(split[p], number[v])
			}
		}
	}
	return &Data{
		Name: d.Name, Directed: d.Directed, Metric: d.Metric, encoding: d.encoding, unlabelled: d.unlabelled,
		Graph: a, Features: o.Gather(kept), Labels: labels, NodeNames: names,
		Split: newSplit(split),
		Notes: append(slices.Clone(d.Notes), fmt.Sprintf("changed: %d nodes added, %d removed", len(added), n-len(kept))),
	}, nil
}
