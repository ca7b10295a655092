package ops

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// ObserveNorms makes the Propagate op over the slot report the norms of the rows that it
// sums, for samplers that learn from them. On a GPU a run then waits for these rows.
func (s *Slot) ObserveNorms(on bool) {
	s.observed, s.squares = on, nil
}

// SquaredNorms returns ‖H_[k]‖² for each input node k of the last run, where H is the matrix
// that Propagate multiplies by P̃: the activations of the layer below, or these times the
// layer's weights, whichever product comes first. It is nil before the first run, and without
// a Propagate op. The slice is valid until the next run.
func (s *Slot) SquaredNorms() []float32 { return s.squares }

// observe computes the norms of the rows of x of nodes or, if x is nil, of the rows of h, on d if
// that is not nil.
func (s *Slot) observe(d *device.Device, x *graph.Features, nodes []int32, h plan.Matrix) error {
	row := func(k int) []float32 { return x.Row(int(nodes[k])) }
	if x == nil {
		data, err := onHost(d, h)
		if err != nil {
			return err
		}
		row = func(k int) []float32 { return data[k*h.Cols:][:h.Cols] }
	}
	s.squares = scratch(s.squares, h.Rows)
	for k := range s.squares {
		var sum float64
		for _, v := range row(k) {
			sum += float64(v) * float64(v)
		}
		s.squares[k] = float32(sum)
	}
	return nil
}
