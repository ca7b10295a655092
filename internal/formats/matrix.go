package formats

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// Approximate memory of a graph while it is read and built. An edge: the edge, a copy
// in the builder, and both directions in the matrix, with their rows while they are sorted. A node: its offset, the
// builder's offset, its label and its entry in the split.
const (
	edgeBytes = 28
	nodeBytes = 40
)

// newBuilder makes a builder of a graph, if the graph fits in memory while it is built.
func newBuilder(name string, nodes int, edges int64) *graph.Builder {
	what := fmt.Sprintf("datasets: %s: a graph of %d nodes", name, nodes)
	try(memory.Check(what, nodeBytes*int64(nodes)+edgeBytes*edges))
	b, err := graph.NewBuilder(nodes)
	tryIn(name, err)
	return b
}

// build makes the graph of the edges.
func (r *reader) build(b *graph.Builder) {
	if r.Direction == "" {
		r.Graph, r.Report = b.Build()
		r.note("%s", Symmetrised)
		return
	}
	if r.Graph, r.Report = b.BuildDirected(); r.Direction == "in" {
		r.Graph = r.Graph.Transpose()
	}
	r.note("graph directed (directed=%s), repeated edges and self-loops dropped", r.Direction)
}

// Symmetrised is the note about a graph that was made undirected.
const Symmetrised = "graph symmetrised, repeated edges and self-loops dropped"

// csr reads the arrays indptr, indices and, if weighted says so, data of a matrix in CSR form, and
// checks them; rows are not sorted. rows and cols are the sizes of the matrix; negative ones
// stand for the number of offsets.
func (s *source) csr(prefix string, rows, cols int, weighted bool) *graph.CSR {
	m := &graph.CSR{
		Rows: rows,
		Cols: cols,
		Ptr:  vector[int64](s, prefix+"indptr"),
		Idx:  vector[int32](s, prefix+"indices"),
	}
	if rows < 0 {
		m.Rows = max(len(m.Ptr)-1, 0)
		m.Cols = m.Rows
	}
	if weighted {
		m.Val = vector[float32](s, prefix+"data")
	}
	tryIn(s.name+": "+prefix+"{indptr,indices,data}", m.Validate())
	return m
}

// dropOnes drops the values of a matrix if all are 1.
func dropOnes(m *graph.CSR) {
	if !slices.ContainsFunc(m.Val, func(v float32) bool { return v != 1 }) {
		m.Val = nil
	}
}

// adjacency makes m the graph, without self-loops and repeated entries. If m is an adjacency matrix
// already, it becomes the graph; otherwise a builder makes the graph. m cannot be used afterwards.
func (s *source) adjacency(m *graph.CSR) {
	dropOnes(m)
	if s.Direction == "" && m.ValidateAdjacency(s.ctx, false) == nil {
		s.Graph, s.Report = m, graph.Report{Given: m.NNZ(), Edges: m.NNZ() / 2, Duplicates: m.NNZ() / 2}
		return
	}
	row := 0
	s.pairs(s.name, m.Rows, len(m.Idx), m.Val, func(k int) (u, v int32) {
		for m.Ptr[row+1] <= int64(k) {
			row++
		}
		return int32(row), m.Idx[k]
	})
}

// sciPyGraph reads the graph of a SciPy matrix in CSR or COO form. The names of its arrays
// start with prefix. Its values are weights if the options say so, else a note says that they
// are not read.
func (s *source) sciPyGraph(prefix string) {
	rows, cols := s.matrixSize(prefix)
	weighted := s.keys["weights"] == "1"
	check(rows == cols, s.name, "adjacency matrix is %d×%d, want square", rows, cols)
	if s.has(prefix+"data") && !weighted {
		s.note("%sdata not read: all edges have weight 1 (weights=1 reads it)", prefix)
	}
	if !s.has(prefix + "row") {
		s.adjacency(s.csr(prefix, rows, rows, weighted))
		return
	}
	u, v, weights := vector[int32](s, prefix+"row"), vector[int32](s, prefix+"col"), []float32(nil)
	if weighted {
		weights = vector[float32](s, prefix+"data")
	}
	check(len(u) == len(v) && (!weighted || len(u) == len(weights)), s.name, "%d rows, %d columns, %d values", len(u), len(v), len(weights))
	s.pairs(s.name, rows, len(u), weights, func(k int) (int32, int32) { return u[k], v[k] })
}

// pairs makes the graph of a list of edges; nil weights are all 1. name is the file of the edges.
func (r *reader) pairs(name string, nodes, edges int, weights []float32, ends func(k int) (u, v int32)) {
	size := int64(edges)
	if weights != nil {
		size = size * 5 / 3 // the weights, in the builder and the matrix
	}
	b := newBuilder(name, nodes, size)
	for k := range edges {
		r.poll(k)
		u, v := ends(k)
		err := b.AddWeighted(u, v, float32(graph.Weight(weights, k)))
		if err != nil {
			check(false, name, "element %d: %w", k, err)
		}
	}
	r.build(b)
}

// sparse reads a SciPy CSR matrix of features with a row for each node. The names of its
// arrays start with prefix. A negative number of nodes stands for any.
func (s *source) sparse(prefix string, nodes int) {
	rows, cols := s.matrixSize(prefix)
	m := s.csr(prefix, rows, cols, true)
	check(nodes < 0 || rows == nodes, s.name, "%d rows for %d nodes", rows, nodes)
	s.sparseFeatures(s.name, rows, cols, len(m.Idx), func(i int) ([]int32, []float32) { return m.Row(i), m.RowValues(i) })
}

// sparseFile opens the archive of a SciPy CSR matrix that scipy.sparse.save_npz has written.
func (r *reader) sparseFile(path string) *source {
	s := r.archive(path)
	if s.has("format") {
		format := strings.Join(s.texts(s.array("format")), " ")
		check(format == "csr", path, "a matrix of SciPy's format %q, want csr: save matrix.tocsr()", format)
	}
	return s
}

// sparseFeatures makes sparse features of the rows of nodes. row returns the columns and the
// values of a node's row; nil values are 1. The columns may be in any order. The values of
// a column that is there more than once add up, as in SciPy. The columns are in [0, cols).
func (r *reader) sparseFeatures(name string, nodes, cols, entries int, row func(node int) ([]int32, []float32)) {
	m := &graph.CSR{
		Rows: nodes,
		Cols: cols,
		Ptr:  make([]int64, 1, nodes+1),
		Idx:  make([]int32, 0, entries),
		Val:  make([]float32, 0, entries),
	}
	for node := range nodes {
		r.poll(node)
		columns, values := row(node)
		sums := make(map[int32]float32, len(columns))
		for k, column := range columns {
			sums[column] += float32(graph.Weight(values, k))
		}
		m.Idx = slices.AppendSeq(m.Idx, maps.Keys(sums))
		added := m.Idx[m.Ptr[node]:]
		slices.Sort(added)
		for _, column := range added {
			m.Val = append(m.Val, sums[column])
		}
		m.Ptr = append(m.Ptr, int64(len(m.Idx)))
	}
	dropOnes(m)
	r.setFeatures(name, &graph.Features{Rows: nodes, Cols: cols, Sparse: m})
}
