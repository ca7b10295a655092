package cu

// #include "driver.h"
import "C"

import (
	"errors"

	"gorgonia.org/cu/internal/count"
)

// CaptureMode says which calls of the process are refused during a capture.
type CaptureMode int

// Calls that could break a capture, such as MemAlloc, are refused to all threads
// (the safe choice), to the capturing thread, or to none. A goroutine may move
// between threads: lock it to one for CaptureThreadLocal.
const (
	CaptureGlobal      CaptureMode = 0
	CaptureThreadLocal CaptureMode = 1
	CaptureRelaxed     CaptureMode = 2
)

// BeginCapture starts to record what is put on the stream instead of doing it.
// Other streams join in by waiting for an event recorded on this one, and must be
// waited for by it before EndCapture. Kernels to be captured should have run
// once, since a driver may load them only then.
func (s Stream) BeginCapture(mode CaptureMode) error {
	c, h, err := s.use()
	if err != nil {
		return err
	}
	return check(C.gcn_cu_capture_begin(c.handle, h, C.int(mode)), "cuStreamBeginCapture")
}

// Capturing tells whether the stream is recording.
func (s Stream) Capturing() (bool, error) {
	c, h, err := s.use()
	if err != nil {
		return false, err
	}
	var v C.int
	err = check(C.gcn_cu_capture_status(c.handle, h, &v), "cuStreamIsCapturing")
	return v != 0, err
}

// EndCapture gives the graph of what was recorded. After an error in between it
// is CaptureInvalidated, and the stream is usable again.
func (s Stream) EndCapture() (Graph, error) {
	c, h, err := s.use()
	if err != nil {
		return Graph{}, err
	}
	g := Graph{c: c}
	if err := check(C.gcn_cu_capture_end(c.handle, h, &g.h), "cuStreamEndCapture"); err != nil {
		return Graph{}, err
	}
	return g, nil
}

// Graph is recorded work: kernels with their arguments, copies, products.
type Graph struct {
	c *context
	h C.handle
}

var errNoGraph = errors.New("cu: a Graph must come from EndCapture or Instantiate")

// Destroy lets the graph go; what was instantiated from it stays.
func (g Graph) Destroy() error {
	if g.c == nil {
		return errNoGraph
	}
	return check(C.gcn_cu_graph_destroy(g.c.handle, g.h), "cuGraphDestroy")
}

// Nodes is how many pieces of work the graph holds.
func (g Graph) Nodes() (int, error) {
	if g.c == nil {
		return 0, errNoGraph
	}
	var n C.size_t
	err := check(C.gcn_cu_graph_nodes(g.c.handle, g.h, &n), "cuGraphGetNodes")
	return int(n), err
}

// Instantiate makes the graph ready to be launched.
func (g Graph) Instantiate() (ExecGraph, error) {
	if g.c == nil {
		return ExecGraph{}, errNoGraph
	}
	x := ExecGraph{c: g.c}
	if err := check(C.gcn_cu_graph_instantiate(g.c.handle, &x.h, g.h), "cuGraphInstantiate"); err != nil {
		return ExecGraph{}, err
	}
	return x, nil
}

// ExecGraph is a graph that can be launched over and over, each time with the
// arguments as recorded: what changes between launches must lie in memory.
type ExecGraph struct {
	c *context
	h C.handle
}

// Launch puts all work of the graph on the stream, as one piece.
func (x ExecGraph) Launch(s Stream) error {
	if x.c == nil {
		return errNoGraph
	}
	_, h, err := s.use()
	if err != nil {
		return err
	}
	count.Graphs.Add(1)
	return check(C.gcn_cu_graph_launch(x.c.handle, x.h, h), "cuGraphLaunch")
}

// Destroy lets it go.
func (x ExecGraph) Destroy() error {
	if x.c == nil {
		return errNoGraph
	}
	return check(C.gcn_cu_exec_destroy(x.c.handle, x.h), "cuGraphExecDestroy")
}
