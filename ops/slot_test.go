package ops

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	G "gorgonia.org/gorgonia"
)

// A slot of rows serves OutputFeatures and Affine; propagating over it is an error.
func TestSlotOfRows(t *testing.T) {
	x, _ := networkData()
	slot := NewSlot(3, 3)
	if err := slot.SetRows([]int32{1, 2}, []float32{1}); !errors.Is(err, graph.ErrInvalid) || slot.block != nil {
		t.Errorf("one sum for two nodes: %v", err)
	}
	if err := slot.SetRows([]int32{2, 0}, []float32{0.5, 2}); err != nil {
		t.Fatal(err)
	}
	run := func(features func(*G.ExprGraph, *graph.Features, *Slot) (*G.Node, error), build func(f *G.Node) (*G.Node, error)) ([]float32, error) {
		g := G.NewGraph()
		f, err := features(g, x, slot)
		if err != nil {
			t.Fatal(err)
		}
		n, err := build(f)
		if err != nil {
			t.Fatal(err)
		}
		m := G.NewTapeMachine(g)
		defer m.Close()
		if err := m.RunAll(); err != nil {
			return nil, err
		}
		return n.Value().Data().([]float32), nil
	}
	w := input{"w", x.Cols, 1, make([]float32, x.Cols)}
	w.data[0] = 1
	b := input{"b", 0, 1, []float32{3}}
	got, err := run(OutputFeatures, func(f *G.Node) (*G.Node, error) { return Affine(f, w.node(f.Graph()), b.node(f.Graph()), slot) })
	if want := []float32{x.Row(2)[0] + 1.5, x.Row(0)[0] + 6}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for _, features := range []func(*G.ExprGraph, *graph.Features, *Slot) (*G.Node, error){OutputFeatures, Features} {
		if _, err := run(features, func(f *G.Node) (*G.Node, error) {
			p, err := Propagate(slot, f)
			if err != nil {
				return nil, err
			}
			return MatMul(p, w.node(f.Graph()))
		}); err == nil || !strings.Contains(err.Error(), ErrShape.Error()) {
			t.Errorf("Propagate: %v", err)
		}
	}
}
