package datasets_test

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
)

func ExampleOpen() {
	data, err := datasets.Open(context.Background(), "synth:demo?nodes=1000&edges=5000&seed=7", datasets.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(data.Nodes(), "nodes,", data.Edges(), "edges,", data.Labels.Classes, "classes")
	fmt.Println(len(data.Split.Train), "to train on, scored by", data.Metric)
	fmt.Println("node 0 has", data.Graph.Degree(0), "neighbours and", data.Laplacian().RowNNZ(0), "entries in P")

	_, err = datasets.Open(context.Background(), "synth:demo?node=1000", datasets.Options{})
	fmt.Println(err)
	// Output:
	// 1000 nodes, 5000 edges, 10 classes
	// 500 to train on, scored by accuracy
	// node 0 has 8 neighbours and 9 entries in P
	// datasets: "synth:demo?node=1000": unknown key "node"; synth: takes nodes, edges, features, classes, seed, homophily, noise
}

// A program's own data set: two triangles, told apart by one feature.
func ExampleData() {
	b, err := graph.NewBuilder(6)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := b.AddEdges([]graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 0}, {U: 3, V: 4}, {U: 4, V: 5}, {U: 5, V: 3}}); err != nil {
		fmt.Println(err)
		return
	}
	data := &datasets.Data{
		Name:     "triangles",
		Features: &graph.Features{Rows: 6, Cols: 1, Data: []float32{1, 0, 0, -1, 0, 0}},
		Labels:   &graph.Labels{Classes: 2, Class: []int32{0, 0, 0, 1, 1, 1}},
		Split:    datasets.Split{Train: []int32{0, 3}, Valid: []int32{1, 4}, Test: []int32{2, 5}},
		Metric:   datasets.Accuracy,
	}
	data.Graph, data.Report = b.Build()
	if err := data.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	info := datasets.Describe(data)
	fmt.Println(info.Name, info.Nodes, info.Edges, info.Degree.Max)
	// Output: triangles 6 6 2
}
