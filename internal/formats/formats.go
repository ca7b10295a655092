package formats

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/table"
)

// Set is one data set as its files have it. The caller owns it.
type Set struct {
	Graph    *graph.CSR      // symmetric, no self-loops, values nil where all are 1
	Report   graph.Report    // edges dropped while the graph was built
	Features *graph.Features // one row a node, finite; nil: the files have none, or tables
	Table    Table           // features in tables, in place of Features
	Labels   *graph.Labels   // one entry or row a node; nil: the files have none
	Split    *Split          // nil: the files have none, or the caller did not ask for it
	Notes    []string        // changes to the source, a sentence each

	NodeNames *graph.Names // ids in the source; nil: the nodes' numbers

	// Direction says which neighbours of a node its row of the graph has: all of them for "", or the
	// targets of its edges for "out", or the sources of the edges to it for "in". It is set before the
	// graph is read. If it is not "", the graph is not symmetric.
	Direction string
}

// Options says which parts of the files are read, and how.
type Options struct {
	Split   bool     // read the split of the files, if they have one
	Number  int      // of the split in an archive with several, from 0
	Columns []Column // of the features of tables, in order: other columns are left out, and one that lacks is an error. nil: as the tables have them

	// Keys holds the keys of a SPEC with their values: directed, weights, lists, links, and all keys
	// of an edge list. The caller has checked the values.
	Keys map[string]string
}

// reader reads the files of one data set into its Set. The first fault ends the reading: try and
// check panic with it, so that nothing runs on values that a fault left out, and readSet returns it.
type reader struct {
	Set
	ctx   context.Context
	o     Options
	keys  map[string]string
	files []io.Closer

	// tally sums the memory that texts take. The size of a file does not bound it: gzip
	// shrinks a text by up to a thousand.
	tally memory.Tally
}

// fault is the panic of a reader. It does not leave the package.
type fault struct{ error }

// readSet calls f with the reader of a data set. It returns the set, or the first fault. Every
// exported function that reads files calls it.
func readSet(ctx context.Context, path string, o Options, f func(r *reader)) (set *Set, err error) {
	r := &reader{
		ctx: ctx, o: o, keys: o.Keys, tally: memory.Tally{What: "datasets: " + path + ": reading it"},
		Set: Set{Direction: strings.Trim(o.Keys["directed"], "0")},
	}
	defer func() {
		for _, file := range r.files {
			file.Close()
		}
		cause := recover()
		if end, isFault := cause.(fault); isFault {
			set, err = nil, end.error
		} else if cause != nil {
			panic(cause)
		}
	}()
	f(r)
	try(ctx.Err())
	check(r.Graph == nil || r.Graph.Rows > 0, path, "no nodes")
	if r.Graph != nil && r.Graph.Val != nil {
		r.note("edges weighted; of repeated ones the first counts")
	}
	r.noteLabels()
	return &r.Set, nil
}

// try ends the reading if there is an error.
func try(err error) {
	if err != nil {
		panic(fault{err})
	}
}

// tryIn ends the reading if there is an error of a file, or of a place in it.
func tryIn(name string, err error) { check(err == nil, name, "%w", err) }

// must returns a value, if there is no error.
func must[T any](value T, err error) T {
	try(err)
	return value
}

// check ends the reading with a fault of a file, unless it is good.
func check(good bool, name, format string, args ...any) {
	if !good {
		try(fmt.Errorf("datasets: %s: %w", name, fmt.Errorf(format, args...)))
	}
}

// poll ends the reading if the context is done. It looks now and then while i counts up.
func (r *reader) poll(i int) {
	if i%4096 == 0 {
		try(r.ctx.Err())
	}
}

// take adds to the tally.
func (r *reader) take(bytes int) { try(r.tally.Add(int64(bytes))) }

// note adds a note, once.
func (r *reader) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// open opens a file of text or, if isTable says so, of Parquet.
func (r *reader) open(path string, isTable bool) *table.File {
	f := must(table.Open(path, isTable))
	r.files = append(r.files, f)
	return f
}

// Split holds the nodes of the training, the validation and the test set, in the order of the
// source. Only their range is checked.
type Split [3][]int32

// partNames are the usual names of a split's parts.
var partNames = [3]string{"train", "valid", "test"}

func (d *Set) nodes() int { return d.Graph.Rows }
