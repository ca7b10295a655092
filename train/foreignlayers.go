package train

import (
	"cmp"
	"fmt"
	"maps"
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
	name    string
	parts   map[string]*weights.Tensor // "weight" and "bias"
	linear  bool                       // the weight is (outputs, inputs), by its name
	pattern string                     // the name without its numbers
	numbers []string                   // without leading zeros
}

// compare orders layers by pattern, and those of a pattern by their numbers.
func (l *foreignLayer) compare(other *foreignLayer) int {
	return cmp.Or(cmp.Compare(l.pattern, other.pattern), slices.CompareFunc(l.numbers, other.numbers, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	}))
}

// ending is the end of a tensor's name, and the part of a layer that such a tensor holds.
type ending struct {
	suffix, part string
	linear       bool // as in foreignLayer
	sage         bool // of a SAGE layer
}

func endings() []ending {
	return []ending{
		{suffix: ".lin_r.weight"}, // of a node's own row, as the next three
		{suffix: ".lin_r.bias"},
		{suffix: ".fc_self.weight"},
		{suffix: ".fc_self.bias"},
		{".lin_l.weight", "weight", true, true},
		{".fc_neigh.weight", "weight", true, true},
		{".lin.weight", "weight", true, false},
		{".weight", "weight", false, false},
		{".lin_l.bias", "bias", false, true},
		{".fc_neigh.bias", "bias", false, true},
		{".lin.bias", "bias", false, false},
		{".bias", "bias", false, false},
		{".bias" + afterSuffix, "bias", false, false},
	}
}

// foreignLayers are the layers of a file.
type foreignLayers struct {
	named map[string]*foreignLayer // those that ImportOptions map, by the model's names
	rest  map[string]*foreignLayer // the others, by the file's names
	used  map[string]bool          // the file's names that are mapped
}

// add adds a tensor to the layer that its name or o says.
func (f *foreignLayers) add(t *weights.Tensor, o ImportOptions) error {
	all, name := f.rest, t.Name
	if ours, is := o.Layers[name]; is {
		all, name, f.used[name] = f.named, ours, true
	}
	k := slices.IndexFunc(endings(), func(e ending) bool { return strings.HasSuffix(name, e.suffix) })
	if k < 0 {
		return fmt.Errorf("tensor %q is no weight or bias of a layer", t.Name)
	}
	e := endings()[k]
	switch {
	case e.part == "":
		return fmt.Errorf("tensor %q maps a node's own row, which this model's layers have no place for", t.Name)
	case e.sage && !o.Mean:
		return fmt.Errorf("tensor %q is of a SAGE layer, which takes a mean over neighbours, and the model's P is symmetric", t.Name)
	case e.linear && !e.sage && o.Mean:
		return fmt.Errorf("tensor %q is of a GCNConv, whose P is symmetric, and the model takes a mean over neighbours", t.Name)
	}
	layer := strings.TrimSuffix(name, e.suffix)
	key := layer
	if ours, is := o.Layers[layer]; is {
		all, key, f.used[layer] = f.named, ours, true
	}
	l := all[key]
	if l == nil {
		l = &foreignLayer{name: layer, pattern: layer, parts: map[string]*weights.Tensor{}}
		for _, n := range strings.FieldsFunc(layer, func(r rune) bool { return r < '0' || r > '9' }) {
			l.pattern = strings.Replace(l.pattern, n, "\x00", 1)
			l.numbers = append(l.numbers, strings.TrimLeft(n, "0"))
		}
		all[key] = l
	}
	if other := l.parts[e.part]; other != nil {
		return fmt.Errorf("tensors %q and %q have the same part in layer %q", other.Name, t.Name, key)
	}
	l.parts[e.part] = t
	l.linear = l.linear || e.linear
	return nil
}

// modelLayer is a layer of the model: its weight, and its bias if it has one.
type modelLayer struct {
	name   string
	params []parameter
}

// part returns the tensor of l for a parameter of m, or nil.
func (m modelLayer) part(l *foreignLayer, p parameter) *weights.Tensor {
	return l.parts[strings.TrimPrefix(p.Name, m.name+".")]
}

// misfit returns an error if l has other tensors or shapes than the model's layer.
func (m modelLayer) misfit(l *foreignLayer) error {
	for _, t := range []*weights.Tensor{l.parts["weight"], l.parts["bias"]} {
		if t != nil && !slices.ContainsFunc(m.params, func(p parameter) bool { return m.part(l, p) == t }) {
			return fmt.Errorf("tensor %q has no place in the model's %q; its biases depend on BiasAfter (gcn import: --bias-after)", t.Name, m.name)
		}
	}
	for _, p := range m.params {
		t := m.part(l, p)
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

// next returns the layer of the file for m. Of each pattern in order it can be the first one.
func (m modelLayer) next(order []*foreignLayer) (*foreignLayer, error) {
	for _, beside := range []string{"own", "skip", "state", "second", "jump", "labels"} {
		if strings.HasPrefix(m.name, beside) {
			return nil, fmt.Errorf("the model's %q is not in the sequence of layers: name its layer in the file by Layers (gcn import: --map)", m.name)
		}
	}
	if len(order) == 0 {
		return nil, fmt.Errorf("it has no layer left for %q", m.name)
	}
	var fit []*foreignLayer
	var misfit error // of the layer with m's name, or else of the first one
	first := order[0]
	for _, l := range order {
		if l.pattern != first.pattern {
			first = l
		}
		if l.compare(first) != 0 {
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
	f := &foreignLayers{map[string]*foreignLayer{}, map[string]*foreignLayer{}, map[string]bool{}}
	for k := range tensors {
		if err := f.add(&tensors[k], o); err != nil {
			return nil, err
		}
	}
	order := slices.SortedFunc(maps.Values(f.rest), (*foreignLayer).compare)
	for _, name := range slices.Sorted(maps.Keys(o.Layers)) {
		if !f.used[name] {
			return nil, fmt.Errorf("it holds no layer %q to map to %q: its other layers are %s", name, o.Layers[name], layerNames(order))
		}
	}
	for len(found) < len(params) {
		m := modelLayer{params: params[len(found):]}
		m.name, _, _ = strings.Cut(m.params[0].Name, ".")
		if end := slices.IndexFunc(m.params, func(p parameter) bool { return !strings.HasPrefix(p.Name, m.name+".") }); end > 0 {
			m.params = m.params[:end]
		}
		l, is := f.named[m.name]
		if is {
			delete(f.named, m.name)
			err = m.misfit(l)
		} else if l, err = m.next(order); err == nil {
			order = slices.DeleteFunc(order, func(other *foreignLayer) bool { return other == l })
		}
		for k := 0; err == nil && k < len(m.params); k++ {
			var one Imported
			one, err = l.imported(m.part(l, m.params[k]), m.params[k], o.Square, after)
			found = append(found, one)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(order) > 0 {
		return nil, fmt.Errorf("the model has no layer for %s: it has %d parameters, the file %d tensors", layerNames(order), len(params), len(tensors))
	}
	for ours := range f.named {
		return nil, fmt.Errorf("the model has no layer %q to map to", ours)
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
