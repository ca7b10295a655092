package formats

import (
	"context"
	"math"
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
	file := func(name string) string { return filepath.Join(dir, name) }
	return readSet(ctx, dir, o, func(r *reader) {
		r.archive(file("adj_full.npz")).sciPyGraph("")
		if files := r.folder(dir); files.has("feats") {
			files.dense("feats", r.nodes())
		}
		if !exists(file("class_map.json")) {
			return
		}
		r.readClassMap(file("class_map.json"), r.nodes(), (&NodeList{Nodes: r.nodes()}).find)
		if o.Split {
			r.Split = &Split{}
			r.eachMember(file("role.json"), func(key string, f *jsonFile) { // "tr": [id, …]
				part := slices.Index([]string{"tr", "va", "te"}, key)
				f.check(part >= 0, "key %.40q, want tr, va or te", key)
				f.elements('[', func() {
					r.Split[part] = append(r.Split[part], f.node(r.nodes()))
					f.check(len(r.Split[part]) <= r.nodes(), "more than the %d nodes", r.nodes())
				})
			})
		}
	})
}

// DGLReddit reads Reddit as DGL and PyG ship it: reddit_data.npz with feature,
// label and node_types (1 train, 2 valid, 3 test), and reddit_graph.npz, a SciPy
// matrix. It reads the split only if o.Split is true. DGL and PyG train on the
// features as they are; GraphSAGE and GraphSAINT standardise them.
func DGLReddit(ctx context.Context, dir string, o Options) (*Set, error) {
	return readSet(ctx, dir, o, func(r *reader) {
		r.archive(filepath.Join(dir, "reddit_graph.npz")).sciPyGraph("")
		a, n := r.archive(filepath.Join(dir, "reddit_data.npz")), r.nodes()
		a.dense("feature", n)
		a.labels("label", n, false)
		if !o.Split {
			return
		}
		r.Split = &Split{}
		types, _ := numbers[int32](a, "node_types", n)
		for i, part := range types {
			check(part >= 1 && part <= 3, a.name, "node_types: node %d is of type %d, want 1, 2 or 3", i, part)
			r.Split[part-1] = append(r.Split[part-1], int32(i))
		}
	})
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
// split.
func NPYFolder(ctx context.Context, path string, o Options) (*Set, error) {
	return readSet(ctx, path, o, func(r *reader) {
		files, sparse := r.folder(path), filepath.Join(path, "feat.npz")
		check(!exists(sparse) || !files.has("feat"), path, "features in feat.npy and in feat.npz: remove one of them")
		files.adjacency(files.csr("", -1, -1, files.has("data")))
		n := r.nodes()
		if exists(sparse) {
			r.sparseFile(sparse).sparse("", n)
		} else if files.has("feat") {
			files.dense("feat", n)
		}
		if files.has("names") {
			ids := files.names("names")
			check(len(ids) == n, path, "names.npy: %d names for %d nodes", len(ids), n)
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
			files.readParts(n)
		}
	})
}

// readParts reads the three parts of a split: ids of n nodes, their names, or masks.
func (s *source) readParts(n int) {
	s.Split = &Split{}
	for k, name := range partNames {
		nodes, a := &NodeList{Nodes: n}, s.array(name)
		if a.Text() {
			check(s.NodeNames != nil, a.Name(), "names of nodes, but the folder has no names.npy")
			nodes.Names = s.NodeNames
		}
		s.Split[k] = nodes.array(s.reader, a)
	}
}

// names reads names that differ: texts or whole numbers.
func (s *source) names(key string) []string {
	a, seen := s.array(key), make(map[string]bool)
	check(!a.Mask(), a.Name(), "booleans where names should be")
	names := s.texts(a)
	for k, name := range names {
		check(name != "", a.Name(), "element %d: the name is empty", k)
		check(!seen[name], a.Name(), "element %d: %.40q is there twice", k, name)
		seen[name] = true
	}
	return names
}

// classNames reads the names of the classes or tasks. There may be classes that no node has.
func (s *source) classNames() {
	names, y := s.names("classes"), s.Labels
	count := len(names)
	check(y.Names == nil, s.name, "labels.npy holds names, and classes.npy too")
	check(count >= y.Outputs() && (y.Tasks == 0 || count == y.Tasks) && count <= 1<<20, s.name, "classes.npy: %d names for %d classes or tasks", count, y.Outputs())
	if y.Names = names; y.Tasks == 0 {
		y.Classes = count
	}
}

// NPZ reads an archive in one of two layouts: gnn-benchmark's (Shchur et al.
// 2018, arXiv:1811.05868), which has no split, or the heterophilous graphs'
// (Platonov et al. 2023, arXiv:2302.11640), which has several. It reads split o.Number
// if o.Split is true.
func NPZ(ctx context.Context, path string, o Options) (*Set, error) {
	return readSet(ctx, path, o, func(r *reader) {
		switch a := r.archive(path); {
		case a.has("adj_indptr"):
			a.benchmark()
		case a.has("node_features") && a.has("edges"):
			a.heterophilous()
		default:
			_, err := a.open("adj_indptr")
			check(false, path, "neither gnn-benchmark's layout (adj_indptr …) nor the heterophilous graphs' (node_features, edges …): %w", err)
		}
	})
}

// benchmark reads adj_{indptr,indices,shape}, attr_{data,indices,indptr,
// shape} or attr_matrix, and labels. Edges are stored as found, in one direction
// or both; there is no split.
func (s *source) benchmark() {
	s.sciPyGraph("adj_")
	if s.has("attr_matrix") {
		s.dense("attr_matrix", s.nodes())
	} else {
		s.sparse("attr_", s.nodes())
	}
	if s.has("labels") {
		s.labels("labels", s.nodes(), false)
	}
}

// heterophilous reads node_features, node_labels, edges (each undirected edge
// once) and {train,val,test}_masks, which have a row for each split. Two classes
// become one binary task, as in the paper.
func (s *source) heterophilous() {
	s.dense("node_features", "nodes")
	n := s.Features.Rows
	ends, a := numbers[int32](s, "edges", "edges", 2)
	s.pairs(a.Name(), n, len(ends)/2, nil, func(k int) (int32, int32) { return ends[2*k], ends[2*k+1] })
	s.labels("node_labels", n, false)
	if s.Labels.Classes == 2 {
		y := &graph.Labels{Tasks: 1, Multi: make([]float32, n)}
		for i, c := range s.Labels.Class {
			if y.Multi[i] = float32(c); c < 0 {
				y.Multi[i] = float32(math.NaN())
			}
		}
		s.Labels = y
		s.note("two classes taken as one binary task")
	}
	split := s.o.Number
	if !s.o.Split || !s.has("train_masks") {
		return
	}
	s.Split = &Split{}
	for k, key := range []string{"train_masks", "val_masks", "test_masks"} {
		masks, a := numbers[int32](s, key, "splits", n)
		check(split < a.Shape[0], a.Name(), "split=%d: want an integer in [0, %d], or shares such as 60/20/20", split, a.Shape[0]-1)
		s.Split[k] = masked(masks[split*n:(split+1)*n], 0)
	}
	s.note("split %d of the file", split)
}
