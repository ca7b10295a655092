package ops

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	G "gorgonia.org/gorgonia"
)

// TestSquaredNorms compares the reported norms with the rows that Propagate sums: of a matrix,
// and of features that it gathers by itself. The op of the gradient changes nothing.
func TestSquaredNorms(t *testing.T) {
	const dst, src, width, nodes = 3, 5, 4, 9
	rng := rand.New(rand.NewPCG(1, 2))
	x := &graph.Features{Rows: nodes, Cols: width, Data: randomValues(rng, nodes*width)}
	block := &graph.Block{Dst: []int32{1, 2, 3}, Src: []int32{8, 1, 0, 5, 2}}
	block.Matrix = graph.CSR{Rows: dst, Cols: src, Ptr: []int64{0, 2, 3, 4}, Idx: []int32{0, 3, 1, 4}, Val: []float32{1, 2, 3, 4}}
	block.Finish()
	h := randomValues(rng, src*width)
	for _, x := range []*graph.Features{nil, x, x.ToSparse()} {
		gathers := x != nil
		g, slot := G.NewGraph(), NewSlot(dst, src)
		in, rows := input{"h", src, width, h}.node(g), h
		if gathers {
			var err error
			if in, err = Features(g, x, slot); err != nil {
				t.Fatal(err)
			}
			rows = nil
			for _, v := range block.Src {
				rows = append(rows, x.Row(int(v))...)
			}
		}
		out, err := Propagate(slot, in)
		if err != nil {
			t.Fatal(err)
		}
		total, err := Sum(out)
		if err != nil {
			t.Fatal(err)
		}
		if !gathers {
			if _, err := G.Grad(total, in); err != nil {
				t.Fatal(err)
			}
		}
		if err := slot.Set(block); err != nil {
			t.Fatal(err)
		}
		for _, on := range []bool{true, false} {
			slot.ObserveNorms(on)
			machine := G.NewTapeMachine(g)
			if err := machine.RunAll(); err != nil {
				t.Fatal(err)
			}
			machine.Close()
			got := slot.SquaredNorms()
			if !on {
				if got != nil {
					t.Errorf("norms %v of a slot that observes none", got)
				}
				continue
			}
			if len(got) != src {
				t.Fatalf("gathers %v: %d norms for %d input nodes", gathers, len(got), src)
			}
			for k, square := range got {
				var want float64
				for _, v := range rows[k*width : (k+1)*width] {
					want += float64(v) * float64(v)
				}
				if math.Abs(float64(square)-want) > 1e-6*want {
					t.Errorf("gathers %v: input node %d has the squared norm %v, want %v", gathers, k, square, want)
				}
			}
		}
	}
}
