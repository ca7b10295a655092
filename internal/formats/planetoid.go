package formats

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/internal/pickle"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
)

// Planetoid reads the files ind.NAME.* of Planetoid (Yang, Cohen &
// Salakhutdinov 2016, arXiv:1603.08861): Cora, Citeseer, PubMed, NELL.
//
// allx and ally hold the nodes from 0 on. The first len(y) of them are the training
// set, and the next 500 the validation set. Row i of tx and ty belongs to node
// test.index[i]; these nodes are the test set. Nodes without a row (15 in Citeseer,
// the relations in NELL) get zero features and no label. PyTorch Geometric gives
// each relation of NELL a feature of its own: 55,864 more columns, which are not made here.
//
// The path is DIR/NAME. The set has the public split if o.Split is true.
func Planetoid(ctx context.Context, path string, o Options) (*Set, error) {
	dir, name := filepath.Split(path)
	if name == "" {
		return nil, fmt.Errorf("datasets: %q: no name after the folder; want planetoid:DIR/NAME, such as planetoid:data/cora", path)
	}
	p := planetoid{reader: newReader(ctx, path, o), prefix: filepath.Join(dir, "ind."+name+".")}
	p.read()
	p.readGraph()
	p.place()
	if o.Split && p.err == nil {
		p.publicSplit()
	}
	return p.end()
}

// planetoidValid is the size of the public split's validation set.
const planetoidValid = 500

// planetoid holds the contents of the files.
type planetoid struct {
	*reader
	prefix string

	allx, tx *pattern
	cols     int     // features
	ally, ty []int32 // class of each row, −1 for a row of zeros
	classes  int
	train    int     // rows of y
	test     []int32 // test.index
}

func (p *planetoid) read() {
	p.test = p.ids(p.prefix+"test.index", "a node", math.MaxInt32)
	if errors.Is(p.err, fs.ErrNotExist) {
		p.err = fmt.Errorf("%w; want planetoid:DIR/NAME, where DIR holds ind.NAME.test.index and seven files more", p.err)
	}
	var x [3]*pattern // x repeats the first rows of allx: only their number is checked
	var cols, width, rows [3]int
	for k, part := range []string{"allx", "tx", "x"} {
		x[k], cols[k] = p.matrix(part)
		rows[k] = max(len(x[k].ptr)-1, 0)
	}
	var y [3][]int32
	for k, part := range []string{"ally", "ty", "y"} {
		y[k], width[k] = p.oneHot(part)
	}
	p.allx, p.tx, p.cols, p.ally, p.ty, p.classes, p.train = x[0], x[1], cols[0], y[0], y[1], width[0], len(y[2])
	for _, c := range []struct {
		part, what string
		got        int
		other      string
		want       int
	}{
		{"tx", "features", cols[1], "allx", cols[0]},
		{"ty", "classes", width[1], "ally", p.classes},
		{"ally", "rows", len(p.ally), "allx", rows[0]},
		{"ty", "rows", len(p.ty), "tx", rows[1]},
		{"test.index", "nodes", len(p.test), "tx", rows[1]},
		{"y", "rows", p.train, "x", rows[2]},
		{"y", "rows", max(p.train, len(p.ally)), "ally", len(p.ally)},
	} {
		p.check(c.got == c.want, p.prefix+c.part, "%d %s, but %s has %d", c.got, c.what, c.other, c.want)
	}
}

// load reads the value of a pickle.
func (p *planetoid) load(part string) (v any) {
	if p.err != nil {
		return nil
	}
	raw, err := regularfile.Read(p.prefix + part)
	if err != nil {
		p.ok(fmt.Errorf("datasets: %w", err))
		return nil
	}
	v, err = pickle.Load(p.ctx, string(raw), pickle.ArrayClasses())
	p.ok(p.ctx.Err())
	p.check(err == nil, p.prefix+part, "%w", err)
	return v
}

// matrix reads a SciPy CSR matrix, and its number of columns.
func (p *planetoid) matrix(part string) (*pattern, int) {
	path, attributes := p.prefix+part, (*pickle.Dict)(nil)
	if o, is := p.load(part).(*pickle.Object); is {
		attributes, _ = o.State.(*pickle.Dict)
	}
	if !p.check(attributes != nil, path, "not a SciPy CSR matrix") {
		return new(pattern), 0
	}
	shape, err := pickle.Ints(attributes.Get("_shape"))
	if !p.check(err == nil && len(shape) == 2, path, "a SciPy matrix without a shape") {
		return new(pattern), 0
	}
	s := &source{reader: p.reader, name: path, open: func(key string) (*npy.Reader, error) {
		return pickle.Array(path+": "+key, attributes.Get(key))
	}}
	return s.pattern("", shape[0], shape[1], true), shape[1]
}

// oneHot reads a matrix of one-hot rows as classes, −1 for rows of zeros.
func (p *planetoid) oneHot(part string) (classes []int32, width int) {
	path, v := p.prefix+part, p.load(part)
	s := &source{reader: p.reader, name: path, open: func(string) (*npy.Reader, error) { return pickle.Array(path, v) }}
	values, a := numbers[float32](s, "", "nodes", "classes")
	if p.err != nil {
		return nil, 0
	}
	for row := range slices.Chunk(values, a.Shape[1]) {
		class := slices.Index(row, 1)
		for c, v := range row {
			if v != 0 && c != class {
				p.check(false, path, "row %d is not one-hot at class %d", len(classes), c)
			}
		}
		classes = append(classes, int32(class))
	}
	return classes, a.Shape[1]
}

// readGraph reads the dictionary of neighbour lists, and counts the nodes.
func (p *planetoid) readGraph() {
	path, v := p.prefix+"graph", p.load("graph")
	lists, isDict := v.(*pickle.Dict)
	if !p.check(isDict, path, "not a dictionary of lists") {
		return
	}
	// Every node is a key, also a node without features.
	n := max(len(p.ally)+len(p.ty), len(lists.Keys))
	b := p.builder(path, n, 0)
	for k, key := range lists.Keys {
		from, err := p.node(key, n)
		p.check(err == nil, path, "key %d: %w", k, err)
		neighbours, isList := lists.Values[k].(*pickle.List)
		if !p.check(isList, path, "node %d: not a list of neighbours", from) {
			return
		}
		for k, v := range neighbours.Items {
			to, err := p.node(v, n)
			if err == nil {
				err = b.Add(from, to)
			}
			if err != nil {
				p.check(false, path, "node %d: neighbour %d: %w", from, k, err)
				return
			}
		}
	}
	p.build(b)
}

// node returns the number of a node, which may be a number of NumPy.
func (p *planetoid) node(v any, n int) (int32, error) {
	id, is := v.(int)
	if !is {
		r, err := pickle.Array("a node", v)
		if err != nil || len(r.Shape) > 0 {
			return 0, errors.New("not a number of a node")
		}
		ids, err := r.Int32s(p.ctx)
		if err != nil {
			return 0, err
		}
		id = int(ids[0])
	}
	if id < 0 || id >= n {
		return 0, fmt.Errorf("%d is not a node in [0, %d)", id, n)
	}
	return int32(id), nil
}

// place moves rows to their nodes. The test nodes come after the rows of allx.
func (p *planetoid) place() {
	if p.err != nil {
		return
	}
	n, first := p.nodes(), len(p.ally)
	rows := make([]int32, n) // of tx, 1 + the row of each test node
	for row, node := range p.test {
		p.check(int(node) >= first, p.prefix+"test.index", "node %d is among the %d rows of allx", node, first)
		if !p.check(int(node) < n, p.prefix+"test.index", "node %d outside [0, %d)", node, n) {
			return
		}
		p.check(rows[node] == 0, p.prefix+"test.index", "node %d is there twice", node)
		rows[node] = int32(row + 1)
	}
	p.Features = p.sparseFeatures(p.prefix+"{allx,tx}", n, p.cols, len(p.allx.idx)+len(p.tx.idx), func(node int) ([]int32, []float32) {
		switch {
		case rows[node] > 0:
			return p.tx.row(int(rows[node] - 1))
		case node < first:
			return p.allx.row(node)
		}
		return nil, nil
	})
	p.Labels = &graph.Labels{Classes: p.classes, Class: slices.Repeat([]int32{-1}, n)}
	copy(p.Labels.Class, p.ally)
	for row, class := range p.ty {
		p.Labels.Class[p.test[row]] = class
	}
	if without := n - first - len(p.ty); without > 0 {
		p.note("%d nodes without a row in the files: zero features, no label", without)
	}
}

// publicSplit sets the split of all Planetoid baselines. It leaves nodes without a
// label out of the validation and test sets: they cannot be scored.
func (p *planetoid) publicSplit() {
	p.Split = &Split{}
	unlabelled := 0
	add := func(part *[]int32, node int32) {
		if p.Labels.Class[node] >= 0 {
			*part = append(*part, node)
		} else {
			unlabelled++
		}
	}
	for i := range int32(min(p.train+planetoidValid, len(p.ally))) {
		if int(i) < p.train {
			p.Split.Train = append(p.Split.Train, i)
		} else {
			add(&p.Split.Valid, i)
		}
	}
	for _, i := range slices.Sorted(slices.Values(p.test)) {
		add(&p.Split.Test, i)
	}
	p.note("Planetoid's public split")
	if unlabelled > 0 {
		p.note("%d nodes of the public split left out: they have no label", unlabelled)
	}
}
