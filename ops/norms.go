package ops

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
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

// observeRows computes the norms of the rows of h, row-major.
func (s *Slot) observeRows(h []float32, cols int) {
	s.squares = scratch(s.squares, len(h)/cols)
	for k := range s.squares {
		s.squares[k] = squaredNorm(h[k*cols : (k+1)*cols])
	}
}

// observeFeatures computes the norms of the features of nodes.
func (s *Slot) observeFeatures(x *graph.Features, nodes []int32) {
	s.squares = scratch(s.squares, len(nodes))
	for k, v := range nodes {
		switch m := x.Sparse; {
		case m == nil:
			s.squares[k] = squaredNorm(x.Row(int(v)))
		case m.Val == nil:
			s.squares[k] = float32(m.Degree(int(v)))
		default:
			s.squares[k] = squaredNorm(m.RowValues(int(v)))
		}
	}
}

// observePlaced is observeRows for rows on a device.
func (s *Slot) observePlaced(d *device.Device, h device.Pointer, rows, cols int) error {
	s.read = scratch(s.read, rows*cols)
	if err := device.Read(d, s.read, h); err != nil {
		return err
	}
	s.observeRows(s.read, cols)
	return nil
}

func squaredNorm(x []float32) float32 {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return float32(sum)
}
