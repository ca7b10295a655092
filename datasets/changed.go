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
	base := o.BaseNodes()
	if base != d.Nodes() || o.Nodes()-base != len(added) {
		return nil, fmt.Errorf("datasets: %s: changes of a graph of %d nodes that add %d, and the ids of %d", d.title(), base, o.Nodes()-base, len(added))
	}
	number, kept := make([]int32, o.Nodes()), make([]int32, 0, o.Nodes()) // −1: removed
	for v := range int32(o.Nodes()) {
		if number[v] = -1; o.Has(v) {
			number[v] = int32(len(kept))
			kept = append(kept, v)
		}
	}
	n, cols := len(kept), d.Features.Cols
	if err := memory.Check("the changed data", memory.Product(4, int64(n), int64(cols))); err != nil {
		return nil, err
	}
	changed := &Data{
		Name: d.Name, Directed: d.Directed, Metric: d.Metric, encoding: d.encoding, unlabelled: d.unlabelled,
		Graph:    &graph.CSR{Rows: n, Cols: n, Ptr: make([]int64, 1, n+1)},
		Features: &graph.Features{Rows: n, Cols: cols, Data: make([]float32, 0, n*cols)},
		Labels:   &graph.Labels{Classes: d.Labels.Classes, Tasks: d.Labels.Tasks, Names: d.Labels.Names},
		Notes:    append(slices.Clone(d.Notes), fmt.Sprintf("changed: %d nodes added, %d removed", len(added), o.Nodes()-n)),
	}
	if d.NodeNames != nil || n < o.Nodes() {
		changed.NodeNames = new(graph.Names)
	}
	for _, v := range kept {
		changed.addNode(d, o, v, number)
		if changed.NodeNames != nil {
			name := d.NodeNames.At(int(min(v, int32(base)-1)))
			if int(v) >= base {
				name = added[int(v)-base]
			}
			changed.NodeNames.Append(name)
		}
	}
	changed.Split = d.Split.renumbered(func(v int32) int32 { return number[v] })
	return changed, nil
}

// addNode appends the row, the features and the label of node v of o.
func (d *Data) addNode(from *Data, o *graph.Overlay, v int32, number []int32) {
	neighbors, weights := o.Row(v)
	for _, u := range neighbors {
		d.Graph.Idx = append(d.Graph.Idx, number[u])
	}
	if weights != nil && d.Graph.Val == nil {
		d.Graph.Val = slices.Repeat([]float32{1}, len(d.Graph.Idx)-len(neighbors))
	}
	if d.Graph.Val != nil && weights == nil {
		weights = slices.Repeat([]float32{1}, len(neighbors))
	}
	d.Graph.Val = append(d.Graph.Val, weights...)
	d.Graph.Ptr = append(d.Graph.Ptr, int64(len(d.Graph.Idx)))
	d.Features.Data = append(d.Features.Data, o.Features(v)...)
	y, isNew := from.Labels, int(v) >= o.BaseNodes()
	switch {
	case y.Class != nil && isNew:
		d.Labels.Class = append(d.Labels.Class, -1)
	case y.Class != nil:
		d.Labels.Class = append(d.Labels.Class, y.Class[v])
	case isNew:
		d.Labels.Multi = append(d.Labels.Multi, slices.Repeat([]float32{float32(math.NaN())}, y.Tasks)...)
	default:
		d.Labels.Multi = append(d.Labels.Multi, y.Multi[int(v)*y.Tasks:(int(v)+1)*y.Tasks]...)
	}
}
