package ops

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// TestRowsAreApart computes each node that may stand between others for some rows, and for a part
// of them alone: full neighbourhoods are computed in chunks of rows. A row must have the same bits,
// unless the cut knows that the node mixes rows.
func TestRowsAreApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const all, some = 9, 4
	x := &graph.Features{Rows: networkNodes, Cols: networkFeatures, Data: randomValues(rng, networkNodes*networkFeatures)}
	v, w := randomValues(rng, networkFeatures*networkWidth), randomValues(rng, networkFeatures*networkWidth)
	nodes, sums := make([]int32, all), randomValues(rng, all)
	for k := range nodes {
		nodes[k] = int32(7 * k % networkNodes)
	}
	apart := 0
	for name, middle := range middles {
		g, slot := G.NewGraph(), NewSlot(all, all)
		rows, err := OutputFeatures(g, x, slot)
		if err != nil {
			t.Fatal(err)
		}
		h, err := MatMul(rows, input{"v", networkFeatures, networkWidth, v}.node(g))
		if err != nil {
			t.Fatal(err)
		}
		other, err := MatMul(rows, input{"w", networkFeatures, networkWidth, w}.node(g))
		if err != nil {
			t.Fatal(err)
		}
		out, err := middle(h, other)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cut, err := plan.Cut(out, []any{slot})
		if err != nil || cut[1].Mixed {
			continue // of a slot of its own, or known to mix rows
		}
		apart++
		compiled, err := plan.New(plan.Spec{Output: out, Inference: true})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		run, err := plan.NewExecutor(compiled, plan.ExecutorOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, n := range g.AllNodes() {
			if op, ok := n.Op().(*batchNorm); ok { // its moments are of the rows in training alone
				plan.Use(run.Run, op.mode, new(Mode))
			}
		}
		var values [2][]float32
		for k, n := range []int{all, some} {
			if err := slot.SetRows(nodes[:n], sums[:n]); err != nil {
				t.Fatal(err)
			}
			if err := run.Compute(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if values[k], err = run.Result(0).Append(nil); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if len(values[1]) == 0 || !slices.Equal(values[1], values[0][:len(values[1])]) {
			t.Errorf("%s: the rows differ without the others: a level with an op that mixes rows must be computed whole", name)
		}
	}
	if apart < 15 {
		t.Errorf("only %d nodes were compared", apart)
	}
}
