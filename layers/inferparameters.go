package layers

import (
	"errors"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/ops"
)

// inferenceLayer holds a layer's parameters.
type inferenceLayer struct {
	in, out    int
	w, b       []float32        // b nil: no bias
	norm, pre  *inferenceNorm   // nil: none
	second     *inferenceLinear // nil: none
	skip       []float32        // nil: no residual
	own        []float32        // of ResidualLinear; nil: none
	state      []float32        // of GraphConv.OwnState; nil: none
	jump       []float32        // from the output to the logits; nil: none
	residual   Residual         // of its own input
	last       bool             // residuals are added last
	largest    bool             // the classifier reads the largest outputs
	dense      bool             // an input layer: without P
	biasAfter  bool             // b is added after the propagation
	attention  *inferenceAttention
	activation kernel.Activation

	on struct{ w, b, skip, own, state, jump plan.Span } // the same, on the processor
}

// readsFeatures reports whether the layers read rows of the features themselves, even if
// P·X is known.
func (m *inferenceModel) readsFeatures() bool {
	return m.layers[0].skip != nil || m.layers[0].residual != ResidualNone
}

// inferenceLinear holds the parameters of a linear layer after an activation.
type inferenceLinear struct {
	w, b []float32

	on struct{ w, b plan.Span } // the same, on the processor
}

// inferenceLabels holds the labels that an input layer reads, and their weights.
type inferenceLabels struct {
	all *graph.Features
	w   []float32

	on struct { // the same, on the processor
		rows plan.Rows
		w    plan.Span
	}
}

// inferenceModel holds the parameters of a GCN.
type inferenceModel struct {
	layers     []inferenceLayer
	classifier *inferenceLayer  // nil: none
	outputs    int              // width of the logits
	exact      *ExactInput      // P·X of the call's features; nil: not known
	labels     *inferenceLabels // that the input layer reads; nil: none
	ranks      Ranks            // that share the rows; nil: this process computes all
	filled     float64          // share of the features that is stored
	progress   *inferenceProgress
}

var errNoData = errors.New("layers: inference needs a Laplacian and features")

// inference returns the parameters. It checks that all sizes match.
func (m *GCN) inference(p *graph.Laplacian, x *graph.Features, nodes []int32) (*inferenceModel, error) {
	var labels *graph.Features
	if m.labels != nil {
		labels = m.labels.all
	}
	return m.inferenceOf(p, x, labels, nodes)
}

// inferenceOf is inference with the labels that the input layer reads, or nil.
func (m *GCN) inferenceOf(p *graph.Laplacian, x, labels *graph.Features, nodes []int32) (*inferenceModel, error) {
	if p == nil || x == nil {
		return nil, errNoData
	}
	if x.Rows != p.Nodes() || !x.Sized() {
		return nil, fmt.Errorf("layers: inference: %d×%d features hold %d values, for %d nodes", x.Rows, x.Cols, x.Len(), p.Nodes())
	}
	for i, v := range nodes {
		if v < 0 || int(v) >= p.Nodes() {
			return nil, fmt.Errorf("layers: inference: node %d is %d, outside [0, %d)", i, v, p.Nodes())
		}
	}
	if len(m.Convolutions) == 0 {
		return nil, fmt.Errorf("layers: inference: the model has no convolution")
	}
	model := &inferenceModel{filled: filledShare(x)}
	for _, e := range []*ExactInput{m.exact, m.known} {
		if e.of(p, x) && m.Convolutions[0].Attention == nil && m.Input == nil {
			model.exact = e
		}
	}
	width := x.Cols
	if m.Input != nil {
		layer, err := m.Input.values(m.Convolutions[0])
		if err != nil {
			return nil, err
		}
		if layer.in != width {
			return nil, fmt.Errorf("layers: inference: the input layer reads %d columns, the features have %d", layer.in, width)
		}
		if labels != nil {
			if labels.Rows != p.Nodes() {
				return nil, fmt.Errorf("layers: inference: label inputs of %d nodes for a graph of %d", labels.Rows, p.Nodes())
			}
			w, err := valueOf(m.Labels)
			if err != nil {
				return nil, err
			}
			if len(w) != labels.Cols*layer.out {
				return nil, fmt.Errorf("layers: inference: %d weights of label inputs, want %d×%d", len(w), labels.Cols, layer.out)
			}
			model.labels = &inferenceLabels{all: labels, w: w}
		}
		width = layer.out
		model.layers = append(model.layers, layer)
	}
	for l, conv := range m.Convolutions {
		layer, err := conv.values()
		if err != nil {
			return nil, err
		}
		layer.last = m.preNorm
		layer.largest = m.largest && l < len(m.Convolutions)-1
		if l < len(m.Jumps) {
			if layer.jump, err = valueOf(m.Jumps[l]); err != nil {
				return nil, err
			}
		}
		if l < len(m.Skips) {
			if layer.skip, err = valueOf(m.Skips[l]); err != nil {
				return nil, err
			}
		}
		if m.residual == ResidualLinear || m.residual == ResidualIdentity && layer.in == layer.out {
			layer.residual = m.residual
		}
		if layer.residual == ResidualLinear && l < len(m.Owns) {
			if layer.own, err = valueOf(m.Owns[l]); err != nil {
				return nil, err
			}
		}
		if layer.residual == ResidualLinear && len(layer.own) != layer.in*layer.out {
			return nil, fmt.Errorf("layers: inference: the residual of convolution %d has %d weights, want %d×%d", l, len(layer.own), layer.in, layer.out)
		}
		if layer.in != width || layer.skip != nil && len(layer.skip) != x.Cols*layer.out {
			return nil, fmt.Errorf("layers: inference: convolution %d reads %d columns, its input has %d", l, layer.in, width)
		}
		width = layer.out
		model.layers = append(model.layers, layer)
	}
	model.outputs = width
	if m.Classifier == nil {
		return model, nil
	}
	if m.Classifier.W == nil || m.Classifier.W.Shape()[0] != width {
		return nil, fmt.Errorf("layers: inference: the classifier does not read %d columns", width)
	}
	c := &inferenceLayer{in: width, out: m.Classifier.W.Shape()[1]}
	var err error
	if c.w, err = valueOf(m.Classifier.W); err != nil {
		return nil, err
	}
	if c.pre, err = normValues(m.Norm); err != nil {
		return nil, err
	}
	c.b, err = valueOf(m.Classifier.B)
	model.classifier, model.outputs = c, c.out
	return model, err
}

// values returns the parameters of an input layer below conv.
func (l *Linear) values(conv *GraphConv) (v inferenceLayer, err error) {
	if l.W == nil {
		return v, fmt.Errorf("layers: inference: the input layer has no weight")
	}
	v = inferenceLayer{in: l.W.Shape()[0], out: l.W.Shape()[1], dense: true, activation: kernel.Activation(conv.Activation)}
	if v.w, err = valueOf(l.W); err != nil {
		return v, err
	}
	v.b, err = valueOf(l.B)
	return v, err
}

// values returns the layer's parameters.
func (l *GraphConv) values() (v inferenceLayer, err error) {
	if l.W == nil {
		return v, fmt.Errorf("layers: inference: a convolution has no weight")
	}
	v.in, v.out = l.W.Shape()[0], l.W.Shape()[1]
	if l.Activation > ops.ActivationGELU {
		return v, fmt.Errorf("layers: unknown activation %v", l.Activation)
	}
	v.activation, v.biasAfter = kernel.Activation(l.Activation), l.biasAfter()
	if v.w, err = valueOf(l.W); err != nil {
		return v, err
	}
	if v.b, err = valueOf(l.B); err != nil {
		return v, err
	}
	if l.Attention != nil {
		if v.attention, err = l.Attention.values(v.out); err != nil {
			return v, err
		}
		v.out = v.attention.sizes.Out()
	}
	if v.state, err = valueOf(l.OwnState); err != nil {
		return v, err
	}
	if v.state != nil && len(v.state) != v.in*v.out {
		return v, fmt.Errorf("layers: inference: the own state of a convolution has %d weights, want %d×%d", len(v.state), v.in, v.out)
	}
	if v.pre, err = normValues(l.PreNorm); err != nil {
		return v, err
	}
	if v.norm, err = normValues(l.Norm); err != nil || l.Second == nil {
		return v, err
	}
	v.second = new(inferenceLinear)
	if v.second.w, err = valueOf(l.Second.W); err != nil {
		return v, err
	}
	v.second.b, err = valueOf(l.Second.B)
	if err == nil && len(v.second.w) != v.out*v.out {
		err = fmt.Errorf("layers: inference: a second layer of %d weights, want %d×%d", len(v.second.w), v.out, v.out)
	}
	return v, err
}

// load puts the parameters on the processor.
func (m *inferenceModel) load(k plan.Kernels) error {
	layers := make([]*inferenceLayer, 0, len(m.layers)+1)
	for l := range m.layers {
		layers = append(layers, &m.layers[l])
	}
	if m.classifier != nil {
		layers = append(layers, m.classifier)
	}
	var all [][]float32
	for _, l := range layers {
		all = append(all, l.w, l.b, l.skip, l.own)
		for _, w := range [][]float32{l.state, l.jump} {
			if w != nil {
				all = append(all, w)
			}
		}
		for _, n := range []*inferenceNorm{l.norm, l.pre} {
			if n != nil {
				all = append(all, n.gain, n.shift)
			}
		}
		if s := l.second; s != nil {
			all = append(all, s.w, s.b)
		}
		if a := l.attention; a != nil {
			all = append(all, a.source, a.target)
		}
	}
	if m.labels != nil {
		all = append(all, m.labels.w)
	}
	spans, err := k.Load(all)
	if err != nil {
		return err
	}
	for _, l := range layers {
		l.on.w, l.on.b, l.on.skip, l.on.own = spans[0], spans[1], spans[2], spans[3]
		if spans = spans[4:]; l.state != nil {
			l.on.state, spans = spans[0], spans[1:]
		}
		if l.jump != nil {
			l.on.jump, spans = spans[0], spans[1:]
		}
		for _, n := range []*inferenceNorm{l.norm, l.pre} {
			if n != nil {
				n.on.gain, n.on.shift = spans[0], spans[1]
				spans = spans[2:]
			}
		}
		if s := l.second; s != nil {
			s.on.w, s.on.b = spans[0], spans[1]
			spans = spans[2:]
		}
		if a := l.attention; a != nil {
			a.on.source, a.on.target = spans[0], spans[1]
			spans = spans[2:]
		}
	}
	if m.labels != nil {
		m.labels.on.w = spans[0]
	}
	return nil
}
