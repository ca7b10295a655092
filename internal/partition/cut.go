package partition

import "github.com/gcn-layerwise/gcn/graph"

// Cut returns the number of undirected edges between parts. Cost: O(edges).
func Cut(a *graph.CSR, part []int32) int64 {
	var cut int64
	for v := range a.Rows {
		for _, u := range a.Row(v) {
			if part[v] != part[u] {
				cut++
			}
		}
	}
	return cut / 2
}
