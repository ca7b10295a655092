package formats

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
)

// SAINT reads GraphSAINT's folders (Zeng et al. 2020, arXiv:1907.04931):
// adj_full.npz, a SciPy CSR matrix, feats.npy, role.json with the split, and
// class_map.json with a class, or a list of 0 and 1, for each node. Training sees the
// whole graph: adj_train.npz is not read. role.json is read only if o.Split is
// true.
func SAINT(ctx context.Context, dir string, o Options) (*Set, error) {
	r, file := newReader(ctx, dir, o), func(name string) string { return filepath.Join(dir, name) }
	r.archive(file("adj_full.npz")).sciPyGraph("")
	if files := r.folder(dir); r.err == nil && files.has("feats") {
		r.Features = files.dense("feats", r.nodes())
	}
	if r.err != nil || !exists(file("class_map.json")) {
		return r.end()
	}
	r.readClassMap(file("class_map.json"), r.nodes(), func(key string) (int32, error) {
		id, ok := parseID([]byte(key))
		if !ok {
			return 0, fmt.Errorf("key %.40q is not a node id", key)
		}
		return id, nil
	})
	if o.Split {
		r.readRoles(file("role.json"))
	}
	return r.end()
}

// readRoles reads {"tr": [id, …], "va": […], "te": […]}.
func (r *reader) readRoles(path string) {
	r.Split = &Split{}
	r.eachMember(path, func(key string, d *json.Decoder) error {
		part := slices.Index([]string{"tr", "va", "te"}, key)
		if part < 0 {
			return fmt.Errorf("key %.40q, want tr, va or te", key)
		}
		to := r.Split.parts()[part]
		return elements(d, '[', func(k int) error {
			id, err := decodeNode(d, r.nodes())
			if err == nil && k >= r.nodes() {
				err = fmt.Errorf("more than the %d nodes", r.nodes())
			}
			if err != nil {
				return fmt.Errorf("%s: element %d: %w", key, k, err)
			}
			*to = append(*to, id)
			return nil
		})
	})
}

// DGLReddit reads Reddit as DGL and PyG ship it: reddit_data.npz with feature,
// label and node_types (1 train, 2 valid, 3 test), and reddit_graph.npz, a SciPy
// matrix. It reads the split only if o.Split is true. DGL and PyG train on the
// features as they are; GraphSAGE and GraphSAINT standardise them.
func DGLReddit(ctx context.Context, dir string, o Options) (*Set, error) {
	r := newReader(ctx, dir, o)
	r.archive(filepath.Join(dir, "reddit_graph.npz")).sciPyGraph("")
	a := r.archive(filepath.Join(dir, "reddit_data.npz"))
	if r.err != nil {
		return r.end()
	}
	n := r.nodes()
	r.Features = a.dense("feature", n)
	a.labels("label", n, false)
	if !o.Split {
		return r.end()
	}
	r.Split = &Split{}
	types, _ := numbers[int32](a, "node_types", n)
	for i, part := range types {
		if part < 1 || part > 3 {
			r.check(false, a.name, "node_types: node %d is of type %d, want 1, 2 or 3", i, part)
			break
		}
		to := r.Split.parts()[part-1]
		*to = append(*to, int32(i))
	}
	return r.end()
}

// NPYFolder reads a folder of NumPy files, of a graph of N nodes:
//
//	indptr, indices     rows of the adjacency matrix: N+1 offsets, and columns
//	feat                (N, features); or feat.npz, a SciPy CSR matrix
//	labels              (N) classes, by number or name; (N, classes), one 1 a row; or (N, tasks)
//	data                weights of the edges, may be missing
//	names               (N) ids of the nodes, may be missing
//	classes             names of the classes or tasks that labels numbers, may be missing
//	train, valid, test  numbers or names of nodes, or masks of N booleans, or of N zeros and ones
//
// The split is read if o.Split is true. If all three of its files are missing, the set has no
// split. With edges=none the nodes are the rows of feat.npy, without edges: indptr, indices and
// data must be missing.
func NPYFolder(ctx context.Context, path string, o Options) (*Set, error) {
	r, noEdges := newReader(ctx, path, o), o.Keys["edges"] == "none"
	files, sparse := r.folder(path), filepath.Join(path, "feat.npz")
	r.check(!exists(sparse) || !files.has("feat"), path, "features in feat.npy and in feat.npz: remove one of them")
	r.check(noEdges || !files.has("feat") || files.has("indptr") || files.has("indices"), path, "no graph: indptr.npy and indices.npy are missing; ?edges=none reads features without a graph")
	p := new(pattern)
	if noEdges {
		r.check(!exists(sparse), path, "edges=none needs feat.npy, not feat.npz")
		for _, key := range []string{"indptr", "indices", "data"} {
			r.check(!files.has(key), path, "edges=none, but the folder has %s.npy", key)
		}
		if r.Features = files.dense("feat", "nodes"); r.err == nil {
			p = &pattern{name: path, ptr: make([]int64, r.Features.Rows+1)}
		}
	} else {
		p = files.pattern("", -1, -1, files.has("data"))
	}
	if r.err == nil {
		r.adjacency(p)
	}
	if r.err != nil {
		return r.end()
	}
	n := r.nodes()
	if exists(sparse) {
		r.Features = r.sparseFile(sparse).sparse("", n)
	} else if r.Features == nil && files.has("feat") {
		r.Features = files.dense("feat", n)
	}
	if files.has("names") {
		ids := files.nodeNames("names")
		r.check(len(ids) == n, path, "names.npy: %d names for %d nodes", len(ids), n)
		r.NodeNames = new(graph.Names)
		for _, id := range ids {
			r.NodeNames.Append(id)
		}
	}
	if files.has("labels") {
		files.labels("labels", n, files.has("classes"))
		if files.has("classes") {
			files.classNames()
		}
	}
	if o.Split && r.Labels != nil && slices.ContainsFunc(partNames[:], files.has) {
		r.Split = &Split{}
		for k, to := range r.Split.parts() {
			nodes := &NodeList{Nodes: n}
			a := files.array(partNames[k])
			if a.Text() {
				r.check(r.NodeNames != nil, a.Name(), "names of nodes, but the folder has no names.npy")
				nodes.Names = r.NodeNames
			}
			*to = nodes.array(r, a)
		}
	}
	return r.end()
}

// nodeNames reads the ids of the nodes, each there once: texts or whole numbers.
func (s *source) nodeNames(key string) []string {
	a, seen := s.array(key), make(map[string]bool)
	ids := s.texts(a)
	for k, id := range ids {
		if id == "" || seen[id] {
			s.check(id != "", a.Name(), "element %d: a node's name is empty", k)
			s.check(false, a.Name(), "element %d: node %.40q is there twice", k, id)
			break
		}
		seen[id] = true
	}
	return ids
}

// classNames reads the names of the classes or tasks. There may be classes that no node has.
func (s *source) classNames() {
	a := s.array("classes")
	names := s.texts(a)
	if s.err != nil {
		return
	}
	y, count := s.Labels, len(names)
	s.check(y.Names == nil, a.Name(), "labels.npy holds names already")
	s.check(a.Text(), a.Name(), "elements are %s, want texts", a.Descr)
	if !s.check(count >= y.Outputs() && (y.Tasks == 0 || count == y.Tasks) && count <= 1<<20, a.Name(), "%d names for %d classes or tasks", count, y.Outputs()) {
		return
	}
	known := make(map[string]int)
	for k, name := range names {
		if first, again := known[name]; again && y.Tasks == 0 {
			s.check(false, a.Name(), "the classes %d and %d have the same name, %.40q", first, k, name)
		}
		known[name] = k
	}
	if y.Names = names; y.Tasks == 0 {
		y.Classes = count
	}
}
