package samplers

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
)

// Prepared returns s, prepared. It panics if that fails.
func Prepared[S Sampler](s S) S {
	if err := Prepare(s); err != nil {
		panic(err)
	}
	return s
}

// TestUnprepared checks that a sampler that was not prepared says so.
func TestUnprepared(t *testing.T) {
	p := graph.NewLaplacian(randomGraph(10, 20, false, 1))
	for _, m := range Methods() {
		s := m.Sampler
		if err := (&Config{Laplacian: p, Layers: 2, Sizes: []int{3, 3}}).apply(s); err != nil {
			t.Fatal(err)
		}
		var batch MiniBatch
		if err := s.Sample(t.Context(), []int32{0}, rand.New(NewSource(1, 0, 0)), &batch); !errors.Is(err, errUnprepared) {
			t.Errorf("%s: error %v", m.Name, err)
		}
		if err := cmp.Or(Prepare(s), Prepare(s), s.Sample(t.Context(), []int32{0}, rand.New(NewSource(1, 0, 0)), &batch)); err != nil {
			t.Errorf("%s: prepared: %v", m.Name, err)
		}
	}
}
