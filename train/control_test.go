package train

import (
	"context"
	"errors"
	"slices"
	"testing"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

func controlledModel(t testing.TB, d *datasets.Data, control samplers.Control, hidden int, sizes ...int) *layers.GCN {
	t.Helper()
	return controlledOver(t, d, &samplers.LayerWise{Sizes: sizes, Control: control}, hidden)
}

// controlledOver returns a model with exact input over s, whose data it sets.
func controlledOver(t testing.TB, d *datasets.Data, s *samplers.LayerWise, hidden int) *layers.GCN {
	t.Helper()
	return controlledWith(t, d, s, layers.GCNOptions{Hidden: hidden})
}

// linearModel returns a model with a refreshed control, the linear one and the noise of dropout
// over all neighbours: ladies-cv.
func linearModel(t testing.TB, d *datasets.Data, hidden int) *layers.GCN {
	t.Helper()
	s := &samplers.LayerWise{Sizes: []int{24}, Control: samplers.ControlRefresh, FullDropoutNoise: true}
	return controlledWith(t, d, s, layers.GCNOptions{Hidden: hidden, ControlLinear: true})
}

func controlledWith(t testing.TB, d *datasets.Data, s *samplers.LayerWise, o layers.GCNOptions) *layers.GCN {
	t.Helper()
	s.Laplacian, s.Train, s.ExactInput = d.Laplacian(), d.Split.Train, true
	o.Seed, o.ExactInput = 3, exactInput(t, d)
	m, err := layers.NewGCN(layers.NewBatch(G.NewGraph(), s), d.Features, d.Labels, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestControlGradients compares gradients with central differences of the loss while the
// histories, of other parameters, stay as they are.
func TestControlGradients(t *testing.T) {
	d := smallData(t, 60, 3)
	for _, full := range []bool{false, true} {
		checkControlGradients(t, d, controlledOver(t, d, &samplers.LayerWise{Sizes: []int{10, 12}, Control: samplers.ControlRefresh, FullDropoutNoise: full}, 4))
	}
	for _, after := range []bool{false, true} {
		s := &samplers.LayerWise{Sizes: []int{10}, Control: samplers.ControlRefresh, FullDropoutNoise: true}
		checkControlGradients(t, d, controlledWith(t, d, s, layers.GCNOptions{Hidden: 4, ControlLinear: true, BiasAfter: after}))
	}
}

func checkControlGradients(t *testing.T, d *datasets.Data, m *layers.GCN) {
	t.Helper()
	p := compiled(t, m.Parts())
	if err := m.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	params := p.Parameters()
	for i := range params {
		params[i] += 0.1 * float32(i%7-3)
	}
	batch := sampled(t, m.Parts(), d.Split.Train[:9], 0)
	checkStepGradients(t, p, batch, 3e-3)
}

// TestRefreshesByStepSize keeps histories longer while a schedule makes steps small.
func TestRefreshesByStepSize(t *testing.T) {
	for _, c := range []struct {
		schedule Schedule
		want     []int
	}{
		{Schedule{}, []int{0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95}},
		{Schedule{Cosine: true}, []int{0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60}},
	} {
		r := &run{model: &layers.Model{Refresher: new(layers.GCN)}}
		r.options = Options{Adam: Adam{LR: 0.03}, Schedule: c.schedule, Micro: 1, Epochs: Unlimited, MaxBatches: 100, ControlEvery: 5}
		var got []int
		for r.state.Batch = range 100 {
			if r.refreshes() {
				got = append(got, r.state.Batch)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: refreshes before batches %v, want %v", c.schedule, got, c.want)
		}
	}
}

// TestControlResumes stops runs at and between refreshes. The weights equal the weights
// of a run that was not stopped, for any number of workers.
func TestControlResumes(t *testing.T) {
	d := smallData(t, 300, 3)
	for _, c := range []struct {
		control samplers.Control
		every   int // short evaluates every 7 batches
		full    bool
		linear  bool
	}{{samplers.ControlRefresh, 6, false, false}, {samplers.ControlRefresh, 7, true, false}, {samplers.ControlRolling, 6, true, false}, {samplers.ControlRefresh, 6, true, true}} {
		control, every := c.control, c.every
		model := func() *layers.GCN {
			if c.linear {
				return linearModel(t, d, 16)
			}
			return controlledOver(t, d, &samplers.LayerWise{Sizes: []int{20, 30}, Control: control, FullDropoutNoise: c.full}, 16)
		}
		run := func(dir string, o Options, stopAt int) ([]float32, *Result, error) {
			m := model()
			o.Dir, o.ControlEvery = dir, every
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			o.Progress = func(p Progress) {
				if p.Batch == stopAt {
					cancel()
				}
			}
			h, err := Fit(ctx, m, d, o)
			return weightsOf(t, m.Parts()), h, err
		}
		want, whole, err := run("", short(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if refreshed := control == samplers.ControlRefresh; (whole.RefreshS > 0) != refreshed || whole.StateBytes == 0 {
			t.Errorf("%v: %v s of refreshes, %d bytes of state", control, whole.RefreshS, whole.StateBytes)
		}
		dir := t.TempDir()
		for _, stopAt := range []int{3, 6, 13, 28, 30, 0} {
			o := short()
			o.Resume, o.Workers = true, 1+stopAt%3
			got, h, err := run(dir, o, stopAt)
			if stopAt > 0 {
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("stopped at %d: %v", stopAt, err)
				}
				continue
			}
			if err != nil || !slices.Equal(got, want) || h.Test != whole.Test || h.BestBatch != whole.BestBatch {
				t.Errorf("%v: a run that was stopped differs: %v, test %v and %v", control, err, h.Test, whole.Test)
			}
		}
		o := short()
		o.Resume = true
		m := model()
		o.Dir, o.ControlEvery, o.MaxBatches = dir, every+1, 80
		if _, err := Fit(context.Background(), m, d, o); (err == nil) != (control == samplers.ControlRolling) {
			t.Errorf("%v: resumed with another interval: %v", control, err)
		}
	}
}
