package train

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/score"
)

// Repeated nodes give a row each, equal to the node's, wherever nodes are given: few and many
// to inference, hidden layers, the program, scores and assessments.
func TestRepeatedNodes(t *testing.T) {
	ctx := context.Background()
	d := smallData(t, 700, 4)
	m := smallModel(t, d)
	gcn := m.Inference.(*layers.GCN)
	few, many := []int32{5, 7, 5, 5, 2, 7}, make([]int32, 600)
	for k := range many {
		many[k] = int32(k * k % 300)
	}
	all, err := gcn.Infer(ctx, d.Laplacian(), d.Features, nil)
	if err != nil {
		t.Fatal(err)
	}
	hidden, width, err := gcn.InferHidden(ctx, d.Laplacian(), d.Features, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	infer := m.Inference
	for _, nodes := range [][]int32{few, many} {
		for name, get := range map[string]func() ([]float32, []float32, int, error){
			"Infer": func() ([]float32, []float32, int, error) {
				got, err := gcn.Infer(ctx, d.Laplacian(), d.Features, nodes)
				return got, all, 4, err
			},
			"InferHidden": func() ([]float32, []float32, int, error) {
				got, _, err := gcn.InferHidden(ctx, d.Laplacian(), d.Features, nodes, 1)
				return got, hidden, width, err
			},
			"Predict": func() ([]float32, []float32, int, error) {
				got, err := Predict(ctx, m, d, nodes)
				return got, all, 4, err
			},
			"Predict without Inference": func() ([]float32, []float32, int, error) {
				m.Inference = nil
				defer func() { m.Inference = infer }()
				got, err := Predict(ctx, m, d, nodes)
				return got, all, 4, err
			},
		} {
			got, of, width, err := get()
			if err != nil || len(got) != width*len(nodes) {
				t.Fatalf("%s: %d values, %v", name, len(got), err)
			}
			first := map[int32]int{}
			for k, v := range nodes {
				row := got[k*width : (k+1)*width]
				if j, again := first[v]; again && !slices.Equal(row, got[j*width:(j+1)*width]) {
					t.Fatalf("%s: row %d of node %d differs from row %d", name, k, v, j)
				}
				first[v] = k
				for c, x := range row {
					if want := of[int(v)*width+c]; math.Abs(float64(x-want)) > 1e-5*(1+math.Abs(float64(want))) {
						t.Fatalf("%s: node %d has %v, want %v", name, v, x, want)
					}
				}
			}
		}
	}
	logits, err := Predict(ctx, m, d, []int32{5, 5, 7})
	if err != nil {
		t.Fatal(err)
	}
	want, err := score.Of(d.Metric, logits, d.Labels, []int32{5, 5, 7})
	if err != nil {
		t.Fatal(err)
	}
	if evaluated, err := Evaluate(ctx, m, d, []int32{5, 5, 7}); err != nil || evaluated != want {
		t.Errorf("Evaluate %v, %v; score.Of %v", evaluated, err, want)
	}
	if a, err := score.Assess(slices.Repeat([]float32{0.25}, 12), d.Labels, []int32{5, 5, 7}); err != nil || a == nil {
		t.Errorf("Assess: %v", err)
	}
}
