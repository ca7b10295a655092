package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

// Pilot trains the paper's model for some mini-batches with the method ladies-cv, without its
// linear control. It gives a study of control variates the activations H that the second convolution
// reads during training, and earlier activations H̄ of known age.
//
// H has a dropout mask, since a training step reads H with one. H̄ has none: histories keep
// activations of inference.
type Pilot struct {
	Data *datasets.Data // required; validation and test nodes are not used
	Ages []int          // of the histories, in mini-batches, each from 0 to Batches

	Hidden  int     `default:"256" least:"1"`
	Dropout float64 `default:"0.2"` // layers.NoDropout: none
	Batch   int     `default:"512" least:"1"`
	Samples int     `default:"512" least:"1"` // nodes drawn in each sampled layer
	Batches int     `default:"200" least:"1"` // mini-batches trained
	Seed    uint64  // of the model, the mini-batches and the mask
}

// History is the product of earlier activations H̄ with the current weight W.
type History struct {
	Age     int             // updates of the parameters since H̄
	Product *graph.Features // H̄W, one row a node
}

// Run trains, and returns HW of the convolution and H̄W of each age. Cost: training, then
// inference of all nodes up to the convolution for each age. Memory: 4 bytes for each node
// and hidden unit, for each age and twice more.
func (s Pilot) Run(ctx context.Context) (hw *graph.Features, histories []History, err error) {
	if err := s.check(); err != nil {
		return nil, nil, err
	}
	d := trainingOnly(s.Data)
	values := memory.Product(int64(d.Nodes()), int64(s.Hidden), int64(len(s.Ages)+2))
	if err := memory.Check(fmt.Sprintf("study: activations of %d nodes, of %d ages", d.Nodes(), len(s.Ages)), memory.Product(4, values)); err != nil {
		return nil, nil, err
	}
	m, past, err := s.train(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	h, err := s.activations(ctx, m, d)
	if err != nil {
		return nil, nil, err
	}
	s.mask(h.Data)
	w := parameterValues(m.Convolutions[1].W)
	if hw, err = Product(h, w); err != nil {
		return nil, nil, err
	}
	w = slices.Clone(w) // the parameters change below
	for k, age := range s.Ages {
		setParameters(m, past[k])
		if h, err = s.activations(ctx, m, d); err != nil {
			return nil, nil, err
		}
		product, err := Product(h, w)
		if err != nil {
			return nil, nil, err
		}
		histories = append(histories, History{Age: age, Product: product})
	}
	return hw, histories, nil
}

func (s *Pilot) check() error {
	if err := setDefaults(s); err != nil {
		return err
	}
	switch {
	case s.Data == nil || s.Data.Graph == nil || s.Data.Features == nil || s.Data.Labels == nil:
		return errors.New("study: a pilot run needs data")
	case !(s.Dropout < 1):
		return fmt.Errorf("study: a pilot run of dropout %v: want a rate below 1", s.Dropout)
	}
	for _, age := range s.Ages {
		if age < 0 || age > s.Batches {
			return fmt.Errorf("study: a history of age %d in a pilot run of %d mini-batches, want 0 to %[2]d", age, s.Batches)
		}
	}
	return nil
}

// train returns the trained model, and the parameters at each age.
func (s *Pilot) train(ctx context.Context, d *datasets.Data) (*layers.GCN, [][]float32, error) {
	exact, err := layers.NewExactInput(ctx, d.Laplacian(), d.Features, d.Propagated, nil)
	if err != nil {
		return nil, nil, err
	}
	candidate := Candidate{Method: "ladies-cv", Samples: []int{s.Samples}, ExactInput: true}
	m, err := candidate.model(d, exact, 2, layers.GCNOptions{Hidden: s.Hidden, Dropout: s.Dropout, Seed: s.Seed})
	if err != nil {
		return nil, nil, err
	}
	past := make([][]float32, len(s.Ages))
	keep := func(batch int) {
		for k, age := range s.Ages {
			if batch == s.Batches-age {
				past[k] = parameters(m)
			}
		}
	}
	keep(0)
	_, err = train.Fit(ctx, m, d, train.Options{
		Batch: s.Batch, MaxBatches: s.Batches, EvalEvery: s.Batches, Seed: s.Seed,
		Progress: func(p train.Progress) { keep(p.Batch) },
	})
	return m, past, err
}

// activations returns the input H of the convolution, of all nodes.
func (s *Pilot) activations(ctx context.Context, m *layers.GCN, d *datasets.Data) (*graph.Features, error) {
	values, _, err := m.InferHidden(ctx, d.Laplacian(), d.Features, nil, 1)
	if err != nil {
		return nil, err
	}
	return &graph.Features{Rows: d.Nodes(), Cols: s.Hidden, Data: values}, nil
}

// mask drops values of H, as training does.
func (s *Pilot) mask(h []float32) {
	if s.Dropout <= 0 {
		return
	}
	rng := rand.New(samplers.NewSource(s.Seed, math.MaxUint64, 0)) // no mini-batch has this number
	scale := float32(1 / (1 - s.Dropout))
	for k := range h {
		if rng.Float64() < s.Dropout {
			h[k] = 0
		} else {
			h[k] *= scale
		}
	}
}

// parameterValues returns the memory of a parameter of a model that NewGCN made.
func parameterValues(n *G.Node) []float32 { return n.Value().(*tensor.Dense).Float32s() }

// parameters returns a copy of all parameters.
func parameters(m *layers.GCN) []float32 {
	var values []float32
	for _, n := range m.Parameters {
		values = append(values, parameterValues(n)...)
	}
	return values
}

// setParameters sets all parameters to a copy that parameters returned.
func setParameters(m *layers.GCN, values []float32) {
	for _, n := range m.Parameters {
		values = values[copy(parameterValues(n), values):]
	}
}
