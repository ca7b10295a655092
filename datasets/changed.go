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
	base := d.Nodes()
	if p, _ := o.Base(); p.Nodes() != base || o.Nodes()-base != len(added) {
		return nil, fmt.Errorf("datasets: %s: changes of a graph of %d nodes that add %d, and the ids of %d", d.title(), base, o.Nodes()-base, len(added))
	}
	number, kept := slices.Repeat([]int32{-1}, o.Nodes()), []int32{} // −1: removed
	for v := range int32(o.Nodes()) {
		if o.Has(v) {
			number[v] = int32(len(kept))
			kept = append(kept, v)
		}
	}
	n := len(kept)
	if err := memory.Check("the changed data", memory.Product(4, n, d.Features.Cols)); err != nil {
		return nil, err
	}
	a, y := &graph.CSR{Rows: n, Cols: n, Ptr: []int64{0}}, d.Labels
	labels := &graph.Labels{Classes: y.Classes, Tasks: y.Tasks, Names: y.Names}
	changed := &Data{
		Name: d.Name, Directed: d.Directed, Metric: d.Metric, encoding: d.encoding, unlabelled: d.unlabelled,
		Graph: a, Features: o.Gather(kept), Labels: labels,
		Notes: append(slices.Clone(d.Notes), fmt.Sprintf("changed: %d nodes added, %d removed", len(added), o.Nodes()-n)),
	}
	if d.NodeNames != nil || n < o.Nodes() {
		changed.NodeNames = new(graph.Names)
	}
	classes := append(slices.Clip(y.Class), -1)
	tasks := append(slices.Clip(y.Multi), slices.Repeat([]float32{float32(math.NaN())}, y.Tasks)...)
	weighted := d.Graph.Val != nil
	for _, v := range kept {
		neighbors, weights := o.Row(v)
		for k, u := range neighbors {
			weight := float32(graph.Weight(weights, k))
			a.Idx = append(a.Idx, number[u])
			a.Val = append(a.Val, weight)
			weighted = weighted || weight != 1
		}
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
		row := min(int(v), base) // the last row is of all added nodes
		labels.Multi = append(labels.Multi, tasks[row*y.Tasks:][:y.Tasks]...)
		if y.Tasks == 0 {
			labels.Class = append(labels.Class, classes[row])
		}
		switch {
		case changed.NodeNames == nil:
		case int(v) < base:
			changed.NodeNames.Append(d.NodeNames.At(int(v)))
		default:
			changed.NodeNames.Append(added[int(v)-base])
		}
	}
	if !weighted {
		a.Val = nil
	}
	changed.Split = d.Split.renumbered(func(v int32) int32 { return number[v] })
	return changed, nil
}
