package train

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

// TestModelInUse uses a model that is being trained: other training is refused, scoring
// is not.
func TestModelInUse(t *testing.T) {
	d := smallData(t, 300, 3)
	m := smallModel(t, d)
	o := short()
	want := mustFit(t, smallModel(t, d), d, o)
	var refused, done int
	inside := o
	inside.Progress = func(p Progress) {
		if p.Batch != 10 {
			return
		}
		var others sync.WaitGroup
		var errs [3]error
		for k, use := range []func() error{
			func() error { _, err := Fit(context.Background(), m, d, o); return err },
			func() error { _, err := Fit(context.Background(), m, d, o); return err },
			func() error { _, err := NewProgram(m); return err },
		} {
			others.Go(func() { errs[k] = use() })
		}
		others.Wait()
		for k, err := range errs {
			if errors.Is(err, ErrModelInUse) {
				refused++
			} else {
				t.Errorf("use %d: %v", k, err)
			}
		}
		if _, err := Evaluate(context.Background(), m, d, d.Split.Valid); err != nil {
			t.Errorf("scoring during training: %v", err)
		}
		done++
	}
	h := mustFit(t, m, d, inside)
	if refused != 3 || done != 1 || h.Test != want.Test || h.Best != want.Best {
		t.Errorf("%d refused; test %v, best %v, want %v and %v", refused, h.Test, h.Best, want.Test, want.Best)
	}
	// After training, also after an error, the model is free.
	o.MaxBatches = 7
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Fit(ended, m, d, o); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	mustFit(t, m, d, o)
	program, err := NewProgram(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestModelTooLarge asks for a model that is larger than any memory.
func TestModelTooLarge(t *testing.T) {
	if memory.Check("", 1<<60) == nil {
		t.Skip("this system does not tell how much memory there is")
	}
	d := smallData(t, 100, 3)
	for _, o := range []layers.GCNOptions{
		{Hidden: 40000}, {Hidden: math.MaxInt32, Norm: layers.NormLayer, Residual: true}, {Hidden: math.MaxInt},
	} {
		batch := layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: d.Laplacian(), Depth: 1000})
		if _, err := layers.NewGCN(batch, d.Features, d.Labels, o); !errors.Is(err, memory.ErrTooLarge) {
			t.Errorf("width %d: error %v", o.Hidden, err)
		}
	}
}
