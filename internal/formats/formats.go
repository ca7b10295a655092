package formats

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
)

// Set is one data set as its files have it. The caller owns it.
type Set struct {
	Graph    *graph.CSR      // symmetric, no self-loops, values nil where all are 1
	Report   graph.Report    // edges dropped while the graph was built
	Features *graph.Features // one row a node, finite; nil: the files have none
	Labels   *graph.Labels   // one entry or row a node; nil: the files have none
	Split    *Split          // nil: the files have none, or the caller did not ask for it
	Notes    []string        // changes to the source, a sentence each

	NodeNames *graph.Names // ids in the source; nil: the nodes' numbers

	// Direction is set before the graph is read. If it is not Undirected, the graph is
	// not symmetric.
	Direction Direction
}

// Direction says which edges of a directed source make the rows of the graph.
type Direction string

// The directions. A row has all neighbours of its node, the targets of its edges, or the
// sources of the edges to it.
const (
	Undirected Direction = ""
	Out        Direction = "out"
	In         Direction = "in"
)

// Options says which parts of the files are read, and how.
type Options struct {
	Split     bool      // read the split of the files, if they have one
	Direction Direction // of the graph
	Weights   bool      // read the values of a sparse matrix as the edges' weights
}

// Split holds node ids in the order of the source. Only their range is checked.
type Split struct {
	Train, Valid, Test []int32
}

// partNames are the usual names of a split's parts.
var partNames = [3]string{"train", "valid", "test"}

// parts returns the training, the validation and the test set.
func (s *Split) parts() [3]*[]int32 { return [3]*[]int32{&s.Train, &s.Valid, &s.Test} }

func (d *Set) nodes() int { return d.Graph.Rows }

// noteNames says how labels with names were numbered.
func (d *Set) noteNames() {
	if d.Labels.Names != nil {
		d.Notes = append(d.Notes, fmt.Sprintf("%d kinds of labels, numbered in the order of their names", d.Labels.Outputs()))
	}
}
