package train

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Adaptive is a sampler whose probabilities have parameters w. Fit trains w by Adam, with the
// settings of the model but no weight decay, one step a batch, from starting values of
// Glorot's law. Ten batches in a row use the same w, which has learned from all batches but
// the last 10 to 19. A samplers.ASGCN is one.
type Adaptive interface {
	samplers.Sampler

	// Parameters returns the number of values in w; 0: there is nothing to train.
	Parameters() int

	// With returns a sampler that differs only in w.
	With(w []float32) (samplers.Sampler, error)

	// Gradient sets grad to the derivative of the quantity to minimise with respect to w.
	// block is the top block of a batch that the sampler drew, and squares holds the
	// squared norm of each of its input nodes (ops.Slot.SquaredNorms).
	Gradient(block *graph.Block, squares, grad []float32) error
}

var _ Adaptive = (*samplers.ASGCN)(nil)

// samplerEvery is the number of batches that use the same parameters of an Adaptive.
const samplerEvery = 10

// samplerSchedule trains an Adaptive and publishes it.
type samplerSchedule struct {
	published[Adaptive] // of the parameters w
	base                Adaptive
	slot                *ops.Slot // of the top layer
	adam                Adam
	grad                []float32
	moments             AdamState
}

// newSamplerSchedule returns the schedule of a run before its first batch, or nil if the
// model's sampler has nothing to train.
func newSamplerSchedule(m *layers.Model, o Options) (*samplerSchedule, error) {
	base, ok := m.Batch.Sampler().(Adaptive)
	if !ok || base.Parameters() == 0 {
		return nil, nil
	}
	if o.Micro > 1 { // several ranks need as many
		return nil, fmt.Errorf("train: the sampler learns from each mini-batch, which another rank may have: that needs one mini-batch an update, and one process; take another sampler, such as LayerWise")
	}
	n := base.Parameters()
	s := &samplerSchedule{
		base: base, slot: m.Batch.Slot(m.Batch.Layers() - 1), adam: o.Adam, grad: make([]float32, n),
		moments: AdamState{M: make([]float32, n), V: make([]float32, n)},
	}
	s.adam.WeightDecay = 0
	const start = ^uint64(1) // no epoch has this number
	rng, most := rand.New(samplers.NewSource(o.Seed, start, 0)), math.Sqrt(6/float64(n+1))
	w := make([]float32, n)
	for k := range w {
		w[k] = float32(most * (2*rng.Float64() - 1))
	}
	if err := s.begin(samplerEvery, w, s.lawOf); err != nil {
		return nil, err
	}
	s.slot.ObserveNorms(true)
	return s, nil
}

func (s *samplerSchedule) lawOf(w []float32) (Adaptive, error) {
	law, err := s.base.With(w)
	if err != nil {
		return nil, named(err)
	}
	adaptive, ok := law.(Adaptive)
	if !ok {
		return nil, fmt.Errorf("train: %T.With returns a %T, which cannot be trained", s.base, law)
	}
	return adaptive, nil
}

func (s *samplerSchedule) observe(item *Item, batches int) error {
	squares, top := s.slot.SquaredNorms(), item.Blocks.Blocks[s.base.Layers()-1]
	if len(squares) != len(top.Src) {
		return fmt.Errorf("train: %T learns from the rows that the top layer propagates; the model reports %d rows for %d nodes", s.base, len(squares), len(top.Src))
	}
	return s.learn(top, squares, batches)
}

// learn is observe with the block of the top layer, and the squared norms of its input rows.
func (s *samplerSchedule) learn(top *graph.Block, squares []float32, batches int) error {
	law := s.laws[(batches-1)/s.every%2] // only this goroutine changes laws
	if err := law.Gradient(top, squares, s.grad); err != nil {
		return named(err)
	}
	s.moments.Steps = batches - 1
	if err := s.adam.Step(s.values, s.grad, &s.moments); err != nil {
		return err
	}
	return s.publish(batches)
}

func (s *samplerSchedule) release() { s.slot.ObserveNorms(false) }

func (s *samplerSchedule) state() []layers.State {
	return []layers.State{
		{Name: "sampler.w", Values: s.values}, {Name: "sampler.m", Values: s.moments.M}, {Name: "sampler.v", Values: s.moments.V},
		{Name: "sampler.even", Values: s.used[0]}, {Name: "sampler.odd", Values: s.used[1]},
	}
}
