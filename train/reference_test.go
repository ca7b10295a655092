package train

import (
	"math"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/reference"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

// matrixOf returns row-major values as a matrix.
func matrixOf[F float32 | float64](cols int, values []F) reference.Matrix {
	return reference.NewMatrix(len(values)/cols, cols, func(i, j int) float64 { return float64(values[i*cols+j]) })
}

// TestTrainingAgainstReference trains the compiled model and the reference's on the same ten
// mini-batches, without dropout. The loss and the gradient of each parameter agree at each
// step, and the parameters after the last one. The tolerance is a share of the largest
// element; a rounding to float32 is 6e-8.
func TestTrainingAgainstReference(t *testing.T) {
	const nodes, classes, tolerance = 300, 4, 3e-6
	d := smallData(t, nodes, classes)
	x := matrixOf(d.Features.Cols, d.Features.Data)
	for name, o := range map[string]layers.GCNOptions{
		"program": {Hidden: 16, Seed: 3, Dropout: layers.NoDropout, ClassifierDropout: layers.NoDropout},
		"text":    {Hidden: 16, Seed: 3, Dropout: layers.NoDropout, Form: layers.FormEquation},
	} {
		t.Run(name, func(t *testing.T) {
			m := gcnOver(t, d, &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{24, 32}}, o)
			p := compiled(t, m)
			var model reference.GCN
			at := 0
			for _, n := range m.Parameters {
				shape := n.Shape()
				values := p.Parameters()[at : at+shape.TotalSize()]
				matrix := matrixOf(shape[len(shape)-1], values)
				if len(shape) == 1 {
					model.B = append(model.B, matrix)
				} else {
					model.W = append(model.W, matrix)
				}
				at += len(values)
			}
			agree := func(step int, what string, got []float32, want []reference.Matrix) {
				t.Helper()
				at := 0
				for k, w := range want {
					exact := slices.Concat(w...)
					largest := max(slices.Max(exact), -slices.Min(exact))
					for i, v := range exact {
						if g := float64(got[at+i]); !(math.Abs(g-v) <= tolerance*largest) {
							t.Fatalf("step %d, %s %d of %s is %v, want %v (largest %v)", step, what, i, m.Parameters[k].Name(), g, v, largest)
						}
					}
					at += len(exact)
				}
				if at != len(got) {
					t.Fatalf("%d values, the reference has %d", len(got), at)
				}
			}
			fast, exact := Adam{LR: 0.01}, &reference.Adam{Rate: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
			for step := 1; step <= 10; step++ {
				batch := sampled(t, m, d.Split.Train[:3*step], uint64(step))
				var blocks []reference.Block
				var masks []reference.Matrix
				for _, b := range batch.Blocks {
					block := reference.NewMatrix(len(b.Dst), len(b.Src), func(int, int) float64 { return 0 })
					for i := range b.Dst {
						for k, j := range b.Matrix.Row(i) {
							block[i][j] = float64(b.Matrix.RowValues(i)[k])
						}
					}
					blocks = append(blocks, reference.Block{Dst: b.Dst, Src: b.Src, P: block})
					masks = append(masks, reference.NewMatrix(len(b.Dst), o.Hidden, func(int, int) float64 { return 1 }))
				}
				loss, err := p.Step(batch, 0)
				if err != nil {
					t.Fatal(err)
				}
				want, gradient := model.Step(blocks, x, d.Labels.Class, nil, masks)
				if !(math.Abs(loss-want) <= tolerance*want) {
					t.Fatalf("step %d: loss %v, want %v", step, loss, want)
				}
				agree(step, "gradient", p.Gradients(), gradient.Parameters())
				if err := p.Advance(batch, 0, fast); err != nil {
					t.Fatal(err)
				}
				if _, err := p.Settle(); err != nil {
					t.Fatal(err)
				}
				if err := p.Pull(true); err != nil {
					t.Fatal(err)
				}
				exact.Step(model.Parameters(), gradient.Parameters())
			}
			agree(10, "value", p.Parameters(), model.Parameters())
		})
	}
}
