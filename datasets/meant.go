package datasets

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/store"
)

// meant returns the SPEC that was probably meant by one without a scheme that names no data
// set: a name in another spelling, such as "Cora" or "ogbn_arxiv", or the path of a file or
// folder of a known form. It returns "" if there is none.
func meant(s *Spec) string {
	if path := meantPath(s.Path); path != "" {
		return strings.Replace(s.text, s.Path, path, 1)
	}
	if name := strings.ToLower(strings.ReplaceAll(s.Path, "_", "-")); slices.Contains(Names(), name) {
		return strings.Replace(s.text, s.Path, name, 1)
	}
	return ""
}

// meantPath returns the path of a file or folder with its scheme, by its name or the files in
// it, or "".
func meantPath(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	if info.IsDir() {
		// Planetoid's files lie in a folder raw too, as OGB's.
		if paths := planetoidNames(path); len(paths) > 0 {
			return "planetoid:" + paths[0]
		}
		for _, form := range []struct{ scheme, file string }{
			{"npy", "indptr.npy"}, {"ogb", "raw"}, {"saint", "adj_full.npz"}, {"dgl-reddit", "reddit_graph.npz"},
		} {
			if _, err := os.Stat(filepath.Join(path, form.file)); err == nil {
				return form.scheme + ":" + path
			}
		}
		return ""
	}
	switch filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(path), ".gz"), ".zst")) {
	case ".csv", ".tsv", ".txt", ".parquet", ".edgelist", ".edges":
		return "edges:" + path
	case ".npz":
		return "npz:" + path
	}
	if is, err := store.Is(path); is && err == nil && info.Size() > 0 {
		return "store:" + path
	}
	return ""
}

// planetoidNames returns the paths DIR/NAME of Planetoid's files in a folder, or in its
// folder raw, where PyTorch Geometric puts them.
func planetoidNames(dir string) (paths []string) {
	for _, dir := range []string{dir, filepath.Join(dir, "raw")} {
		files, _ := os.ReadDir(dir)
		for _, f := range files {
			if name, ok := strings.CutPrefix(f.Name(), "ind."); ok && strings.HasSuffix(name, ".graph") {
				paths = append(paths, filepath.Join(dir, strings.TrimSuffix(name, ".graph")))
			}
		}
	}
	return paths
}
