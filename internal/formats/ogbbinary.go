package formats

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

// OGBBinary is a node-property folder of the Open Graph Benchmark in its binary layout, in
// which ogbn-papers100M is published: raw/data.npz, raw/node-label.npz and split/TYPE/*.csv.gz. Its
// edges and features can be read in pieces.
//
//	data.npz        edge_index (2, edges), node_feat (nodes, features),
//	                num_nodes_list and num_edges_list of one element
//	node-label.npz  node_label (nodes, tasks), NaN or -1 where unknown
type OGBBinary struct {
	// Set holds everything except Graph and Features.
	Set

	Nodes int
	Edges int64 // directed, as listed
	Width int   // features of a node

	data string // path of data.npz
}

// OpenOGBBinary reads the labels, and the split if o.Split is true, and checks the sizes of
// the other arrays. It returns nil without an error if dir is not such a folder. Memory: 8
// bytes a node, or 4 bytes a node and task.
func OpenOGBBinary(ctx context.Context, dir string, o Options) (*OGBBinary, error) {
	folder := &ogbFolder{reader: newReader(ctx, dir, o), dir: dir}
	b := &OGBBinary{data: folder.raw("data.npz")}
	if !exists(b.data) || exists(folder.raw("edge.csv.gz")) {
		return nil, nil
	}
	folder.label = folder.need(folder.raw("node-label.npz"))
	folder.findSplit()
	s := folder.archive(b.data)
	b.Nodes, b.Edges = int(s.one("num_nodes_list", 1, math.MaxInt32)), s.one("num_edges_list", 0, math.MaxInt64/64)
	for _, a := range []*npy.Reader{s.array("edge_index", 2, int(b.Edges)), s.array("node_feat", b.Nodes, "features")} {
		if s.check(!a.Fortran, a.Name(), "columns first, want rows first") {
			b.Width = a.Shape[1]
		}
	}
	a, shape := folder.archive(folder.label).array("node_label"), []any{b.Nodes, "tasks"}
	if len(a.Shape) == 1 {
		shape = shape[:1]
	}
	folder.checkShape(a, shape)
	if values := values[float32](folder.reader, a); folder.err == nil {
		folder.makeLabels(a.Name(), values, len(values)/b.Nodes)
	}
	if o.Split {
		folder.readSplit(b.Nodes)
	}
	set, err := folder.end()
	if err != nil {
		return nil, err
	}
	b.Set = *set
	return b, nil
}

// EachEdges calls f for the edges, in order, a piece at a time. f must not keep the slice. An
// edge outside the nodes is an error. Cost: it reads the array twice at a time, since the two
// ends of an edge lie far from each other, and from its start, since it may be compressed.
func (b *OGBBinary) EachEdges(ctx context.Context, f func([]graph.Edge) error) error {
	const piece = 1 << 18 // edges
	return b.array(ctx, "edge_index", func(sources *npy.Reader) error {
		return b.array(ctx, "edge_index", func(targets *npy.Reader) error {
			skip := [2]int64{0, b.Edges}
			buffers := [2][]int32{make([]int32, piece), make([]int32, piece)}
			edges := make([]graph.Edge, 0, piece)
			for at := int64(0); at < b.Edges || len(edges) > 0; at += int64(len(edges)) { // f takes a piece while the next one is read
				n := min(piece, b.Edges-at)
				group, running := errgroup.WithContext(ctx)
				for end, r := range []*npy.Reader{sources, targets} {
					group.Go(func() error {
						err := r.Skip(running, skip[end])
						skip[end] = 0
						return cmp.Or(err, npy.Read(running, r, buffers[end][:n]))
					})
				}
				err := error(nil)
				if len(edges) > 0 {
					err = f(edges)
				}
				if err := cmp.Or(err, group.Wait()); err != nil {
					return err
				}
				edges = edges[:n]
				for k := range edges {
					u, v := buffers[0][k], buffers[1][k]
					if uint(u) >= uint(b.Nodes) || uint(v) >= uint(b.Nodes) {
						return fmt.Errorf("datasets: %s: edge_index: edge %d joins %d and %d, outside [0, %d)", b.data, at+int64(k), u, v, b.Nodes)
					}
					edges[k] = graph.Edge{U: u, V: v}
				}
			}
			return nil
		})
	})
}

// EachFeatures calls f for the rows of the features, in order, a piece of whole rows at a
// time. f must not keep the slice. A feature that is not finite is an error.
func (b *OGBBinary) EachFeatures(ctx context.Context, f func(rows []float32) error) error {
	return b.array(ctx, "node_feat", func(r *npy.Reader) error {
		count := max(1<<20/b.Width, 1)
		buffer := make([]float32, count*b.Width)
		for at := 0; at < b.Nodes; {
			rows := buffer[:min(count, b.Nodes-at)*b.Width]
			if err := npy.Read(ctx, r, rows); err != nil {
				return err
			}
			check := newReader(ctx, b.data, Options{})
			if check.checkFinite(r.Name(), at, b.Width, rows); check.err != nil {
				return check.err
			}
			if err := f(rows); err != nil {
				return err
			}
			at += len(rows) / b.Width
		}
		return nil
	})
}

// array calls read with an array of data.npz.
func (b *OGBBinary) array(ctx context.Context, key string, read func(*npy.Reader) error) error {
	r := newReader(ctx, b.data, Options{})
	a := r.archive(b.data).array(key)
	if r.err == nil {
		r.ok(read(a))
	}
	_, err := r.end()
	return err
}

// inMemory reads the edges and the features too.
func (b *OGBBinary) inMemory(ctx context.Context) (*Set, error) {
	r := newReader(ctx, b.data, Options{})
	r.Direction = b.Direction
	builder := r.builder(b.data, b.Nodes, b.Edges)
	if r.err == nil {
		r.ok(b.EachEdges(ctx, builder.AddEdges))
	}
	if r.build(builder); r.err != nil {
		return nil, r.err
	}
	values, at := r.zeros(b.data, b.Nodes, b.Width), 0
	if r.err != nil {
		return nil, r.err
	}
	err := b.EachFeatures(ctx, func(rows []float32) error {
		at += copy(values[at:], rows)
		return nil
	})
	b.Graph, b.Report, b.Notes = r.Graph, r.Report, append(r.Notes, b.Notes...)
	b.Features = &graph.Features{Rows: b.Nodes, Cols: b.Width, Data: values}
	return &b.Set, err
}
