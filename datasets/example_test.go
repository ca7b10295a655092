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
	// datasets: "synth:demo?node=1000": unknown key "node"; synth takes nodes, edges, features, classes, seed, homophily, noise
}

// A program's own data set: two triangles, told apart by one feature.
func ExampleScheme() {
	triangles := datasets.Scheme{
		Name: "triangles", Path: "NAME", Summary: "two triangles",
		Open: func(context.Context, *datasets.Spec, datasets.Options) (*datasets.Data, error) {
			b, err := graph.NewBuilder(6)
			if err != nil {
				return nil, err
			}
			for _, e := range [][2]int32{{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}} {
				if err := b.Add(e[0], e[1]); err != nil {
					return nil, err
				}
			}
			d := &datasets.Data{
				Features: &graph.Features{Rows: 6, Cols: 1, Data: []float32{1, 0, 0, -1, 0, 0}},
				Labels:   &graph.Labels{Classes: 2, Class: []int32{0, 0, 0, 1, 1, 1}},
				Split:    datasets.Split{Train: []int32{0, 3}, Valid: []int32{1, 4}, Test: []int32{2, 5}},
				Metric:   datasets.Accuracy,
			}
			d.Graph, d.Report = b.Build()
			return d, nil
		},
	}
	data, err := datasets.Open(context.Background(), "triangles:two", datasets.Options{Schemes: []datasets.Scheme{triangles}})
	if err != nil {
		fmt.Println(err)
		return
	}
	info := datasets.Describe(data)
	fmt.Println(info.Name, info.Nodes, info.Edges, info.Degree.Max)
	// Output: triangles:two 6 6 2
}
