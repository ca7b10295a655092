package samplers

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
)

// Control is the control variate of a LayerWise or a Neighbor. With one, a layer that reads
// activations H estimates PH by
//
//	P̃(H − H̄) + P·H̄
//
// with a history H̄ of activations. Given
// H and H̄, the estimate is unbiased for every H̄ that does not depend on the draw, since
// E[P̃] = P. Its variance is the variance of P̃(H − H̄). It falls as activations stop changing,
// down to the variance of the dropout masks in H, which H̄ does not have; FullDropoutNoise
// makes this rest as small as over all neighbours. The gradient runs over P̃ᵀ, without a control.
type Control string

const (
	ControlNone    Control = ""
	ControlRefresh Control = "refresh" // H̄ and P·H̄ are computed at some batches, over full neighbourhoods
	ControlRolling Control = "rolling" // H̄ holds the last activations of each node; P·H̄ is summed in each batch
)

// check returns an error if the sampler's parts do not go with its control or with
// FullDropoutNoise.
func (s *LayerWise) check() error {
	controlled, biased := s.Control != ControlNone, s.BiasedPart()
	switch {
	case controlled && s.Control != ControlRefresh && s.Control != ControlRolling:
		return fmt.Errorf("samplers: unknown control %q; known: %s, %s", s.Control, ControlRefresh, ControlRolling)
	case biased != "" && (controlled || s.FullDropoutNoise):
		return fmt.Errorf("samplers: a control or the full dropout noise with %s: E[P̃] is not P, so the bias would stay; use unbiased weights", biased)
	case controlled && !s.ExactInput && len(s.Sizes) == 1:
		return fmt.Errorf("samplers: control %v: the only layer reads features, so there are no activations to keep; use exact input or more layers", s.Control)
	case s.FullDropoutNoise && s.KeepSelf:
		return fmt.Errorf("samplers: the full dropout noise does not go with KeepSelf: a row's own entry and the others in its column have different weights")
	case controlled && s.Train != nil:
		return new(nodeTable).check("training node", s.Train, s.Laplacian.Nodes())
	}
	return nil
}

// BiasedPart names a part by which E[P̃] is not P, or is "".
func (s *LayerWise) BiasedPart() string {
	_, naive := s.Weight.(Naive)
	_, repeats := s.Draw.(WithReplacement)
	switch {
	case naive && !repeats:
		return "naive weights of a draw without replacement"
	case s.NormalizeRows:
		return "NormalizeRows"
	case s.IncludeRows:
		return "IncludeRows"
	}
	return ""
}

// HistoryNodes returns the number of nodes whose activations the model must keep for layer
// l, counted from the input: with ControlRolling all nodes of the graph, for layers that
// read activations; else 0.
func (s *LayerWise) HistoryNodes(l int) int {
	return s.Control.historyNodes(s.Laplacian, l, s.ExactInput)
}

func (c Control) historyNodes(p *graph.Laplacian, l int, exactInput bool) int {
	if c != ControlRolling || l == 0 && !exactInput || p == nil {
		return 0
	}
	return p.Nodes()
}

// Refreshed reports whether the sampler has ControlRefresh. The model then keeps, for the
// layers that read activations, H̄ and P·H̄ of the nodes that batches of the given output
// nodes can read; nil outputs mean all nodes.
func (s *LayerWise) Refreshed() (p *graph.Laplacian, outputs []int32, refreshed bool) {
	return s.Laplacian, s.Train, s.Control == ControlRefresh
}

// addControl puts the remainder P − P̃ of block's rows into its control, and P's row sums into block.
func (s *LayerWise) addControl(w *workspace, block *graph.Block) {
	p, rest := s.Laplacian, block.Control
	startMatrix(rest, len(block.Dst), p.Nodes())
	sampled := resize(&w.sampled, p.Nodes()) // 0 before and after
	for i, r := range block.Dst {
		columns, values := block.Matrix.Row(i), block.Matrix.RowValues(i)
		for k, c := range columns {
			sampled[block.Src[c]] = values[k]
		}
		for j, entry := range p.Row(int(r)) {
			if left := float32(entry - float64(sampled[j])); left != 0 {
				rest.Idx, rest.Val = append(rest.Idx, j), append(rest.Val, left)
			}
		}
		for _, c := range columns {
			sampled[block.Src[c]] = 0
		}
		rest.Ptr[i+1] = int64(len(rest.Idx))
		block.RowSums[i] = float32(p.RowSum(int(r)))
	}
}
