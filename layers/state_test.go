package layers

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

// TestHistoryZeroError checks that histories equal to the true activations make the sampled
// model agree with full propagation to 1e-5, for every sample. With other histories it must
// not agree.
func TestHistoryZeroError(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, features, hidden, classes = 300, 12, 17, 6
	p := graph.NewLaplacian(randomGraph(t, rng, n, 1500, true))
	x, y := randomFeatures(rng, n, features), randomLabels(rng, n, classes)
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	for _, depth := range []int{1, 2, 3} {
		sizes := slices.Repeat([]int{2}, depth)
		sampler := &samplers.Neighbor{Laplacian: p, Sizes: sizes, Control: samplers.ControlRolling}
		batch := NewBatch(G.NewGraph(), sampler)
		m, err := NewGCN(batch, x, y, GCNOptions{Hidden: hidden, Dropout: 0.5, Norm: []NormKind{NormNone, NormNone, NormLayer}[depth-1], Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		machine := G.NewTapeMachine(batch.Graph())
		defer machine.Close()
		if got, want := batch.StateBytes(), int64(4*n*hidden*(depth-1)); got != want {
			t.Errorf("%d layers: state of %d bytes, want %d", depth, got, want)
		}
		run := func(s samplers.Sampler, seeds []int32) []float32 {
			var drawn samplers.MiniBatch
			if err := cmp.Or(samplers.Prepare(s), s.Sample(context.Background(), seeds, rng, &drawn)); err != nil {
				t.Fatal(err)
			}
			if err := batch.Set(&drawn, false, 0); err != nil {
				t.Fatal(err)
			}
			if err := machine.RunAll(); err != nil {
				t.Fatal(err)
			}
			logits := slices.Clone(m.Logits.Value().Data().([]float32))
			machine.Reset()
			return logits
		}
		wrong := func(seeds []int32) float64 {
			want, err := m.Infer(context.Background(), p, x, seeds)
			if err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for k, v := range run(sampler, seeds) {
				worst = max(worst, math.Abs(float64(v-want[k])))
			}
			return worst
		}
		if worst := wrong(all[:40]); depth > 1 && worst < 1e-3 {
			t.Errorf("%d layers: with no history the error is only %v", depth, worst)
		}
		// With all neighbours drawn the rows are exact, and Commit stores the true history.
		run(&samplers.Neighbor{Laplacian: p, Sizes: slices.Repeat([]int{n}, depth), Control: samplers.ControlRolling}, all)
		batch.Commit()
		for range 5 {
			seeds := slices.Clone(all)
			rng.Shuffle(n, func(i, j int) { seeds[i], seeds[j] = seeds[j], seeds[i] })
			if worst := wrong(seeds[:40]); worst > 1e-5 {
				t.Errorf("%d layers: with the true history the error is %v", depth, worst)
			}
		}
		names := map[string]bool{}
		for _, s := range batch.State() {
			names[s.Name] = true
		}
		if len(names) != depth-1 {
			t.Errorf("%d layers: states %v", depth, names)
		}
	}
}
