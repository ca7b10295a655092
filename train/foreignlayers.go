package train

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/weights"
)

// Square says which way round a square weight is whose name does not tell.
type Square uint8

const (
	SquareRefused      Square = iota // it is an error
	SquareInputsFirst                // (inputs, outputs), as in DGL's GraphConv
	SquareOutputsFirst               // (outputs, inputs), as in PyTorch's Linear
)

// ImportOptions decide what the names and shapes in a file do not tell. Where the zero value
// leaves a choice, ImportParameters returns an error.
type ImportOptions struct {
	Square Square

	// Layers maps a layer of the file, such as convs.0 of convs.0.lin.weight, to the model's,
	// such as conv0; or a tensor, such as W1, to the model's, such as conv0.weight. Other
	// layers are matched as without it.
	Layers map[string]string

	// Mean says that the model propagates by the mean over a node and its neighbours, as SAGE
	// layers and graph.NewRowLaplacian do.
	Mean bool
}

// Imported is a parameter and the tensor that it was set from.
type Imported struct {
	Parameter, Tensor string
	Shape             []int // of the tensor
	Transposed        bool

	values []float32 // in the parameter's shape
}

// foreignLayer is a layer of another library.
type foreignLayer struct {
	name    string                     // the model's if ImportOptions map the layer
	parts   map[string]*weights.Tensor // "weight" and "bias"
	linear  bool                       // the weight is (outputs, inputs), by its name
	pattern string                     // the name without its numbers
	key     string                     // the name with numbers that sort by their values
}

// part returns the tensor of l for a parameter, or nil.
func (l *foreignLayer) part(p parameter) *weights.Tensor {
	_, part, _ := strings.Cut(p.Name, ".")
	return l.parts[part]
}

// foreignLayers returns the layers of a file: those that o maps, by the model's names, and the others in
// order.
func foreignLayers(tensors []weights.Tensor, o ImportOptions) (mapped map[string]*foreignLayer, free []*foreignLayer, err error) {
	number := regexp.MustCompile(`\d+`)
	used := map[string]bool{}
	mapped = map[string]*foreignLayer{}
	others := map[string]*foreignLayer{}
	for k := range tensors {
		t := &tensors[k]
		name, known := t.Name, others
		if ours, is := o.Layers[name]; is {
			used[name], name, known = true, ours, mapped
		}
		dot := strings.LastIndex(name, ".")
		layer, part := name[:max(dot, 0)], name[dot+1:]
		if part == "bias"+afterSuffix {
			part = "bias"
		}
		if dot < 0 || part != "weight" && part != "bias" {
			return nil, nil, fmt.Errorf("tensor %q is no weight or bias of a layer", t.Name)
		}
		inner := layer[max(strings.LastIndex(layer, "."), 0):]
		linear, sage := inner == ".lin", inner == ".lin_l" || inner == ".fc_neigh"
		switch {
		case inner == ".lin_r" || inner == ".fc_self":
			return nil, nil, fmt.Errorf("tensor %q maps a node's own row, which this model's layers have no place for", t.Name)
		case sage && !o.Mean:
			return nil, nil, fmt.Errorf("tensor %q is of a SAGE layer, which takes a mean over neighbours, and the model's P is symmetric", t.Name)
		case linear && part == "weight" && o.Mean:
			return nil, nil, fmt.Errorf("tensor %q is of a GCNConv, whose P is symmetric, and the model takes a mean over neighbours", t.Name)
		case linear || sage:
			layer = strings.TrimSuffix(layer, inner)
		}
		if ours, is := o.Layers[layer]; is {
			used[layer], layer, known = true, ours, mapped
		}
		l := known[layer]
		if l == nil {
			l = &foreignLayer{
				name:    layer,
				parts:   map[string]*weights.Tensor{},
				pattern: number.ReplaceAllString(layer, "0"),
				key: number.ReplaceAllStringFunc(layer, func(n string) string {
					n = strings.TrimLeft(n, "0")
					return fmt.Sprintf("%03d%s", len(n), n)
				}),
			}
			known[layer] = l
		}
		if other := l.parts[part]; other != nil {
			return nil, nil, fmt.Errorf("tensors %q and %q have the same part in layer %q", other.Name, t.Name, layer)
		}
		l.parts[part], l.linear = t, l.linear || part == "weight" && (linear || sage)
	}
	free = slices.SortedFunc(maps.Values(others), func(l, other *foreignLayer) int { // layers of one pattern by the number in the name
		return cmp.Or(cmp.Compare(l.pattern, other.pattern), cmp.Compare(l.key, other.key), cmp.Compare(l.name, other.name))
	})
	for _, name := range slices.Sorted(maps.Keys(o.Layers)) {
		if !used[name] {
			return nil, nil, fmt.Errorf("it holds no layer %q to map to %q: its other layers are %s", name, o.Layers[name], layerNames(free))
		}
	}
	return mapped, free, nil
}

// modelLayer is a layer of the model: its weight, and its bias if it has one.
type modelLayer struct {
	name   string
	params []parameter
}

// misfit returns an error if l has other tensors or shapes than the model's layer.
func (m modelLayer) misfit(l *foreignLayer) error {
	for _, part := range slices.Sorted(maps.Keys(l.parts)) {
		if !slices.ContainsFunc(m.params, func(p parameter) bool { return p.Name == m.name+"."+part }) {
			return fmt.Errorf("tensor %q has no place in the model's %q; its biases depend on BiasAfter (gcn import: --bias-after)", l.parts[part].Name, m.name)
		}
	}
	for _, p := range m.params {
		t := l.part(p)
		if t == nil {
			return fmt.Errorf("layer %q has no tensor for %q", l.name, p.Name)
		}
		if same, turned := shapes(t, p); !turned && (!same || l.linear && t == l.parts["weight"]) {
			return fmt.Errorf("tensor %q has shape %v, and %q has %v", t.Name, t.Shape, p.Name, p.Shape)
		}
	}
	return nil
}

// shapes compares a tensor's shape with a parameter's, and with its transpose.
func shapes(t *weights.Tensor, p parameter) (same, turned bool) {
	back := slices.Clone(t.Shape)
	slices.Reverse(back)
	return slices.Equal(t.Shape, p.Shape), len(back) == 2 && slices.Equal(back, p.Shape)
}

// next returns the layer of the file for m. That is the layer mapped to m. Without one, next looks at
// the first free layer of each pattern of names. Exactly one of these must fit.
func (m modelLayer) next(mapped map[string]*foreignLayer, free []*foreignLayer) (*foreignLayer, error) {
	if l := mapped[m.name]; l != nil {
		return l, m.misfit(l)
	}
	for _, beside := range []string{"own", "skip", "state", "second"} {
		if strings.HasPrefix(m.name, beside) {
			return nil, fmt.Errorf("the model's %q is not in the sequence of layers: name its layer in the file by Layers (gcn import: --map)", m.name)
		}
	}
	if len(free) == 0 {
		return nil, fmt.Errorf("it has no layer left for %q", m.name)
	}
	var fit []*foreignLayer
	var misfit error // of the layer with m's name, or else of the first one
	first := free[0]
	for _, l := range free {
		if l.pattern != first.pattern {
			first = l
		}
		if l.key != first.key { // 1 and 01 are one number
			continue
		}
		if err := m.misfit(l); err == nil {
			fit = append(fit, l)
		} else if misfit == nil || l.name == m.name {
			misfit = err
		}
	}
	switch len(fit) {
	case 0:
		return nil, fmt.Errorf("no layer fits the model's %q: %w", m.name, misfit)
	case 1:
		return fit[0], nil
	}
	return nil, fmt.Errorf("the model's %q may be each of the layers %s: say which by Layers (gcn import: --map %s=%s)", m.name, layerNames(fit), fit[0].name, m.name)
}

// layerNames lists the names of layers.
func layerNames(all []*foreignLayer) string {
	var names []string
	for _, l := range all {
		names = append(names, l.name)
	}
	return strings.Join(names, ", ")
}

// matchedLayers matches the layers of another library.
func matchedLayers(params []parameter, tensors []weights.Tensor, o ImportOptions, after map[string]bool) (found []Imported, err error) {
	mapped, free, err := foreignLayers(tensors, o)
	if err != nil {
		return nil, err
	}
	for len(found) < len(params) {
		m := modelLayer{params: params[len(found):]}
		m.name, _, _ = strings.Cut(m.params[0].Name, ".")
		if end := slices.IndexFunc(m.params, func(p parameter) bool { return !strings.HasPrefix(p.Name, m.name+".") }); end > 0 {
			m.params = m.params[:end]
		}
		l, err := m.next(mapped, free)
		if err != nil {
			return nil, err
		}
		delete(mapped, m.name)
		free = slices.DeleteFunc(free, func(other *foreignLayer) bool { return other == l })
		for _, p := range m.params {
			one, err := l.imported(l.part(p), p, o.Square, after)
			if err != nil {
				return nil, err
			}
			found = append(found, one)
		}
	}
	if rest := layerNames(free); rest != "" {
		return nil, fmt.Errorf("the model has no layer for %s: it has %d parameters, the file %d tensors", rest, len(params), len(tensors))
	}
	for name := range mapped {
		return nil, fmt.Errorf("the model has no layer %q to map to", name)
	}
	return found, nil
}

// imported sets a parameter from the tensor t of l, whose shape fits.
func (l *foreignLayer) imported(t *weights.Tensor, p parameter, square Square, after map[string]bool) (Imported, error) {
	before := strings.HasSuffix(t.Name, ".lin.bias")
	if late, convolution := after[p.Name]; convolution && (late && before || !late && (l.linear && !before || strings.HasSuffix(t.Name, afterSuffix))) {
		return Imported{}, wrongSide(t.Name, p.Name, late)
	}
	one := Imported{Parameter: p.Name, Tensor: t.Name, Shape: t.Shape, values: t.Values}
	same, turned := shapes(t, p)
	if same && turned && !l.linear && square == SquareRefused {
		return one, fmt.Errorf("tensor %q is square: it may be (outputs, inputs), as in PyTorch's Linear, or (inputs, outputs), as in DGL's GraphConv; say which", t.Name)
	}
	if one.Transposed = turned && (l.linear || !same || square == SquareOutputsFirst); !one.Transposed {
		return one, nil
	}
	rows, cols := t.Shape[0], t.Shape[1]
	one.values = make([]float32, len(t.Values))
	for i := range rows {
		for j := range cols {
			one.values[j*rows+i] = t.Values[i*cols+j]
		}
	}
	return one, nil
}

// wrongSide is the error of a bias that the model adds after the propagation, if late is true, or
// before it, and the file's model on the other side.
func wrongSide(tensor, parameter string, late bool) error {
	if late {
		return fmt.Errorf("tensor %q is a bias before the propagation, and the model's %q is after it: build the model without BiasAfter (gcn import: without --bias-after), or name the tensor %q if it is after", tensor, parameter, parameter+afterSuffix)
	}
	return fmt.Errorf("tensor %q is a bias after the propagation, and the model's %q is before it: build the model with BiasAfter (gcn import: --bias-after)", tensor, parameter)
}
