package study

import (
	"math"
	"testing"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

// TestProducts compares HW of every layer with the model's definition over dense
// matrices: H⁰ the features, H^(l+1) = ELU(P(H^l W^l + 1⊗b^l)).
func TestProducts(t *testing.T) {
	const nodes, features, hidden = 30, 5, 4
	p, x := randomLaplacian(t, nodes, 70, false, 31), randomRows(nodes, features, 0.3, 32)
	y := &graph.Labels{Classes: 3, Class: make([]int32, nodes)}
	batch := layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: p, Depth: 3})
	m, err := layers.NewGCN(batch, x, y, layers.GCNOptions{Hidden: hidden, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	dense := p.Dense()
	h, width := make([]float64, len(x.Data)), features
	for k, v := range x.Data {
		h[k] = float64(v)
	}
	products, err := Products(t.Context(), m, p, x)
	if err != nil || len(products) != 3 {
		t.Fatalf("%d products, %v", len(products), err)
	}
	for l := range products {
		hw := products[2-l]
		w := m.Convolutions[l].W.Value().Data().([]float32)
		b := m.Convolutions[l].B.Value().Data().([]float32)
		want := make([]float64, nodes*hidden)
		for i := range nodes {
			for j := range hidden {
				for k := range width {
					want[i*hidden+j] += h[i*width+k] * float64(w[k*hidden+j])
				}
			}
		}
		for k := range want {
			if math.Abs(float64(hw.Data[k])-want[k]) > 1e-4 {
				t.Fatalf("layer %d: HW[%d] = %v, want %v", l, k, hw.Data[k], want[k])
			}
		}
		next := make([]float64, nodes*hidden)
		for i := range nodes {
			for j := range hidden {
				var z float64
				for k := range nodes {
					z += dense[i*nodes+k] * (want[k*hidden+j] + float64(b[j]))
				}
				if z < 0 {
					z = math.Expm1(z)
				}
				next[i*hidden+j] = z
			}
		}
		h, width = next, hidden
	}
	norms, err := ModelNorms(t.Context(), m, p, x)
	if err != nil {
		t.Fatal(err)
	}
	if len(norms) != 3 || len(norms[2]) != nodes {
		t.Errorf("norms of %d layers", len(norms))
	}
	if _, err := LayerProduct(t.Context(), m, p, x, 3, nil); err == nil {
		t.Error("no error about layer 4 of 3")
	}
}

func TestProduct(t *testing.T) {
	h := &graph.Features{Rows: 2, Cols: 2, Data: []float32{1, 2, 3, 4}}
	c, err := Product(h, []float32{1, 0, 2, 0, 1, -1})
	if err != nil {
		t.Fatal(err)
	}
	want := []float32{1, 2, 0, 3, 4, 2}
	for k, v := range want {
		if c.Data[k] != v {
			t.Fatalf("product %v, want %v", c.Data, want)
		}
	}
	norms := RowNorms(c)
	near(t, "norm", norms[0], math.Sqrt(5), 1e-7)
	near(t, "norm", norms[1], math.Sqrt(29), 1e-7)
	if _, err := Product(h, []float32{1, 2, 3}); err == nil {
		t.Error("no error about a weight that does not fit")
	}
}
