package fetch

import (
	_ "embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Set is a data set that is downloaded by its name.
type Set struct {
	Name    string
	Summary string
	Files   []File
	Scheme  string // reads the files

	// Archive and Unpacked are bytes of a data set that most machines cannot hold in memory:
	// about, and at most. They are 0 for others. The files of a large set are never removed
	// before its store is there.
	Archive, Unpacked int64

	zipped bool   // the only file is a zip archive
	marker string // a file or folder inside the folder that the scheme reads
	suffix string // of the scheme's path, after the folder
}

// File is a file to download. Without a known SHA-256, later downloads must have the SHA-256
// of the first.
type File struct {
	Name, URL, SHA256 string
}

// Large tells whether most machines cannot hold the data set in memory.
func (set *Set) Large() bool { return set.Archive > 0 }

// builtin holds the checksums that are known, as sha256sum writes them.
//
//go:embed sums.txt
var builtin string

// parseSums returns checksums by the names of their files.
func parseSums(text string) map[string]string {
	sums := map[string]string{}
	for words := strings.Fields(text); len(words) > 1; words = words[2:] {
		sums[words[1]] = words[0]
	}
	return sums
}

// Sets returns the data sets that can be downloaded.
func Sets() []Set {
	// A copy at a fixed commit, with known checksums.
	const shchur = "https://raw.githubusercontent.com/shchur/gnn-benchmark/1e72912a0810cdf27ae54fd589a3b43358a2b161/data/planetoid/"
	const planetoid = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/"
	sets := []Set{
		ogbSet("arxiv", "papers of arXiv CS and their citations; 169,343 nodes, 40 classes"),
		ogbSet("products", "products bought together; 2,449,029 nodes, 47 classes"),
		ogbSet("proteins", "proteins and their associations; 132,534 nodes, 112 binary tasks, features of edges averaged"),
		ogbSet("mag", "of the Microsoft Academic Graph papers and citations; 736,389 nodes, 349 classes"),
		papers100M(),
		{
			Name: "reddit", Summary: "Reddit's posts, joined by commenters, as DGL has it; 232,965 nodes, 41 classes; normalize=standardize as GraphSAGE",
			Files:  []File{{Name: "reddit.zip", URL: "https://data.dgl.ai/dataset/reddit.zip"}},
			Scheme: "dgl-reddit", zipped: true, marker: "reddit_data.npz",
		},
		saintSet("reddit-saint", "Reddit with GraphSAINT's sparser edges; 232,965 nodes, 41 classes", [4]string{
			"1sncK996BM5lpuDf75lDFqCiDZyErc1c2", "1ZsHaJ0ussP1W722krmEIp_8pwKAoi5b3", "1JF3Pjv9OboMNYs2aXRQGbJbc4t_nDd5u", "1nJIKd77lcAGU4j-kVNx_AIGEkveIKz3A"}),
		saintSet("flickr", "GraphSAINT's Flickr; images that share properties", [4]string{
			"1crmsTbd1-2sEXsGwa2IKnIB7Zd3TmUsy", "1join-XdvX3anJU_MLVtick7MgeAQiWIZ", "1uxIkbtg5drHTsKt-PAsZZ4_yJmgFmle9", "1htXCtuktuCW8TR8KiKfrFDAxUgekQoV7"}),
		saintSet("yelp", "GraphSAINT's Yelp; reviewers and friendships, binary tasks", [4]string{
			"1Juwx8HtDwSzmVIJ31ooVa1WljI4U5JnA", "1Zy6BZH_zLEjKlEFSduKE5tV9qqA_8VtM", "1VUcBGr0T0-klqerjAjxRmAqFuld_SMWU", "1NI5pa5Chpd-52eSmLW60OnB3WS5ikxq_"}),
		planetoidSet("cora", "Planetoid's Cora; 2,708 nodes, 7 classes", shchur),
		planetoidSet("citeseer", "Planetoid's Citeseer; 3,327 nodes, 6 classes", shchur),
		planetoidSet("pubmed", "Planetoid's PubMed; 19,717 nodes, 3 classes", planetoid),
	}
	sums := parseSums(builtin)
	for _, set := range sets {
		for k := range set.Files {
			set.Files[k].SHA256 = sums[set.Name+"/"+set.Files[k].Name]
		}
	}
	return sets
}

// ogb is the folder of the archives of the Open Graph Benchmark.
const ogb = "https://snap.stanford.edu/ogb/data/nodeproppred/"

// ogbSet is a node-property data set of the Open Graph Benchmark. Its authors publish no
// checksums. Several public programs that download arxiv.zip have its checksum, and GoMLX
// (gomlx/gomlx, examples/ogbnmag) has the checksum of mag.zip. The others have none.
func ogbSet(short, summary string) Set {
	return Set{
		Name: "ogbn-" + short, Summary: "OGB: " + summary,
		Files:  []File{{Name: short + ".zip", URL: ogb + short + ".zip"}},
		Scheme: "ogb", zipped: true, marker: "raw",
	}
}

// papers100M is ogbn-papers100M in OGB's binary layout. OGB's program gives 56.17 GiB for the
// archive. Its arrays hold two ids of 8 bytes an edge, and 128 features of 4 bytes, a year and
// a label for each node.
func papers100M() Set {
	const nodes, edges, width = 111_059_956, 1_615_685_872, 128
	set := ogbSet("papers100M", "papers and citations; 111,059,956 nodes, 172 classes; fetched by 'gcn datasets fetch' and 'convert' only: 60 GB")
	set.Files = []File{{Name: "papers100M-bin.zip", URL: ogb + "papers100M-bin.zip"}}
	set.Archive, set.Unpacked = 60_312_000_000, 16*edges+nodes*(4*width+8+8)
	return set
}

// saintSet is a data set of GraphSAINT's authors on Google Drive. PyTorch Geometric
// lists the ids.
func saintSet(name, summary string, ids [4]string) Set {
	set := Set{Name: name, Summary: summary, Scheme: "saint", marker: "adj_full.npz"}
	for k, file := range []string{"adj_full.npz", "feats.npy", "class_map.json", "role.json"} {
		set.Files = append(set.Files, File{Name: file, URL: "https://drive.usercontent.google.com/download?id=" + ids[k] + "&confirm=t"})
	}
	return set
}

func planetoidSet(name, summary, base string) Set {
	set := Set{Name: name, Summary: summary, Scheme: "planetoid", marker: "ind." + name + ".x", suffix: "/" + name}
	for _, part := range []string{"x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"} {
		file := "ind." + name + "." + part
		set.Files = append(set.Files, File{Name: file, URL: base + file})
	}
	return set
}

// Names returns the names of the data sets that can be downloaded.
func Names() []string {
	var names []string
	for _, set := range Sets() {
		names = append(names, set.Name)
	}
	return names
}

// Find returns the data set of a name.
func Find(name string) (*Set, error) {
	for _, set := range Sets() {
		if set.Name == name {
			return &set, nil
		}
	}
	return nil, fmt.Errorf("datasets: %q: unknown data set; want one of %s", name, strings.Join(Names(), ", "))
}

// Spec returns the SPEC that reads the files. They lie in dir, or in a folder within
// it if they come from an archive.
func (set *Set) Spec(dir string) (string, error) {
	found := ""
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == set.marker {
			found = filepath.Dir(path)
			return filepath.SkipAll
		}
		return err
	})
	if err == nil && found == "" {
		err = fmt.Errorf("%s holds no %s", dir, set.marker)
	}
	return set.Scheme + ":" + found + set.suffix, err
}
