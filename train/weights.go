package train

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/weights"
	"github.com/gcn-layerwise/gcn/layers"
)

// ExportParameters writes m's parameters, with their names and shapes, to a .safetensors
// file. An existing file is replaced whole. A weight is (inputs, outputs): transpose it
// for PyTorch's Linear. The bias of a convolution that adds it after the propagation is
// named conv0.bias_after, not conv0.bias. ImportParameters reads the file. On a GPU, call
// Program.Pull before. Values that are not finite are an error, and nothing is written.
func ExportParameters(path string, m Model) error {
	params, err := parametersOf(m)
	if err != nil {
		return err
	}
	tensors := sectionOf("", params, nil)
	if err := checkFinite(tensors); err != nil {
		return fmt.Errorf("train: %s: %w", path, err)
	}
	after := biasesAfter(m)
	for k, p := range params {
		if after[p.Name] {
			tensors[k].Name += afterSuffix
		}
	}
	return named(weights.Write(path, tensors))
}

// ImportParameters sets m's parameters from a .safetensors file, or from a
// state_dict that torch.save wrote to a .pt or .pth file. Their values must be float32. The file holds the model's own
// names and shapes, as ExportParameters writes them, or layers of another library:
//
//	NAME.lin.weight, NAME.bias            GCNConv of PyTorch Geometric
//	NAME.lin_l.weight, NAME.lin_l.bias    SAGEConv of PyTorch Geometric, root_weight=False
//	NAME.fc_neigh.weight, NAME.bias       SAGEConv of DGL, aggregator "gcn"
//	NAME.weight, NAME.bias                GraphConv of DGL, Linear of PyTorch
//
// The order of the tensors in the file has no meaning. Layers whose names differ in their
// numbers alone follow each other in the order of these numbers. Where the shapes allow a
// parameter more than one next layer, the error lists them: ImportOptions.Layers decides.
//
// Weights are transposed where their shape or name says (outputs, inputs). These libraries
// add the bias after the propagation, so the model needs layers.GCNOptions.BiasAfter: it is
// an error without, if the name tells.
//
// Every parameter must be in the file and every tensor in the model, and the values must be
// finite. An error names the file, and leaves the model unchanged. The result has an entry
// for each parameter, in the model's order.
func ImportParameters(ctx context.Context, path string, m Model, o ImportOptions) ([]Imported, error) {
	params, err := parametersOf(m)
	if err != nil {
		return nil, err
	}
	tensors, err := weights.Read(ctx, path)
	if err != nil {
		return nil, named(err)
	}
	found, err := matched(params, tensors, o, biasesAfter(m))
	if err != nil {
		return nil, fmt.Errorf("train: %s: %w", path, err)
	}
	for k, p := range params {
		copy(p.values, found[k].values)
	}
	return found, nil
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

// matched returns the tensor of each parameter.
func matched(params []parameter, tensors []weights.Tensor, o ImportOptions, after map[string]bool) ([]Imported, error) {
	if err := checkFinite(tensors); err != nil {
		return nil, err
	}
	byName := map[string]weights.Tensor{}
	for _, t := range tensors {
		byName[t.Name] = t
	}
	var found []Imported
	for _, p := range params {
		t, exported := byName[p.Name+afterSuffix]
		if _, convolution := after[p.Name]; !exported || !convolution {
			t = byName[p.Name]
		}
		if t.Name != "" && slices.Equal(t.Shape, p.Shape) {
			found = append(found, Imported{Parameter: p.Name, Tensor: t.Name, Shape: t.Shape, values: t.Values})
		}
	}
	if len(found) < len(params) || len(found) < len(tensors) || len(o.Layers) > 0 {
		return matchedLayers(params, tensors, o, after) // another library's, perhaps of equal names
	}
	for _, one := range found {
		if late, convolution := after[one.Parameter]; convolution && late != strings.HasSuffix(one.Tensor, afterSuffix) {
			return nil, wrongSide(one.Tensor, one.Parameter, late)
		}
	}
	return found, nil
}
