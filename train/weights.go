package train

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/weights"
	"github.com/gcn-layerwise/gcn/layers"
)

// ExportParameters writes m's parameters, with their names and shapes, to a .safetensors or
// .npz file. An existing file is replaced whole. A weight is (inputs, outputs): transpose it
// for PyTorch's Linear. The bias of a convolution that adds it after the propagation is
// named conv0.bias_after, not conv0.bias. ImportParameters reads the file. On a GPU, call
// Program.Pull before. Values that are not finite are an error, and nothing is written.
func ExportParameters(path string, m Model) error {
	params, err := parametersOf(m)
	if err != nil {
		return err
	}
	tensors := make([]weights.Tensor, len(params))
	after := biasesAfter(m)
	for k, p := range params {
		if !kernel.Finite(p.values) {
			return fmt.Errorf("train: %s: parameter %q has values that are not finite", path, p.Name)
		}
		tensors[k] = weights.Tensor{Name: p.Name, Shape: p.Shape, Values: p.values}
		if after[p.Name] {
			tensors[k].Name += afterSuffix
		}
	}
	if err := weights.Write(path, tensors); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

// Square says which way round a square weight is whose name does not tell.
type Square uint8

const (
	SquareRefused      Square = iota // it is an error
	SquareInputsFirst                // (inputs, outputs), as in DGL's GraphConv
	SquareOutputsFirst               // (outputs, inputs), as in PyTorch's Linear
)

// ImportParameters sets m's parameters from a .safetensors or .npz file, or from a
// state_dict that torch.save wrote to a .pt or .pth file. The file holds the model's own
// names and shapes, as ExportParameters writes them, or the layers in the order of the
// model's:
//
//	NAME.lin.weight, NAME.bias            GCNConv of PyTorch Geometric
//	NAME.lin_l.weight, NAME.lin_l.bias    SAGEConv of PyTorch Geometric, root_weight=False
//	NAME.fc_neigh.weight, NAME.bias       SAGEConv of DGL, aggregator "gcn"
//	NAME.weight, NAME.bias                GraphConv of DGL, Linear of PyTorch
//
// Weights are transposed where their shape or name says (outputs, inputs). These libraries
// add the bias after the propagation, so the model needs layers.GCNOptions.BiasAfter: it is
// an error without, if the name tells. SAGE-like layers
// propagate by graph.NewRowLaplacian.
//
// Every parameter must be in the file and every tensor in the model, and the values must be
// finite. An error names the file, and leaves the model unchanged.
func ImportParameters(ctx context.Context, path string, m Model, square Square) error {
	if ctx == nil {
		return errNoContext
	}
	params, err := parametersOf(m)
	if err != nil {
		return err
	}
	tensors, err := weights.Read(ctx, path)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	values, err := matched(params, tensors, square, biasesAfter(m))
	if err != nil {
		return fmt.Errorf("train: %s: %w", path, err)
	}
	for k, p := range params {
		copy(p.values, values[k])
	}
	return nil
}

// afterSuffix ends the names of exported biases that are added after the propagation.
const afterSuffix = "_after"

// biasesAfter returns the names of the biases of a model's convolutions, true for those that
// it adds after the propagation.
func biasesAfter(m Model) map[string]bool {
	after := map[string]bool{}
	if gcn, is := m.(*layers.GCN); is {
		for _, c := range gcn.Convolutions {
			if c.B != nil && c.Attention == nil {
				after[c.B.Name()] = c.BiasAfter
			}
		}
	}
	return after
}

// matched returns the values of each parameter.
func matched(params []parameter, tensors []weights.Tensor, square Square, after map[string]bool) ([][]float32, error) {
	for _, t := range tensors {
		if !kernel.Finite(t.Values) {
			return nil, fmt.Errorf("tensor %q has values that are not finite", t.Name)
		}
	}
	byName := map[string]weights.Tensor{}
	for _, t := range tensors {
		byName[t.Name] = t
	}
	own := 0
	var moved string // a bias at the other side of the propagation
	values := make([][]float32, len(params))
	for k, p := range params {
		t, there := byName[p.Name]
		if late, convolution := after[p.Name]; convolution {
			if t2, exported := byName[p.Name+afterSuffix]; exported {
				t, there = t2, true
			}
			if there && moved == "" && late != strings.HasSuffix(t.Name, afterSuffix) {
				moved = t.Name
			}
		}
		if there {
			own++
			values[k] = t.Values
			if !slices.Equal(t.Shape, p.Shape) {
				own = 0 // perhaps another library's, of equal names
				break
			}
		}
	}
	switch {
	case own < len(params) || own < len(tensors):
		return matchedByOrder(params, tensors, square, after)
	case strings.HasSuffix(moved, afterSuffix):
		return nil, fmt.Errorf("tensor %q is a bias after the propagation, and the model's is before it: build the model with BiasAfter (gcn import: --bias-after)", moved)
	case moved != "":
		return nil, fmt.Errorf("tensor %q is a bias before the propagation, and the model's is after it: build the model without BiasAfter (gcn import: without --bias-after), or name the tensor %q if it is after", moved, moved+afterSuffix)
	}
	return values, nil
}

// role is the part that a tensor has in its layer.
type role struct {
	layer  string
	bias   bool
	linear bool // a weight (outputs, inputs), by its name
}

// roleOf returns the role of a tensor of another library, by its name.
func roleOf(name string) (role, error) {
	for _, suffix := range []string{".lin.weight", ".lin_l.weight", ".fc_neigh.weight"} {
		if layer, is := strings.CutSuffix(name, suffix); is {
			return role{layer: layer, linear: true}, nil
		}
	}
	for _, suffix := range []string{".lin_l.bias", ".fc_neigh.bias", ".lin.bias", ".bias", ".bias" + afterSuffix} {
		if layer, is := strings.CutSuffix(name, suffix); is {
			return role{layer: layer, bias: true}, nil
		}
	}
	for _, suffix := range []string{".lin_r.weight", ".fc_self.weight", ".fc_self.bias", ".lin_r.bias"} {
		if strings.HasSuffix(name, suffix) {
			return role{}, fmt.Errorf("tensor %q maps a node's own row, which this model's layers have no place for", name)
		}
	}
	if layer, is := strings.CutSuffix(name, ".weight"); is {
		return role{layer: layer}, nil
	}
	return role{}, fmt.Errorf("tensor %q is no weight or bias of a layer", name)
}

// matchedByOrder matches the layers of another library in their order.
func matchedByOrder(params []parameter, tensors []weights.Tensor, square Square, after map[string]bool) ([][]float32, error) {
	type layer struct {
		weight, bias *weights.Tensor
		linear       bool
	}
	named := map[string]*layer{}
	var order []string
	for k := range tensors {
		t := &tensors[k]
		r, err := roleOf(t.Name)
		if err != nil {
			return nil, err
		}
		l := named[r.layer]
		if l == nil {
			l = new(layer)
			named[r.layer] = l
			order = append(order, r.layer)
		}
		place := &l.weight
		if r.bias {
			place = &l.bias
		} else {
			l.linear = r.linear
		}
		if *place != nil {
			return nil, fmt.Errorf("tensors %q and %q have the same part in layer %q", (*place).Name, t.Name, r.layer)
		}
		*place = t
	}
	values := make([][]float32, len(params))
	at, used := -1, 0
	last := ""
	for k, p := range params {
		name, part, _ := strings.Cut(p.Name, ".")
		if part != "weight" && part != "bias" || strings.HasPrefix(name, "skip") {
			return nil, fmt.Errorf("it holds no tensor %q, and other libraries' layers have none like it", p.Name)
		}
		if name != last {
			at, last = at+1, name
		}
		if at >= len(order) {
			return nil, fmt.Errorf("it holds %d layers (%s), and none for %q", len(order), strings.Join(order, ", "), p.Name)
		}
		l := named[order[at]]
		t := l.weight
		if part == "bias" {
			t = l.bias
		}
		if t == nil {
			return nil, fmt.Errorf("layer %q has no %s for %q", order[at], part, p.Name)
		}
		late, convolution := after[p.Name]
		if part == "bias" && convolution && !late && (l.linear && !strings.HasSuffix(t.Name, ".lin.bias") || strings.HasSuffix(t.Name, afterSuffix)) {
			return nil, fmt.Errorf("tensor %q is a bias after the propagation, and the model's %q is before it: build the model with BiasAfter (gcn import: --bias-after)", t.Name, p.Name)
		}
		used++
		var err error
		if values[k], err = fitted(t, p, part == "weight" && l.linear, square); err != nil {
			return nil, err
		}
	}
	if used < len(tensors) {
		var names []string
		for _, p := range params {
			names = append(names, p.Name)
		}
		return nil, fmt.Errorf("it holds %d tensors (layers %s), the model has %d parameters (%s)", len(tensors), strings.Join(order, ", "), len(params), strings.Join(names, ", "))
	}
	return values, nil
}

// fitted returns the values of a tensor in the parameter's shape.
func fitted(t *weights.Tensor, p parameter, linear bool, square Square) ([]float32, error) {
	same := slices.Equal(t.Shape, p.Shape)
	turned := len(p.Shape) == 2 && len(t.Shape) == 2 && t.Shape[0] == p.Shape[1] && t.Shape[1] == p.Shape[0]
	switch {
	case same && turned && !linear && square == SquareRefused:
		return nil, fmt.Errorf("tensor %q is square: it may be (outputs, inputs), as in PyTorch's Linear, or (inputs, outputs), as in DGL's GraphConv; say which", t.Name)
	case turned && (linear || !same || square == SquareOutputsFirst):
		out, rows, cols := make([]float32, len(t.Values)), t.Shape[0], t.Shape[1]
		for i := range rows {
			for j := range cols {
				out[j*rows+i] = t.Values[i*cols+j]
			}
		}
		return out, nil
	case same && !linear:
		return t.Values, nil
	}
	return nil, fmt.Errorf("tensor %q has shape %v, and %q has %v", t.Name, t.Shape, p.Name, p.Shape)
}
