package layers

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/full"
	"github.com/gcn-layerwise/gcn/internal/reference"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

// controlled is a sampler of the given sizes with refreshed histories, for batches of the
// first half of the nodes.
func controlled(p *graph.Laplacian, exact bool, sizes ...int) *samplers.LayerWise {
	s := &samplers.LayerWise{Laplacian: p, Sizes: sizes, Control: samplers.ControlRefresh, ExactInput: exact}
	for v := range p.Nodes() / 2 {
		s.Train = append(s.Train, int32(v))
	}
	return s
}

func drawn(t *testing.T, s samplers.Sampler, seeds []int32, stream uint64) *samplers.MiniBatch {
	t.Helper()
	batch := new(samplers.MiniBatch)
	if err := s.Sample(context.Background(), seeds, rand.New(samplers.NewSource(1, 0, stream)), batch); err != nil {
		t.Fatal(err)
	}
	return batch
}

// Without dropout, the estimate right after a refresh is exact for every draw: H equals H̄
// in every layer, so that a small sample gives the logits of full neighbourhoods.
func TestRefreshedControlIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 200
	for name, c := range map[string]struct {
		importance samplers.Importance
		options    GCNOptions
		sizes      []int
	}{
		"two layers":        {sizes: []int{8}},
		"three layers":      {sizes: []int{8, 11}, options: GCNOptions{Norm: NormLayer, Residual: true}},
		"four layers":       {sizes: []int{8, 3, 11}},
		"among all nodes":   {sizes: []int{8, 11}, importance: samplers.FastGCN{Flat: true}},
		"own state":         {sizes: []int{8, 11}, options: GCNOptions{HiddenResidual: ResidualLinear}},
		"transform ordered": {sizes: []int{8}, options: GCNOptions{Order: TransformFirst}},
	} {
		t.Run(name, func(t *testing.T) {
			if ops.CUDA && c.options.HiddenResidual != ResidualNone {
				t.Skip("in this build Gorgonia's own machine adds the two gradients of H in the rows of its compilation")
			}
			p := graph.NewLaplacian(randomGraph(t, rng, n, 700, true))
			x, y := randomFeatures(rng, n, 12), randomLabels(rng, n, 6)
			s := controlled(p, true, c.sizes...)
			s.Importance, s.KeepSelf = c.importance, c.options.HiddenResidual != ResidualNone
			c.options.Hidden, c.options.Dropout, c.options.ClassifierDropout, c.options.ExactInput = 17, NoDropout, NoDropout, exactInput(t, p, x)
			m := newStepped(t, NewBatch(G.NewGraph(), s), x, y, c.options)
			for round := range 3 {
				if err := m.model.Refresh(context.Background()); err != nil {
					t.Fatal(err)
				}
				seeds := []int32{3, 99, 41, 0, 7}
				want, err := m.model.Infer(context.Background(), p, x, seeds)
				if err != nil {
					t.Fatal(err)
				}
				got := m.run(t, drawn(t, s, seeds, uint64(round)), 1)[0]
				if !nearly(got, want) {
					t.Fatalf("round %d: logits %v, over full neighbourhoods %v", round, got, want)
				}
				disturb(m.model, rng)
			}
			// The parameters have changed since the refresh, so the estimate is not exact.
			seeds := []int32{3, 99, 41, 0, 7}
			want, err := m.model.Infer(context.Background(), p, x, seeds)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.run(t, drawn(t, s, seeds, 9), 1)[0]; nearly(got, want) {
				t.Error("old histories give exact logits: the test shows nothing")
			}
		})
	}
}

// A refresh keeps the values before a dropout, also of a second layer without an activation.
func TestRefreshBeforeDropout(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 600
	p := graph.NewLaplacian(randomGraph(t, rng, n, 700, true))
	x, y := randomFeatures(rng, n, 12), randomLabels(rng, n, 6)
	var want []float32
	for _, dropout := range []float64{NoDropout, 0.5} {
		m := newStepped(t, NewBatch(G.NewGraph(), controlled(p, false, 8, 11)), x, y, GCNOptions{Hidden: 17, Dropout: dropout, PreNorm: true, FeedForward: true}).model
		if err := m.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := historyRows(m.Batch.Slot(1).Histories()[0])
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Error("a dropout changes the history")
		}
	}
}

// historyRows returns a copy of the rows in single precision.
func historyRows(h *ops.History) []float32 {
	width := h.Width()
	n := int(h.Bytes()) / width / 4
	if h.Values() == nil { // in half precision
		n *= 2
	}
	var rows []float32
	for k := range n {
		rows = append(rows, h.Row(k)...)
	}
	return rows
}

// disturb changes all parameters.
func disturb(m *GCN, rng *rand.Rand) {
	for _, p := range m.Parameters {
		values := p.Value().Data().([]float32)
		for k := range values {
			values[k] += float32(rng.NormFloat64()) / 5
		}
	}
}

// TestRefreshedControlUnbiased draws 20,000 blocks by every legal combination of parts. The
// matrix [P̃, −P̃, I] over H, H̄ and PH̄ gives P̃(H − H̄) + PH̄ in each, and PH in the mean, for an
// H̄ that has nothing to do with H.
func TestRefreshedControlUnbiased(t *testing.T) {
	const n, draws = 80, 20000
	rng := rand.New(rand.NewPCG(1, 2))
	p := graph.NewLaplacian(randomGraph(t, rng, n, 300, true))
	x, y := randomFeatures(rng, n, 3), randomLabels(rng, n, 3)
	px := exactInput(t, p, x)
	dense := p.Dense()
	h, history, propagated, want := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range h {
		h[i], history[i] = 1+rng.NormFloat64(), 3*rng.NormFloat64()
	}
	for i := range n {
		for j := range n {
			propagated[i] += dense[i*n+j] * history[j]
			want[i] += dense[i*n+j] * h[j]
		}
	}
	legal := 0
	for importanceName, importance := range samplers.Importances(false) {
		for drawName, draw := range samplers.Draws() {
			for weightName, weight := range samplers.Weights() {
				s := &samplers.LayerWise{Control: samplers.ControlRefresh, Importance: importance, Draw: draw, Weight: weight}
				_, err := samplers.Configure(s, samplers.Config{Laplacian: p, Layers: 1, Sizes: []int{10}, Train: []int32{3, 17, 41}, ExactInput: true})
				if err != nil {
					continue
				}
				legal++
				m := newStepped(t, NewBatch(G.NewGraph(), s), x, y, GCNOptions{Hidden: 2, ExactInput: px})
				t.Run(importanceName+" "+drawName+" "+weightName, func(t *testing.T) {
					checkRefreshed(t, m.model.Batch, s.Train, draws, h, history, propagated, want)
				})
			}
		}
	}
	if legal != 3*8 {
		t.Errorf("%d combinations have a control", legal)
	}
}

// checkRefreshed is the body of TestRefreshedControlUnbiased for one sampler.
func checkRefreshed(t *testing.T, b *Batch, nodes []int32, draws int, h, history, propagated, want []float64) {
	t.Parallel()
	if testing.Short() {
		draws = 50
	}
	r := b.refresher
	kept := make([]float64, 0, len(r.rows[0])+len(r.rows[1])) // H̄, then PH̄
	for _, v := range r.rows[0] {
		kept = append(kept, history[v])
	}
	for _, v := range r.rows[1] {
		kept = append(kept, propagated[v])
	}
	sums, squares := make([]float64, len(nodes)), make([]float64, len(nodes))
	var batch samplers.MiniBatch
	for k := range draws {
		if err := b.sampler.Sample(context.Background(), nodes, rand.New(samplers.NewSource(1, 0, uint64(k))), &batch); err != nil {
			t.Fatal(err)
		}
		block, err := b.controlled(0, batch.Blocks[0])
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range block.Dst {
			var estimate float64
			direct := propagated[v]
			for e, c := range block.Matrix.Row(i) {
				entry, j := float64(block.Matrix.RowValues(i)[e]), block.Src[c]
				estimate += entry * h[j]
				direct += entry * (h[j] - history[j])
			}
			for e, c := range block.Control.Row(i) {
				estimate += float64(block.Control.RowValues(i)[e]) * kept[c]
			}
			if math.Abs(estimate-direct) > 1e-9*(1+math.Abs(direct)) {
				t.Fatalf("draw %d: node %d has the estimate %v, P̃(H − H̄) + PH̄ is %v", k, v, estimate, direct)
			}
			sums[i] += estimate
			squares[i] += estimate * estimate
		}
	}
	if draws < 1000 {
		return
	}
	for i, v := range nodes {
		mean := sums[i] / float64(draws)
		sem := math.Sqrt((squares[i]/float64(draws) - mean*mean) / float64(draws))
		if math.Abs(mean-want[v]) > 4.5*sem+1e-4 {
			t.Errorf("node %d: mean %v, standard error %v, want %v", v, mean, sem, want[v])
		}
	}
}

// A step with old histories computes P̃(H − H̄) + PH̄ in float64 arithmetic, with and
// without dropout.
func TestRefreshedControlAgainstReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n, hidden = 150, 9
	p := graph.NewLaplacian(randomGraph(t, rng, n, 500, false))
	x, y := randomFeatures(rng, n, 7), randomLabels(rng, n, 4)
	s := controlled(p, true, 20)
	m := newStepped(t, NewBatch(G.NewGraph(), s), x, y, GCNOptions{Hidden: hidden, Dropout: 0.4, ClassifierDropout: NoDropout, ExactInput: exactInput(t, p, x)})
	activations := func() matrix { // of the first convolution, at all nodes
		dense := matrixOf(n, n, p.Dense())
		z := dense.Times(matrixOf(n, x.Cols, x.Data).Times(parameterOf(m.model.Parameters[0])).PlusRow(parameterOf(m.model.Parameters[1])))
		return z.Each(func(i, j int) float64 { return reference.ELU(z[i][j]) })
	}
	disturb(m.model, rng)
	if err := m.model.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	old := activations()
	propagatedOld := matrixOf(n, n, p.Dense()).Times(old)
	disturb(m.model, rng)
	now := activations()
	for k, training := range []bool{false, true} {
		batch := drawn(t, s, []int32{4, 60, 2, 33, 74}, uint64(k))
		block := batch.Blocks[0]
		if err := m.model.Batch.Set(batch, training, 77); err != nil {
			t.Fatal(err)
		}
		m.machine.Reset()
		if err := m.machine.RunAll(); err != nil {
			t.Fatal(err)
		}
		masks := masksOf(t, 77, training, []float64{0.4, 0.4}, []int{len(block.Src), len(block.Dst)}, hidden)
		change := masks[0].Each(func(i, j int) float64 {
			v := int(block.Src[i])
			return masks[0][i][j]*now[v][j] - old[v][j]
		})
		estimate := matrixOfCSR(&block.Matrix).Times(change)
		estimate = estimate.Each(func(i, j int) float64 { return estimate[i][j] + propagatedOld[int(block.Dst[i])][j] })
		z := estimate.Times(parameterOf(m.model.Parameters[2]))
		bias := parameterOf(m.model.Parameters[3])
		h := z.Each(func(i, j int) float64 {
			return masks[1][i][j] * reference.ELU(z[i][j]+p.RowSum(int(block.Dst[i]))*bias[0][j])
		})
		want := h.Times(parameterOf(m.model.Parameters[4])).PlusRow(parameterOf(m.model.Parameters[5]))
		got := m.model.Logits.Value().Data().([]float32)
		for i, g := range got {
			w := want[i/len(want[0])][i%len(want[0])]
			if math.Abs(float64(g)-w) > 1e-4*math.Max(1, math.Abs(w)) {
				t.Fatalf("training %v: logit %d is %v, want %v", training, i, g, w)
			}
		}
	}
}

// A control adds no op to the graph, and the histories follow from the state alone.
func TestRefreshedState(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 150
	p := graph.NewLaplacian(randomGraph(t, rng, n, 500, false))
	x, y := randomFeatures(rng, n, 7), randomLabels(rng, n, 4)
	o := GCNOptions{Hidden: 9, ExactInput: exactInput(t, p, x)}
	s := controlled(p, true, 20, 20)
	build := func(s samplers.Sampler) *stepped { return newStepped(t, NewBatch(G.NewGraph(), s), x, y, o) }
	m, plain := build(s), build(&samplers.LayerWise{Laplacian: p, Sizes: s.Sizes})
	if a, b := len(m.model.Batch.Graph().AllNodes()), len(plain.model.Batch.Graph().AllNodes()); a != b {
		t.Errorf("%d nodes with a control, %d without", a, b)
	}
	if plain.model.Refresher != nil || len(plain.model.Batch.State()) > 0 {
		t.Error("a model without a control has a refresher or a state")
	}
	if err := m.model.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	disturb(m.model, rng)
	batch := drawn(t, s, []int32{4, 60, 2}, 0)
	want := m.run(t, batch, 3)

	resumed := build(s)
	for k, p := range resumed.model.Parameters {
		copy(p.Value().Data().([]float32), m.model.Parameters[k].Value().Data().([]float32))
	}
	for k, state := range resumed.model.Batch.State() {
		copy(state.Values, m.model.Batch.State()[k].Values)
	}
	if err := resumed.model.Restore(context.Background()); err != nil {
		t.Fatal(err)
	}
	for k, got := range resumed.run(t, batch, 3) {
		if !slices.Equal(got, want[k]) {
			t.Fatalf("value %d differs after Restore", k)
		}
	}
	// H̄ of the neighbours of training nodes, and P·H̄ of the training nodes.
	two := build(controlled(p, true, 20))
	lists, err := full.Rows(t.Context(), p, controlled(p, true, 20).Train, 2)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := two.model.Batch.StateBytes(), int64(4*9*(len(lists[0])+n/2)); got != want {
		t.Errorf("the histories take %d bytes, want %d", got, want)
	}
}

func TestRefreshedErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 150
	p := graph.NewLaplacian(randomGraph(t, rng, n, 500, false))
	x, y := randomFeatures(rng, n, 7), randomLabels(rng, n, 4)
	s := controlled(p, true, 20)
	m := newStepped(t, NewBatch(G.NewGraph(), s), x, y, GCNOptions{Hidden: 9, ExactInput: exactInput(t, p, x)})
	batch := drawn(t, s, []int32{4}, 0)
	if err := m.model.Batch.Set(batch, true, 1); err == nil || !strings.Contains(err.Error(), "no history yet") {
		t.Errorf("before a refresh: %v", err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.model.Refresh(cancelled); err == nil {
		t.Error("a cancelled refresh is no error")
	}
	if err := m.model.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := m.model.Batch.Set(drawn(t, s, []int32{n - 1}, 0), true, 1); err == nil || !strings.Contains(err.Error(), "training nodes") {
		t.Errorf("an output without a history: %v", err)
	}
	wrong := *batch.Blocks[0]
	wrong.Src = slices.Clone(wrong.Src)
	wrong.Src[0] = n
	if err := m.model.Batch.Set(&samplers.MiniBatch{Blocks: []*graph.Block{&wrong}}, true, 1); err == nil {
		t.Error("an input outside the graph is no error")
	}
	wrong.Src = wrong.Src[:3]
	if err := m.model.Batch.Set(&samplers.MiniBatch{Blocks: []*graph.Block{&wrong}}, true, 1); err == nil {
		t.Error("a block whose parts do not fit is no error")
	}
	own := NewBatch(G.NewGraph(), s)
	if _, err := ops.Features(own.Graph(), x, own.Slot(0)); err != nil {
		t.Fatal(err)
	}
	if err := own.Set(batch, true, 1); err == nil || !strings.Contains(err.Error(), "refreshes histories") {
		t.Errorf("a model without histories: %v", err)
	}
	rolling := &samplers.LayerWise{Laplacian: p, Sizes: []int{9, 9}, Control: samplers.ControlRolling, ExactInput: true}
	if _, err := NewGCN(NewBatch(G.NewGraph(), rolling), x, y, GCNOptions{}); err == nil || !strings.Contains(err.Error(), "exact input") {
		t.Errorf("activations below a layer that reads features: %v", err)
	}
	if _, err := NewGCN(NewBatch(G.NewGraph(), controlled(p, true, 9)), x, y, GCNOptions{}); err == nil || !strings.Contains(err.Error(), "exact input") {
		t.Errorf("a refreshed control of one layer without exact input: %v", err)
	}
	if _, err := NewGCN(NewBatch(G.NewGraph(), s), x, y, GCNOptions{Hidden: 1 << 40, ExactInput: exactInput(t, p, x)}); err == nil {
		t.Error("histories larger than memory are no error")
	}
}

// Refresh and Infer, which share memory, and Restore do not disturb each other.
func TestRefreshThenInfer(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	const n = 900
	p := graph.NewLaplacian(randomGraph(t, rng, n, 1500, true))
	x, y := randomFeatures(rng, n, 12), randomLabels(rng, n, 5)
	var nodes []int32
	for v := range int32(n) {
		if v > n/3 && v%3 == 0 {
			nodes = append(nodes, v)
		}
	}
	for name, c := range map[string]struct {
		options GCNOptions
		plain   bool // no exact input
		sizes   []int
	}{
		"two layers":     {sizes: []int{8}},
		"three layers":   {sizes: []int{8, 11}, options: GCNOptions{Norm: NormLayer, Residual: true}},
		"four layers":    {sizes: []int{8, 3, 11}},
		"no exact input": {sizes: []int{8, 11}, plain: true},
		"narrowing":      {sizes: []int{8, 11}, options: GCNOptions{Form: FormEquation}},
		"half precision": {sizes: []int{8, 11}, options: GCNOptions{ControlHalf: true}},
		"other orders":   {sizes: []int{8, 11}, options: GCNOptions{Hidden: 3}, plain: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := controlled(p, !c.plain, c.sizes...)
			if c.options.Hidden == 0 {
				c.options.Hidden = 17
			}
			if !c.plain {
				c.options.ExactInput = exactInput(t, p, x)
			}
			m, err := NewGCN(NewBatch(G.NewGraph(), s), x, y, c.options)
			if err != nil {
				t.Fatal(err)
			}
			histories := func() (all []float32) {
				m.Batch.histories(func(_ string, h *ops.History) { all = append(all, historyRows(h)...) })
				return all
			}
			for round := range 3 {
				if err := m.Refresh(context.Background()); err != nil {
					t.Fatal(err)
				}
				filled := histories()
				got, err := m.Infer(context.Background(), p, x, nodes)
				if err != nil {
					t.Fatal(err)
				}
				disturb(m, rand.New(rand.NewPCG(1, uint64(round))))
				before := slices.Clone(m.Parameters[0].Value().Data().([]float32))
				if err := m.Restore(context.Background()); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(histories(), filled) {
					t.Fatalf("round %d: other histories", round)
				}
				if !slices.Equal(before, m.Parameters[0].Value().Data().([]float32)) {
					t.Fatal("Restore changed the parameters")
				}
				want, err := m.Infer(context.Background(), p, x, nodes)
				if err != nil {
					t.Fatal(err)
				}
				if err := m.Refresh(context.Background()); err != nil {
					t.Fatal(err)
				}
				again, err := m.Infer(context.Background(), p, x, nodes)
				if err != nil || !slices.Equal(again, want) {
					t.Fatalf("round %d: %v; other logits after a refresh", round, err)
				}
				if slices.Equal(got, again) {
					t.Fatal("the parameters have no effect")
				}
			}
		})
	}
}
