package score_test

import (
	"fmt"
	"log"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/score"
)

// Two binary tasks over three nodes, one label unknown.
func Example() {
	unknown := float32(0)
	unknown /= unknown
	labels := &graph.Labels{Tasks: 2, Multi: []float32{1, 0, 0, 1, 1, unknown}}
	scores := []float32{2, -1, 1, 3, -1, 5}
	auc, err := score.Of(datasets.ROCAUC, scores, labels, []int32{0, 1, 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(auc) // (½ + 1) / 2
	// Output:
	// 0.75
}
