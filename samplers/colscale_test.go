package samplers_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/samplers/samplertest"
)

// TestColScale checks that ColScale turns the entries of a block into the sampler's weights
// of edges, times a factor of the row. With KeepSelf every row holds its own node, whose
// weight is 1: that tells the factor. The weights of Full and Cluster are 1, and LayerWise
// has one weight for each column.
func TestColScale(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		p := graph.NewLaplacian(samplertest.RandomGraph(t, 200, 600, weighted, 4))
		for _, method := range samplers.Methods() {
			if method.Refreshed() || method.Learned() {
				continue // attention does not go with these, so they keep no row's own node
			}
			s, err := samplers.ByName(method.Name, samplers.Config{Laplacian: p, Layers: 2, Sizes: []int{9}, KeepSelf: true})
			if err != nil {
				t.Fatal(err)
			}
			var batch samplers.MiniBatch
			if err := samplers.Prepared(s).Sample(t.Context(), []int32{1, 50, 7, 120}, rand.New(samplers.NewSource(1, 2, 3)), &batch); err != nil {
				t.Fatal(err)
			}
			for l, b := range batch.Blocks {
				if len(b.ColScale) != len(b.Src) {
					t.Fatalf("%s: layer %d has %d column scales for %d input nodes", method.Name, l, len(b.ColScale), len(b.Src))
				}
				checkColScale(t, p, method.Name, b)
			}
		}
	}
}

func checkColScale(t *testing.T, p *graph.Laplacian, method string, b *graph.Block) {
	t.Helper()
	columns := make(map[int32]float64)
	for i, v := range b.Dst {
		row, values := b.Matrix.Row(i), b.Matrix.RowValues(i)
		own := slices.IndexFunc(row, func(j int32) bool { return b.Src[j] == v })
		if own < 0 {
			t.Fatalf("%s: node %d is not in its own row", method, v)
		}
		weight := func(k int) float64 { return float64(values[k]) / float64(b.ColScale[row[k]]) }
		for k, j := range row {
			if k == own {
				continue
			}
			// ã_ij as the Laplacian has it.
			edge := float64(p.At(int(v), int(b.Src[j]))) / float64(p.RowScale[v]) / float64(p.ColScale[b.Src[j]])
			got := weight(k) / weight(own) / edge
			switch {
			case method == "full" || method == "cluster":
				if math.Abs(got-1) > 1e-5 {
					t.Fatalf("%s: edge of node %d has weight %v, want 1", method, v, got)
				}
			case strings.Contains(method, "ladies") || strings.HasPrefix(method, "fastgcn"):
				if want, seen := columns[j]; seen && math.Abs(got/want-1) > 1e-5 {
					t.Fatalf("%s: a drawn node has weights %v and %v", method, want, got)
				}
				columns[j] = got
			default:
				if !(got > 0) {
					t.Fatalf("%s: edge of node %d has weight %v", method, v, got)
				}
			}
		}
	}
}
