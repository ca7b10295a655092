package ops

import G "gorgonia.org/gorgonia"

// Overwriter is an op that needs less memory if it may write over one of its
// inputs. What fits in the cache is what a step is fast by.
type Overwriter interface {
	// DoOver is Do, but may overwrite the value of the input that Overwrites
	// named.
	DoOver(in ...G.Value) (G.Value, error)

	over() int
}

// Overwrites returns n's op and the number of the input whose value it could
// write over, if there is one that is sure to be in memory of its own. Whether
// anything reads that value later only who runs the graph can know, and so may
// call DoOver in place of Do.
func Overwrites(n *G.Node) (op Overwriter, input int, ok bool) {
	if op, ok = n.Op().(Overwriter); !ok {
		return nil, 0, false
	}
	input = op.over()
	switch childrenOf(n)[input].Op().(type) {
	case *product, *propagate, *activateBack:
		return op, input, true
	}
	return nil, 0, false
}
