package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	G "gorgonia.org/gorgonia"
)

// RowKind says to which nodes the rows of an op's result belong. An op of a model's logits has a
// method Rows() (slot any, kind RowKind). An op without a method Rows has SameRows.
type RowKind uint8

const (
	SameRows       RowKind = iota // the rows of its inputs; the slot is ignored
	InputRows                     // the input nodes of a slot's block
	OutputRows                    // its output nodes
	CrossingRows                  // its output nodes, computed from input 0 at its input nodes
	OwnRows                       // its output nodes: input 0 at these same nodes
	PropagatedRows                // its output nodes: P times input 0
)

// Level is the part of a model between two slots. It computes rows of some nodes from rows of
// other nodes: level l reads the blocks of slot l−1, and slot l reads its values. The levels
// of n slots are 0 to n.
//
//	features ─▶ level 0 ─▶ slot 0 ─▶ level 1 ─▶ … ─▶ slot n−1 ─▶ level n ─▶ output
type Level struct {
	*Plan // nil: nothing is computed

	// Out are its values that slot l reads, or the output, and wanted values: Output and Also of
	// Plan. Sparse features are not among them: the level above gathers them.
	Out    G.Nodes
	Held   int                 // so many of Out are given to the level above, or are the output
	Wanted map[*G.Node]*G.Node // the wanted value of Cut that a value in Out is
	Data   []Data              // values that Plan is given in place of computing them
	Reads  bool                // level l reads the blocks of slot l−1
	Lists  bool                // an op reads the lists of entries of these blocks, such as attention
	Sparse bool                // an op reads sparse features across slot l−1

	Mixed bool // an op may mix rows, or hold state: the level's rows need one run
	Width int  // the largest nominal number of columns of a value, at least 1

	training G.Nodes // values at its rows that only training computes
}

// Data is a value of a level that follows from features alone, and is dense.
type Data struct {
	Node *G.Node
	Source
}

// Source says what a row of data is, for a node v: row v of X, or of P·X.
type Source struct {
	X          *graph.Features
	Propagated bool
}

// Cut cuts the part of a graph that output, such as logits, depends on. slots are all slots
// that the ops read, from the input up. wanted are values to read at each of their rows, which
// output depends on.
// The error names an op that joins rows of two levels, or Gorgonia's own Dropout, which cannot
// be turned off.
func Cut(output *G.Node, slots []any, wanted ...*G.Node) ([]*Level, error) {
	c := &cutter{slots: slots, at: make(map[*G.Node]int)}
	for range len(slots) + 1 {
		c.levels = append(c.levels, &Level{Width: 1})
	}
	whole, err := New(Spec{Output: output, Inference: true})
	if err != nil {
		return nil, err
	}
	output = withoutTraining(output)
	for _, in := range whole.inputs {
		c.at[in.node] = everywhere
	}
	for _, s := range whole.steps { // in topological order
		n := s.node
		l, err := c.level(n)
		if err != nil {
			return nil, err
		}
		if c.at[n] = l; l >= 0 && n.Dims() == 2 {
			c.levels[l].Width = max(c.levels[l].Width, n.Shape()[1])
		}
	}
	top := c.at[output]
	if top != len(slots) || output.Dims() != 2 {
		return nil, fmt.Errorf("the output %v is not a matrix with a row for each output node of the last layer", output)
	}
	c.levels[top].Out = G.Nodes{output}
	for _, level := range c.levels {
		level.Out = slices.DeleteFunc(level.Out, func(n *G.Node) bool { return isSparse(n) && n != output })
		level.Held = len(level.Out)
		level.Wanted = make(map[*G.Node]*G.Node)
	}
	for _, w := range wanted {
		n := withoutTraining(w)
		l, seen := c.at[n]
		if !seen || l < 0 || isSparse(n) {
			return nil, fmt.Errorf("the output does not depend on dense rows of %v", n)
		}
		level := c.levels[l]
		if !slices.Contains(level.Out, n) {
			level.Out = append(level.Out, n)
		}
		level.Wanted[n] = w
	}
	for l, level := range c.levels {
		if err := c.plan(l, level); err != nil {
			return nil, err
		}
	}
	return c.levels, nil
}

// everywhere is the level of a value that belongs to no rows, such as a parameter.
const everywhere = -1

type cutter struct {
	levels []*Level
	slots  []any
	at     map[*G.Node]int // the level of each node
}

// level returns the level of n's rows. The levels of its inputs are known.
func (c *cutter) level(n *G.Node) (int, error) {
	if opType(n) == "gorgonia.dropoutOp" {
		return 0, fmt.Errorf("the model has Gorgonia's Dropout, which drops values in every score too: use ops.Dropout with the batch's Mode")
	}
	children, all := inputs(n), Children(n)
	l := everywhere
	for k, child := range children {
		below := c.at[child]
		if all[k] != child && below >= 0 && !slices.Contains(c.levels[below].training, all[k]) {
			c.levels[below].training = append(c.levels[below].training, all[k])
		}
		if below >= 0 && l >= 0 && below != l {
			return 0, fmt.Errorf("op %v joins rows of layers %d and %d", n.Op(), min(l, below), max(l, below))
		}
		l = max(l, below)
	}
	if op, ok := n.Op().(interface{ Rows() (any, RowKind) }); ok {
		slot, rows := op.Rows()
		at := slices.Index(c.slots, slot)
		switch {
		case rows == SameRows:
		case at < 0:
			return 0, fmt.Errorf("op %v: the nodes of its rows are not known over full neighbourhoods", n.Op())
		case rows == InputRows || rows == OutputRows:
			if rows == OutputRows {
				at++
			}
			if x := tableOf(n); x != nil && x.Sparse == nil {
				c.levels[at].Data = append(c.levels[at].Data, Data{n, Source{X: x}})
			}
			return at, nil
		default:
			x, above := tableOf(children[0]), c.levels[at+1]
			if x != nil && l == at && (rows == OwnRows || rows == PropagatedRows && x.Sparse == nil) {
				above.Data = append(above.Data, Data{n, Source{x, rows == PropagatedRows}})
				return at + 1, nil
			}
			above.Lists = above.Lists || rows == CrossingRows
			return at + 1, c.cross(n, at, l)
		}
	}
	if l == everywhere {
		return l, nil
	}
	fixed := func(k int) bool { return c.at[children[k]] == everywhere }
	c.levels[l].Mixed = c.levels[l].Mixed || !byRows(n, fixed)
	return l, nil
}

// cross records that n crosses slot at, from values of level l: its matrices.
func (c *cutter) cross(n *G.Node, at, l int) error {
	children := inputs(n)
	if l != at || c.at[children[0]] != at {
		return fmt.Errorf("op %v of layer %d reads rows of another layer", n.Op(), at)
	}
	below, above := c.levels[at], c.levels[at+1]
	above.Reads = true
	above.Sparse = above.Sparse || isSparse(children[0])
	for _, child := range children {
		switch {
		case c.at[child] == everywhere:
		case child.Dims() != 2:
			return fmt.Errorf("op %v of layer %d reads %v, which depends on rows: want a parameter", n.Op(), at, child)
		case !slices.Contains(below.Out, child):
			below.Out = append(below.Out, child)
		}
	}
	return nil
}

// opType returns the name of the type of n's op.
func opType(n *G.Node) string {
	return strings.TrimLeft(fmt.Sprintf("%T", n.Op()), "*")
}

// byRows reports whether each row of n's value depends on the same row of its inputs alone,
// and its op holds no state. fixed tells which inputs have no rows.
func byRows(n *G.Node, fixed func(k int) bool) bool {
	if _, ok := n.Op().(Op); ok {
		return n.Dims() == 2 && !fixed(0)
	}
	text := fmt.Sprint(n.Op())
	switch opType(n) {
	case "gorgonia.elemUnaryOp", "gorgonia.elemBinOp", "gorgonia.sizeOp":
		return true
	case "gorgonia.linAlgBinOp":
		return !fixed(0) && fixed(1) && !strings.HasPrefix(text, "Aᵀ")
	case "gorgonia.concatOp":
		return text == "Concat(axis=1)"
	case "gorgonia.repeatOp":
		return fixed(0) || text != "Repeat0"
	case "gorgonia.sliceOp":
		return strings.HasPrefix(text, "T[:, ") || text == "T[:...]" // columns, or all rows
	}
	return false
}

// plan plans level l. The levels below are planned.
func (c *cutter) plan(l int, level *Level) error {
	if len(level.Out) == 0 {
		return nil // nothing to compute
	}
	var given G.Nodes
	if l > 0 {
		given = append(given, c.levels[l-1].Out...)
	}
	for _, d := range level.Data {
		given = append(given, d.Node)
	}
	constant := func(n *G.Node) bool { return c.at[n] == everywhere }
	var err error
	if level.Plan, err = New(Spec{Output: level.Out[0], Also: level.Out[1:], Given: given, Inference: true, Constant: constant}); err != nil {
		return err
	}
	level.Data = slices.DeleteFunc(level.Data, func(d Data) bool {
		return !slices.ContainsFunc(level.inputs, func(in input) bool { return in.node == d.Node })
	})
	return nil
}

// isSparse reports whether n's rows are sparse features.
func isSparse(n *G.Node) bool {
	x := tableOf(n)
	return x != nil && x.Sparse != nil
}

// tableOf returns the features that n's rows are, or nil.
func tableOf(n *G.Node) *graph.Features {
	if op, ok := n.Op().(interface{ Table() *graph.Features }); ok {
		return op.Table()
	}
	return nil
}

// inputs returns the nodes whose values n's op reads in inference.
func inputs(n *G.Node) G.Nodes {
	children := Children(n)
	for k, child := range children {
		children[k] = withoutTraining(child)
	}
	return children
}
