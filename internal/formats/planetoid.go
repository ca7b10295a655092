package formats

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/nlpodyssey/gopickle/types"

	"github.com/gcn-layerwise/gcn/graph"
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
	p := planetoid{prefix: filepath.Join(dir, "ind."+name+".")}
	if err := p.read(ctx); err != nil {
		return nil, err
	}
	d := &Set{Direction: o.Direction}
	if err := p.place(ctx, d); err != nil {
		return nil, err
	}
	if o.Split {
		p.publicSplit(d)
	}
	return d, nil
}

// planetoidValid is the size of the public split's validation set.
const planetoidValid = 500

// planetoid holds the contents of the files.
type planetoid struct {
	prefix string

	allx, tx *sparseRows
	ally, ty []int32 // class of each row, −1 for a row of zeros
	classes  int
	train    int     // rows of y
	test     []int32 // test.index
	order    []int32 // test, sorted
	arcs     []graph.Edge
	nodes    int
}

type sparseRows struct {
	pattern
	cols   int
	values []float32
}

func (p *planetoid) read(ctx context.Context) (err error) {
	p.test, err = readIDLines(ctx, p.prefix+"test.index", math.MaxInt32)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; want planetoid:DIR/NAME, where DIR holds ind.NAME.test.index and seven files more", err)
	}
	if err != nil {
		return err
	}
	if p.allx, err = p.matrix(ctx, "allx"); err != nil {
		return err
	}
	if p.tx, err = p.matrix(ctx, "tx"); err != nil {
		return err
	}
	// x repeats the first rows of allx. It is read only to check the number of rows.
	x, err := p.matrix(ctx, "x")
	if err != nil {
		return err
	}
	var y []int32
	if y, _, err = p.oneHot(ctx, "y"); err != nil {
		return err
	}
	var width int
	if p.ally, p.classes, err = p.oneHot(ctx, "ally"); err != nil {
		return err
	}
	if p.ty, width, err = p.oneHot(ctx, "ty"); err != nil {
		return err
	}
	p.train = len(y)
	switch {
	case p.allx.cols != p.tx.cols:
		return fmt.Errorf("datasets: %stx: %d features, but allx has %d", p.prefix, p.tx.cols, p.allx.cols)
	case width != p.classes:
		return fmt.Errorf("datasets: %sty: %d classes, but ally has %d", p.prefix, width, p.classes)
	case len(p.ally) != p.allx.rows():
		return fmt.Errorf("datasets: %sally: %d rows, but allx has %d", p.prefix, len(p.ally), p.allx.rows())
	case len(p.ty) != p.tx.rows():
		return fmt.Errorf("datasets: %sty: %d rows, but tx has %d", p.prefix, len(p.ty), p.tx.rows())
	case len(p.test) != p.tx.rows():
		return fmt.Errorf("datasets: %stest.index: %d nodes, but tx has %d rows", p.prefix, len(p.test), p.tx.rows())
	case p.train != x.rows():
		return fmt.Errorf("datasets: %sy: %d rows, but x has %d", p.prefix, p.train, x.rows())
	case p.train > len(p.ally):
		return fmt.Errorf("datasets: %sy: %d rows, but ally has %d", p.prefix, p.train, len(p.ally))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.readGraph(ctx); err != nil {
		return err
	}
	return p.checkTest()
}

// checkTest sorts the test nodes and checks that they come after the rows of allx.
func (p *planetoid) checkTest() error {
	p.order = slices.Clone(p.test)
	slices.Sort(p.order)
	for k, id := range p.order {
		switch {
		case int(id) < p.allx.rows():
			return fmt.Errorf("datasets: %stest.index: node %d is among the %d rows of allx", p.prefix, id, p.allx.rows())
		case int(id) >= p.nodes:
			return fmt.Errorf("datasets: %stest.index: node %d outside [0, %d)", p.prefix, id, p.nodes)
		case k > 0 && p.order[k-1] == id:
			return fmt.Errorf("datasets: %stest.index: node %d is there twice", p.prefix, id)
		}
	}
	return nil
}

func (m *sparseRows) rows() int { return len(m.ptr) - 1 }

func (p *planetoid) matrix(ctx context.Context, part string) (*sparseRows, error) {
	path := p.prefix + part
	object, err := loadPickle(ctx, path)
	if err != nil {
		return nil, err
	}
	m, isMatrix := object.(*pickledMatrix)
	if !isMatrix || m.data == nil || m.indices == nil || m.indptr == nil || len(m.shape) != 2 || len(m.data.shape) != 1 {
		return nil, fmt.Errorf("datasets: %s: not a SciPy CSR matrix", path)
	}
	indptr, err := m.indptr.int32s()
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: indptr: %w", path, err)
	}
	s := &sparseRows{pattern: pattern{name: path, ptr: make([]int64, len(indptr))}, cols: m.shape[1]}
	for i, at := range indptr {
		s.ptr[i] = int64(at)
	}
	if s.idx, err = m.indices.int32s(); err != nil {
		return nil, fmt.Errorf("datasets: %s: indices: %w", path, err)
	}
	if len(s.ptr) != m.shape[0]+1 {
		return nil, fmt.Errorf("datasets: %s: %d row offsets for %d rows, want %d", path, len(s.ptr), m.shape[0], m.shape[0]+1)
	}
	if err := s.check(s.cols); err != nil {
		return nil, err
	}
	if m.data.len() != len(s.idx) {
		return nil, fmt.Errorf("datasets: %s: %d values for %d indices", path, m.data.len(), len(s.idx))
	}
	s.values = make([]float32, m.data.len())
	for k := range s.values {
		s.values[k] = float32(m.data.element(k))
	}
	return s, nil
}

// oneHot reads a matrix of one-hot rows as classes, −1 for rows of zeros.
func (p *planetoid) oneHot(ctx context.Context, part string) (classes []int32, width int, err error) {
	path := p.prefix + part
	object, err := loadPickle(ctx, path)
	if err != nil {
		return nil, 0, err
	}
	a, isArray := object.(*pickledArray)
	if !isArray || len(a.shape) != 2 || a.shape[1] == 0 {
		return nil, 0, fmt.Errorf("datasets: %s: not an array of (nodes, classes)", path)
	}
	rows, width := a.shape[0], a.shape[1]
	classes = make([]int32, rows)
	for i := range classes {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		classes[i] = -1
		for c := range width {
			switch v := a.element(i*width + c); {
			case v == 0:
			case v == 1 && classes[i] < 0:
				classes[i] = int32(c)
			default:
				return nil, 0, fmt.Errorf("datasets: %s: row %d is not one-hot at class %d", path, i, c)
			}
		}
	}
	return classes, width, nil
}

// readGraph reads the dictionary of neighbour lists and counts the nodes.
func (p *planetoid) readGraph(ctx context.Context) error {
	path := p.prefix + "graph"
	object, err := loadPickle(ctx, path)
	if err != nil {
		return err
	}
	lists, isDict := object.(*types.Dict)
	if !isDict {
		return fmt.Errorf("datasets: %s: not a dictionary of lists", path)
	}
	// Every node is a key, also a node without features.
	most := max(p.allx.rows()+p.tx.rows(), lists.Len())
	for _, entry := range *lists {
		from, isInt := entry.Key.(int)
		if !isInt || from < 0 || from >= most {
			return fmt.Errorf("datasets: %s: key %s is not a node in [0, %d)", path, brief(entry.Key), most)
		}
		neighbours, isList := entry.Value.(*types.List)
		if !isList {
			return fmt.Errorf("datasets: %s: node %d: not a list of neighbours", path, from)
		}
		for k, value := range *neighbours {
			to, isInt := value.(int)
			if !isInt || to < 0 || to >= most {
				return fmt.Errorf("datasets: %s: node %d: neighbour %d is %s, not a node in [0, %d)", path, from, k, brief(value), most)
			}
			p.arcs = append(p.arcs, graph.Edge{U: int32(from), V: int32(to)})
		}
	}
	p.nodes = most
	return nil
}

// brief prints a value of a pickle. Only integers are printed in full: other values
// may contain themselves.
func brief(value any) string {
	if v, isInt := value.(int); isInt {
		return strconv.Itoa(v)
	}
	return fmt.Sprintf("a %T", value)
}

// place moves rows to their nodes and builds the graph.
func (p *planetoid) place(ctx context.Context, d *Set) error {
	b, err := newBuilder(p.prefix+"graph", p.nodes)
	if err != nil {
		return err
	}
	if err := addArcs(b, p.prefix+"graph", p.arcs); err != nil {
		return err
	}
	p.arcs = nil
	d.build(b)

	for _, m := range []*sparseRows{p.allx, p.tx} {
		for k, v := range m.values {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return fmt.Errorf("datasets: %s: data[%d] is %v, want finite", m.name, k, v)
			}
		}
	}
	if d.Features, err = p.features(ctx); err != nil {
		return err
	}
	d.Labels = &graph.Labels{Classes: p.classes, Class: slices.Repeat([]int32{-1}, p.nodes)}
	copy(d.Labels.Class, p.ally)
	for row, class := range p.ty {
		d.Labels.Class[p.test[row]] = class
	}
	if without := p.nodes - p.allx.rows() - p.tx.rows(); without > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d nodes without a row in the files: zero features, no label", without))
	}
	return nil
}

// features returns the rows of allx and tx at their nodes.
func (p *planetoid) features(ctx context.Context) (*graph.Features, error) {
	rows := make([]int32, p.nodes) // of tx, 1 + the row of each test node
	for row, node := range p.test {
		rows[node] = int32(row + 1)
	}
	return sparseFeatures(ctx, p.prefix+"allx", p.nodes, p.allx.cols, len(p.allx.idx)+len(p.tx.idx), func(node int) ([]int32, []float32) {
		m, row := p.allx, node
		if rows[node] > 0 {
			m, row = p.tx, int(rows[node]-1)
		} else if node >= m.rows() {
			return nil, nil
		}
		from, to := m.ptr[row], m.ptr[row+1]
		return m.idx[from:to], m.values[from:to]
	})
}

// publicSplit sets the split of all Planetoid baselines. It leaves nodes without a
// label out of the validation and test sets: they cannot be scored.
func (p *planetoid) publicSplit(d *Set) {
	last := min(p.train+planetoidValid, p.allx.rows())
	d.Split = &Split{}
	unlabelled := 0
	for i := range int32(last) {
		switch {
		case int(i) < p.train:
			d.Split.Train = append(d.Split.Train, i)
		case d.Labels.Class[i] >= 0:
			d.Split.Valid = append(d.Split.Valid, i)
		default:
			unlabelled++
		}
	}
	for _, i := range p.order {
		if d.Labels.Class[i] >= 0 {
			d.Split.Test = append(d.Split.Test, i)
		} else {
			unlabelled++
		}
	}
	d.Notes = append(d.Notes, "Planetoid's public split")
	if unlabelled > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d nodes of the public split left out: they have no label", unlabelled))
	}
}
