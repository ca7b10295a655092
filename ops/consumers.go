package ops

import (
	"github.com/gcn-layerwise/gcn/graph"
	G "gorgonia.org/gorgonia"
)

// gatherer is an op that can read the rows of a source, its first input, from where they
// are stored. The source then need not make a matrix of them.
type gatherer interface{ gathers(source G.Op) bool }

// sparseSource is an op whose value on the CPU can be a sparse matrix too.
type sparseSource interface {
	G.Op
	sparseRows() *graph.CSR // of the last run; nil: the value is only dense
}

// sparseSourceOf returns n's op if its value can be a sparse matrix too, or nil.
func sparseSourceOf(n *G.Node) sparseSource {
	switch op := n.Op().(type) {
	case *features:
		if op.x.Sparse != nil {
			return op
		}
	case *propagate:
		if op.source != nil && op.source.x.Sparse != nil {
			return op
		}
	}
	return nil
}

// consumers tells whether the ops that read a node's value gather its rows by themselves.
type consumers struct {
	node  *G.Node
	whole bool // the value is needed always
	skip  bool // every consumer gathers
	known int  // nodes in the graph when skip was computed
}

// MakeWhole makes the op compute its value also if every consumer gathers: the value is read
// beside the graph.
func (c *consumers) MakeWhole() { c.whole = true }

// skipped reports whether all consumers of op, the node's op, gather by themselves on the CPU.
func (c *consumers) skipped(op G.Op) bool {
	if c.whole || c.node == nil {
		return false
	}
	if n := len(c.node.Graph().AllNodes()); n != c.known {
		c.known = n
		c.skip = c.all(func(reader G.Op) bool {
			g, ok := reader.(gatherer)
			return ok && g.gathers(op)
		})
	}
	return c.skip
}

// skippedOnDevice is skipped for a GPU, where only Propagate gathers.
func (c *consumers) skippedOnDevice(op G.Op) bool {
	return !c.whole && c.all(func(reader G.Op) bool {
		p, ok := reader.(*propagate)
		return ok && p.gathers(op)
	})
}

// all reports whether the node has consumers, and f holds for the ops of all.
func (c *consumers) all(f func(reader G.Op) bool) bool {
	nodes := c.node.Graph().To(c.node.ID())
	all := nodes.Len() > 0
	for nodes.Next() {
		all = all && f(nodes.Node().(*G.Node).Op())
	}
	return all
}
