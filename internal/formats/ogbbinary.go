package formats

import (
	"context"
	"fmt"
	"math"
	"strings"

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
	folder := &ogbFolder{dir: dir}
	if !exists(folder.raw("data.npz")) || exists(folder.raw("edge.csv.gz")) {
		return nil, nil
	}
	b := &OGBBinary{data: folder.raw("data.npz")}
	b.Direction = o.Direction
	folder.label = folder.need(folder.raw("node-label.npz"))
	if o.Split {
		if err := folder.findSplit(); err != nil {
			return nil, err
		}
	}
	if err := folder.checkMissing(); err != nil {
		return nil, err
	}
	a, err := npy.OpenArchive(b.data)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if err := b.readSizes(ctx, a); err != nil {
		return nil, err
	}
	if b.Labels, err = b.readLabels(ctx, folder.label); err != nil {
		return nil, err
	}
	if err := folder.readClassNames(ctx, &b.Set); err != nil {
		return nil, err
	}
	if o.Split {
		err = folder.readSplit(ctx, &b.Set, b.Nodes)
	}
	return b, err
}

// readSizes reads the numbers of nodes and edges and compares them with the shapes of the
// arrays.
func (b *OGBBinary) readSizes(ctx context.Context, a *npy.Archive) error {
	one := func(key string, most int64) (int64, error) {
		list, err := readInt64s(ctx, a, key)
		if err != nil {
			return 0, err
		}
		if len(list) != 1 || list[0] < 0 || list[0] > most {
			return 0, fmt.Errorf("datasets: %s: %s %v, want one number in [0, %d]: a single graph", b.data, key, list, most)
		}
		return list[0], nil
	}
	nodes, err := one("num_nodes_list", math.MaxInt32)
	if err != nil {
		return err
	}
	if nodes == 0 {
		return fmt.Errorf("datasets: %s: no nodes", b.data)
	}
	if b.Edges, err = one("num_edges_list", math.MaxInt64/64); err != nil {
		return err
	}
	b.Nodes = int(nodes)
	err = withArray(a, "edge_index", func(r *npy.Reader) error {
		if len(r.Shape) != 2 || r.Shape[0] != 2 || int64(r.Shape[1]) != b.Edges || r.Fortran {
			return fmt.Errorf("datasets: %s: shape %v, want (2, %d), rows first", r.Name(), r.Shape, b.Edges)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !a.Has("node_feat") {
		return fmt.Errorf("datasets: %s: no array node_feat; it holds %s", b.data, strings.Join(a.Keys(), ", "))
	}
	return withArray(a, "node_feat", func(r *npy.Reader) error {
		if len(r.Shape) != 2 || r.Shape[0] != b.Nodes || r.Shape[1] == 0 || r.Fortran {
			return fmt.Errorf("datasets: %s: shape %v, want (%d, features), rows first", r.Name(), r.Shape, b.Nodes)
		}
		b.Width = r.Shape[1]
		return nil
	})
}

// readLabels reads classes, which may be floats, or binary tasks.
func (b *OGBBinary) readLabels(ctx context.Context, path string) (y *graph.Labels, err error) {
	a, err := npy.OpenArchive(path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	err = withArray(a, "node_label", func(r *npy.Reader) error {
		if len(r.Shape) == 0 || len(r.Shape) > 2 || r.Shape[0] != b.Nodes || len(r.Shape) == 2 && r.Shape[1] == 0 {
			return fmt.Errorf("datasets: %s: shape %v, want (%d, tasks)", r.Name(), r.Shape, b.Nodes)
		}
		values, err := r.Float32s(ctx)
		if err != nil {
			return err
		}
		if len(r.Shape) == 2 && r.Shape[1] > 1 {
			y, err = taskLabels(r.Name(), values, r.Shape[1])
			return err
		}
		classes := make([]int32, len(values))
		for i, v := range values {
			switch {
			case v != v:
				classes[i] = -1
			case v != float32(int32(v)) || v < -1 || v > 1<<24:
				return fmt.Errorf("datasets: %s: label of node %d is %v, not a class", r.Name(), i, v)
			default:
				classes[i] = int32(v)
			}
		}
		y, err = classLabels(r.Name(), classes)
		return err
	})
	return y, err
}

// binaryPiece is the number of edges read at a time.
const binaryPiece = 1 << 18

// EachEdges calls f for the edges from number first on, in order, a piece at a time. f must
// not keep the slice. An edge outside the nodes is an error. Cost: it reads the array twice,
// since the two ends of an edge lie far from each other, and from its start, since it may be
// compressed.
func (b *OGBBinary) EachEdges(ctx context.Context, first int64, f func([]graph.Edge) error) error {
	if first >= b.Edges {
		return ctx.Err()
	}
	group, running := errgroup.WithContext(ctx)
	sources := b.eachEnd(running, group, first, b.Edges, false)
	targets := b.eachEnd(running, group, b.Edges+first, 2*b.Edges, true)
	group.Go(func() error {
		edges := make([]graph.Edge, 0, binaryPiece)
		for at := first; at < b.Edges; {
			if err := running.Err(); err != nil {
				return err
			}
			u, err := receive(running, sources)
			if err != nil {
				return err
			}
			v, err := receive(running, targets)
			if err != nil {
				return err
			}
			edges = edges[:len(u)]
			for k := range u {
				edges[k] = graph.Edge{U: u[k], V: v[k]}
				if uint(u[k]) >= uint(b.Nodes) || uint(v[k]) >= uint(b.Nodes) {
					return fmt.Errorf("datasets: %s: edge_index: edge %d joins %d and %d, outside [0, %d)", b.data, at+int64(k), u[k], v[k], b.Nodes)
				}
			}
			if err := f(edges); err != nil {
				return err
			}
			at += int64(len(u))
		}
		return nil
	})
	return group.Wait()
}

func receive(ctx context.Context, pieces <-chan []int32) ([]int32, error) {
	select {
	case piece := <-pieces:
		return piece, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// eachEnd sends the elements from first to last of edge_index, in pieces of the size of
// EachEdges. check says that the array ends there: its checksum is compared.
func (b *OGBBinary) eachEnd(ctx context.Context, group *errgroup.Group, first, last int64, check bool) <-chan []int32 {
	pieces := make(chan []int32, 2)
	group.Go(func() error {
		return b.array("edge_index", func(r *npy.Reader) error {
			if err := r.Skip(ctx, first); err != nil {
				return err
			}
			var buffers [5][]int32 // two wait, one each is written and read, one is left
			for k, at := 0, first; at < last; k++ {
				buffer := buffers[k%len(buffers)]
				if buffer == nil {
					buffer = make([]int32, binaryPiece)
					buffers[k%len(buffers)] = buffer
				}
				buffer = buffer[:min(binaryPiece, last-at)]
				if err := r.ReadInt32s(buffer); err != nil {
					return err
				}
				select {
				case pieces <- buffer:
				case <-ctx.Done():
					return ctx.Err()
				}
				at += int64(len(buffer))
			}
			if check {
				return r.End()
			}
			return nil
		})
	})
	return pieces
}

// EachFeatures calls f for the rows of the features from node first on, in order, a piece
// of whole rows at a time. f must not keep the slice. A feature that is not finite is an
// error.
func (b *OGBBinary) EachFeatures(ctx context.Context, first int, f func(rows []float32) error) error {
	return b.array("node_feat", func(r *npy.Reader) error {
		if err := r.Skip(ctx, int64(first)*int64(b.Width)); err != nil {
			return err
		}
		count := max(1<<20/b.Width, 1)
		buffer := make([]float32, count*b.Width)
		for at := first; at < b.Nodes; {
			if err := ctx.Err(); err != nil {
				return err
			}
			rows := buffer[:min(count, b.Nodes-at)*b.Width]
			if err := r.ReadFloat32s(rows); err != nil {
				return err
			}
			for k, v := range rows {
				if v-v != 0 { // NaN or infinite
					return fmt.Errorf("datasets: %s: feature %d of node %d is %v, want finite", r.Name(), k%b.Width, at+k/b.Width, v)
				}
			}
			if err := f(rows); err != nil {
				return err
			}
			at += len(rows) / b.Width
		}
		return r.End()
	})
}

// array opens an array of data.npz.
func (b *OGBBinary) array(key string, read func(*npy.Reader) error) error {
	a, err := npy.OpenArchive(b.data)
	if err != nil {
		return err
	}
	defer a.Close()
	return withArray(a, key, read)
}

// Files returns the paths of the large files.
func (b *OGBBinary) Files() []string { return []string{b.data} }

// inMemory reads the edges and the features too.
func (b *OGBBinary) inMemory(ctx context.Context) (*Set, error) {
	if err := checkGraph(b.data, b.Nodes, b.Edges); err != nil {
		return nil, err
	}
	builder, err := newBuilder(b.data, b.Nodes)
	if err != nil {
		return nil, err
	}
	if err := b.EachEdges(ctx, 0, builder.AddEdges); err != nil {
		return nil, err
	}
	d := &b.Set
	notes := d.Notes
	d.Notes = nil
	d.build(builder)
	d.Notes = append(d.Notes, notes...)
	values, err := zeros(b.data, b.Nodes, b.Width)
	if err != nil {
		return nil, err
	}
	d.Features = &graph.Features{Rows: b.Nodes, Cols: b.Width, Data: values}
	at := 0
	return d, b.EachFeatures(ctx, 0, func(rows []float32) error {
		at += copy(values[at:], rows)
		return nil
	})
}
