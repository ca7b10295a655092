package ops

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// TestScores compares with each node's own loss, as the loss op computes it for the node
// alone, and with the norm of this loss's derivative by central differences.
func TestScores(t *testing.T) {
	const nodes, outputs = 7, 5
	random := rand.New(rand.NewPCG(1, 2))
	nan := float32(math.NaN())
	classes := &graph.Labels{Classes: outputs, Class: []int32{0, 4, -1, 2, 2, 1, 3}}
	tasks := &graph.Labels{Tasks: outputs, Multi: make([]float32, nodes*outputs)}
	for k := range tasks.Multi {
		tasks.Multi[k] = float32(random.IntN(2))
		if k/outputs == 2 || k%11 == 3 {
			tasks.Multi[k] = nan
		}
	}
	logits := make([]float64, nodes*outputs)
	for k := range logits {
		logits[k] = 6 * random.NormFloat64()
	}
	for _, y := range []*graph.Labels{classes, tasks} {
		for node := range int32(nodes) {
			row := logits[node*outputs : (node+1)*outputs]
			loss := func() float64 { return ownLoss(row, y, int(node)) }
			var squares float64
			for j := range row {
				const h = 1e-5
				at := row[j]
				row[j] = at + h
				above := loss()
				row[j] = at - h
				squares += math.Pow((above-loss())/(2*h), 2)
				row[j] = at
			}
			for score, want := range map[Score]float64{LossScore: loss(), GradientScore: math.Sqrt(squares)} {
				targets := NewTargets(y)
				targets.Observe(score)
				if err := targets.Set([]int32{node}, nil); err != nil {
					t.Fatal(err)
				}
				z := make([]float32, outputs)
				for j, v := range row {
					z[j] = float32(v)
				}
				if err := targets.observe(nil, plan.Matrix{Rows: len(z) / outputs, Cols: outputs, Floats: plan.Floats{Data: z}}); err != nil {
					t.Fatal(err)
				}
				got := float64(targets.Scores()[0])
				if y == classes && node == 2 || y == tasks && node == 2 {
					if got == got {
						t.Errorf("node without a label has score %v", got)
					}
					continue
				}
				if math.Abs(got-want) > 1e-5*(1+want) {
					t.Errorf("%d tasks, node %d, score %d: %v, want %v", y.Tasks, node, score, got, want)
				}
			}
		}
	}
}

// ownLoss is the loss of one node, written as in the definition.
func ownLoss(z []float64, y *graph.Labels, node int) float64 {
	if y.Tasks == 0 {
		var sum float64
		for _, v := range z {
			sum += math.Exp(v)
		}
		if c := y.Class[node]; c >= 0 {
			return math.Log(sum) - z[c]
		}
		return math.NaN()
	}
	var sum, labelled float64
	for j, v := range z {
		switch p := 1 / (1 + math.Exp(-v)); y.Multi[node*y.Tasks+j] {
		case 0:
			sum -= math.Log(1 - p)
			labelled++
		case 1:
			sum -= math.Log(p)
			labelled++
		}
	}
	return sum / labelled
}
