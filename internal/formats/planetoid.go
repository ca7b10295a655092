package formats

import (
	"cmp"
	"context"
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
	return readSet(ctx, path, o, func(r *reader) {
		p := planetoid{reader: r, prefix: filepath.Join(dir, "ind."+name+".")}
		p.readRows()
		p.readGraph()
		p.place()
		if o.Split {
			p.publicSplit()
		}
	})
}

// planetoidValid is the size of the public split's validation set.
const planetoidValid = 500

// planetoid holds the contents of the files.
type planetoid struct {
	*reader
	prefix string

	x       [3]*graph.CSR // allx, tx, x; x repeats the first rows of allx
	y       [3][]int32    // ally, ty, y: the class of each row, −1 for a row of zeros
	classes [3]int        // columns of the classes
	test    []int32       // test.index
}

// readRows reads the features, the classes and the test nodes.
func (p *planetoid) readRows() {
	path := p.prefix + "test.index"
	check(exists(path), path, "%w; want planetoid:DIR/NAME, where DIR holds ind.NAME.test.index and seven files more", fs.ErrNotExist)
	p.test = p.ids(path, "a node", math.MaxInt32)
	for k, part := range []string{"all", "t", ""} {
		x, y := part+"x", part+"y"
		p.x[k] = p.matrix(x)
		p.y[k], p.classes[k] = p.oneHot(y)
		p.compare(x, "features", p.x[k].Cols, "allx", p.x[0].Cols)
		p.compare(y, "classes", p.classes[k], "ally", p.classes[0])
		p.compare(y, "rows", len(p.y[k]), x, p.x[k].Rows)
	}
	p.compare("test.index", "nodes", len(p.test), "tx", len(p.y[1]))
	p.compare("y", "rows", max(len(p.y[2]), len(p.y[0])), "ally", len(p.y[0]))
}

// compare reports a part that does not fit another one.
func (p *planetoid) compare(part, what string, got int, other string, want int) {
	check(got == want, p.prefix+part, "%d %s, but %s has %d", got, what, other, want)
}

// load reads the value of a pickle.
func (p *planetoid) load(part string) any {
	raw, err := regularfile.Read(p.prefix + part)
	tryIn("planetoid", err)
	v, err := pickle.Load(p.ctx, string(raw), pickle.ArrayClasses())
	tryIn(p.prefix+part, err)
	return v
}

// matrix reads a SciPy CSR matrix.
func (p *planetoid) matrix(part string) *graph.CSR {
	path, attributes := p.prefix+part, (*pickle.Dict)(nil)
	if o, is := p.load(part).(*pickle.Object); is {
		attributes, _ = o.State.(*pickle.Dict)
	}
	shape, err := pickle.Ints(cmp.Or(attributes, new(pickle.Dict)).Get("_shape"))
	check(err == nil && len(shape) == 2, path, "not a SciPy CSR matrix with a shape")
	s := &source{reader: p.reader, name: path, open: func(key string) (*npy.Reader, error) {
		return pickle.Array(path+": "+key, attributes.Get(key))
	}}
	return s.csr("", shape[0], shape[1], true)
}

// oneHot reads a matrix of one-hot rows as classes, −1 for rows of zeros.
func (p *planetoid) oneHot(part string) (classes []int32, width int) {
	path, v := p.prefix+part, p.load(part)
	s := &source{reader: p.reader, name: path, open: func(string) (*npy.Reader, error) { return pickle.Array(path, v) }}
	values, a := numbers[float32](s, "", "nodes", "classes")
	for row := range slices.Chunk(values, a.Shape[1]) {
		class := slices.Index(row, 1)
		for c, v := range row {
			check(v == 0 || c == class, path, "row %d is not one-hot at class %d", len(classes), c)
		}
		classes = append(classes, int32(class))
	}
	return classes, a.Shape[1]
}

// readGraph reads the dictionary of neighbour lists, and counts the nodes.
func (p *planetoid) readGraph() {
	path, v := p.prefix+"graph", p.load("graph")
	lists, isDict := v.(*pickle.Dict)
	check(isDict, path, "not a dictionary of lists")
	// Every node is a key, also a node without features.
	n := max(len(p.y[0])+len(p.y[1]), len(lists.Keys))
	b := newBuilder(path, n, 0)
	for k, key := range lists.Keys {
		from := p.node(key, n, fmt.Sprintf("%s: key %d", path, k))
		neighbours, isList := lists.Values[k].(*pickle.List)
		check(isList, path, "node %d: not a list of neighbours", from)
		for k, v := range neighbours.Items {
			try(b.Add(from, p.node(v, n, fmt.Sprintf("%s: node %d: neighbour %d", path, from, k))))
		}
	}
	p.build(b)
}

// node returns the number of a node, which may be a number of NumPy. place begins an error.
func (p *planetoid) node(v any, n int, place string) int32 {
	id, isInt := v.(int)
	if !isInt {
		a, err := pickle.Array(place, v)
		check(err == nil && len(a.Shape) == 0, place, "not a number of a node")
		id = int(must(npy.All[int32](p.ctx, a))[0])
	}
	check(id >= 0 && id < n, place, "%d is not a node in [0, %d)", id, n)
	return int32(id)
}

// place moves rows to their nodes. The test nodes come after the rows of allx.
func (p *planetoid) place() {
	n, first := p.nodes(), len(p.y[0])
	path, rows := p.prefix+"test.index", make([]int32, n) // of tx, 1 + the row of each test node
	p.Labels = &graph.Labels{Classes: p.classes[0], Class: slices.Repeat([]int32{-1}, n)}
	copy(p.Labels.Class, p.y[0])
	for row, node := range p.test {
		check(int(node) >= first, path, "node %d is among the %d rows of allx", node, first)
		check(int(node) < n, path, "node %d outside [0, %d)", node, n)
		check(rows[node] == 0, path, "node %d is there twice", node)
		rows[node], p.Labels.Class[node] = int32(row+1), p.y[1][row]
	}
	allx, tx := p.x[0], p.x[1]
	p.sparseFeatures(p.prefix+"{allx,tx}", n, allx.Cols, len(allx.Idx)+len(tx.Idx), func(node int) ([]int32, []float32) {
		switch row := int(rows[node] - 1); {
		case row >= 0:
			return tx.Row(row), tx.RowValues(row)
		case node < first:
			return allx.Row(node), allx.RowValues(node)
		}
		return nil, nil
	})
	if without := n - first - len(p.test); without > 0 {
		p.note("%d nodes without a row in the files: zero features, no label", without)
	}
}

// publicSplit sets the split of all Planetoid baselines. It leaves nodes without a
// label out of the validation and test sets: they cannot be scored.
func (p *planetoid) publicSplit() {
	train := len(p.y[2])
	valid := min(train+planetoidValid, len(p.y[0]))
	nodes := make([]int32, valid)
	for i := range nodes {
		nodes[i] = int32(i)
	}
	unlabelled := func(i int32) bool { return p.Labels.Class[i] < 0 }
	scored := slices.DeleteFunc(nodes[train:], unlabelled)
	test := slices.DeleteFunc(slices.Sorted(slices.Values(p.test)), unlabelled)
	p.Split = &Split{nodes[:train:train], scored, test}
	p.note("Planetoid's public split")
	if left := valid - train + len(p.test) - len(scored) - len(test); left > 0 {
		p.note("%d nodes of the public split left out: they have no label", left)
	}
}
