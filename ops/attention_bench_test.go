package ops

import (
	"math/rand/v2"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	G "gorgonia.org/gorgonia"
)

// BenchmarkAttention is forward and backward of 8 heads of width 8 over 512 rows of 30
// entries.
func BenchmarkAttention(b *testing.B) {
	const rows, entries, src, columns = 512, 30, 1024, 64
	rng := rand.New(rand.NewPCG(1, 2))
	block := &graph.Block{Matrix: graph.CSR{Rows: rows, Cols: src, Ptr: []int64{0}}}
	for j := range int32(src) {
		block.Src, block.ColScale = append(block.Src, j), append(block.ColScale, 1)
	}
	block.Dst = block.Src[:rows]
	for range rows {
		for range entries {
			block.Matrix.Idx = append(block.Matrix.Idx, int32(rng.IntN(src)))
			block.Matrix.Val = append(block.Matrix.Val, rng.Float32())
		}
		block.Matrix.Ptr = append(block.Matrix.Ptr, int64(len(block.Matrix.Idx)))
	}
	block.Finish()
	slot := NewSlot(rows, src)
	if err := slot.Set(block); err != nil {
		b.Fatal(err)
	}
	e := attentionExpression(rng, slot, columns/8, AttentionOptions{Heads: 8}, true)
	g := G.NewGraph()
	var nodes G.Nodes
	for _, in := range e.inputs {
		nodes = append(nodes, in.node(g))
	}
	loss, err := e.graph(g, nodes)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := G.Grad(loss, nodes...); err != nil {
		b.Fatal(err)
	}
	m := G.NewTapeMachine(g)
	defer m.Close()
	for b.Loop() {
		if err := m.RunAll(); err != nil {
			b.Fatal(err)
		}
		m.Reset()
	}
}
