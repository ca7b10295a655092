package datasets

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// namedSet is a data set that is downloaded by its name.
type namedSet struct {
	name    string
	summary string
	files   []remoteFile
	zipped  bool      // the only file is a zip archive
	large   *largeSet // nil: read into memory

	scheme string // reads the files
	marker string // a file or folder inside the folder that the scheme reads
	suffix string // of the scheme's path, after the folder
}

// remoteFile is a file to download. Size and checksum are 0 and "" if none are
// known. Without a checksum, later downloads must have the size and checksum of the
// first.
type remoteFile struct {
	name   string
	url    string
	size   int64
	sha256 string
}

// namedSets returns the data sets that can be downloaded.
func namedSets() []namedSet {
	sets := []namedSet{
		ogbSet("arxiv", "papers of arXiv CS and their citations; 169,343 nodes, 40 classes"),
		ogbSet("products", "products bought together; 2,449,029 nodes, 47 classes"),
		ogbSet("proteins", "proteins and their associations; 132,534 nodes, 112 binary tasks, features of edges averaged"),
		ogbSet("mag", "of the Microsoft Academic Graph papers and citations; 736,389 nodes, 349 classes"),
		largeOGBSet("papers100M", "papers and citations; 111,059,956 nodes, 172 classes; fetched by 'gcn datasets fetch' and 'convert' only: 60 GB", papers100M()),
		{
			name: "reddit", summary: "Reddit's posts, joined by commenters, as DGL has it; 232,965 nodes, 41 classes; normalize=standardize as GraphSAGE",
			files:  []remoteFile{{name: "reddit.zip", url: "https://data.dgl.ai/dataset/reddit.zip"}},
			zipped: true, scheme: "dgl-reddit", marker: "reddit_data.npz",
		},
		saintSet("reddit-saint", "Reddit with GraphSAINT's sparser edges; 232,965 nodes, 41 classes", [4]string{
			"1sncK996BM5lpuDf75lDFqCiDZyErc1c2", "1ZsHaJ0ussP1W722krmEIp_8pwKAoi5b3", "1JF3Pjv9OboMNYs2aXRQGbJbc4t_nDd5u", "1nJIKd77lcAGU4j-kVNx_AIGEkveIKz3A"}),
		saintSet("flickr", "GraphSAINT's Flickr; images that share properties", [4]string{
			"1crmsTbd1-2sEXsGwa2IKnIB7Zd3TmUsy", "1join-XdvX3anJU_MLVtick7MgeAQiWIZ", "1uxIkbtg5drHTsKt-PAsZZ4_yJmgFmle9", "1htXCtuktuCW8TR8KiKfrFDAxUgekQoV7"}),
		saintSet("yelp", "GraphSAINT's Yelp; reviewers and friendships, binary tasks", [4]string{
			"1Juwx8HtDwSzmVIJ31ooVa1WljI4U5JnA", "1Zy6BZH_zLEjKlEFSduKE5tV9qqA_8VtM", "1VUcBGr0T0-klqerjAjxRmAqFuld_SMWU", "1NI5pa5Chpd-52eSmLW60OnB3WS5ikxq_"}),
	}
	// A copy at a fixed commit, with known checksums.
	const shchur = "https://raw.githubusercontent.com/shchur/gnn-benchmark/1e72912a0810cdf27ae54fd589a3b43358a2b161/data/planetoid/"
	const planetoid = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/"
	return append(sets,
		planetoidSet("cora", "Planetoid's Cora; 2,708 nodes, 7 classes", shchur, map[string]remoteFile{
			"allx":       {size: 257305, sha256: "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543"},
			"ally":       {size: 47959, sha256: "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71"},
			"graph":      {size: 59847, sha256: "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d"},
			"test.index": {size: 5000, sha256: "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875"},
			"tx":         {size: 148025, sha256: "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a"},
			"ty":         {size: 28135, sha256: "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad"},
			"x":          {size: 22119, sha256: "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab"},
			"y":          {size: 4054, sha256: "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1"},
		}),
		planetoidSet("citeseer", "Planetoid's Citeseer; 3,327 nodes, 6 classes", shchur, map[string]remoteFile{
			"allx":       {size: 595021, sha256: "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668"},
			"ally":       {size: 55623, sha256: "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95"},
			"graph":      {size: 61987, sha256: "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7"},
			"test.index": {size: 5000, sha256: "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4"},
			"tx":         {size: 260321, sha256: "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21"},
			"ty":         {size: 24135, sha256: "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce"},
			"x":          {size: 31087, sha256: "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6"},
			"y":          {size: 3014, sha256: "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924"},
		}),
		planetoidSet("pubmed", "Planetoid's PubMed; 19,717 nodes, 3 classes", planetoid, nil),
	)
}

// ogbSet is a node-property data set of the Open Graph Benchmark. Its authors publish no
// checksums. Several public programs that download arxiv.zip have its checksum, and GoMLX
// (gomlx/gomlx, examples/ogbnmag) has the checksum of mag.zip. The others have none.
func ogbSet(short, summary string) namedSet {
	file := map[string]remoteFile{
		"arxiv": {size: 83_058_288, sha256: "49f85c801589ecdcc52cfaca99693aaea7b8af16a9ac3f41dd85a5f3193fe276"},
		"mag":   {sha256: "2afe62ead87f2c301a7398796991d347db85b2d01c5442c95169372bf5a9fca4"},
	}[short]
	file.name = short + ".zip"
	file.url = "https://snap.stanford.edu/ogb/data/nodeproppred/" + file.name
	return namedSet{
		name: "ogbn-" + short, summary: "OGB: " + summary,
		files:  []remoteFile{file},
		zipped: true, scheme: "ogb", marker: "raw",
	}
}

// largeOGBSet is a data set of the Open Graph Benchmark in the binary layout. Its authors
// publish no checksum.
func largeOGBSet(short, summary string, large *largeSet) namedSet {
	set := ogbSet(short, summary)
	set.large = large
	set.files[0].name = short + "-bin.zip"
	set.files[0].url = "https://snap.stanford.edu/ogb/data/nodeproppred/" + set.files[0].name
	return set
}

// saintSet is a data set of GraphSAINT's authors on Google Drive. PyTorch Geometric
// lists the ids.
func saintSet(name, summary string, ids [4]string) namedSet {
	set := namedSet{name: name, summary: summary, scheme: "saint", marker: "adj_full.npz"}
	for k, file := range []string{"adj_full.npz", "feats.npy", "class_map.json", "role.json"} {
		set.files = append(set.files, remoteFile{name: file, url: "https://drive.usercontent.google.com/download?id=" + ids[k] + "&confirm=t"})
	}
	return set
}

func planetoidSet(name, summary, base string, known map[string]remoteFile) namedSet {
	set := namedSet{name: name, summary: summary, scheme: "planetoid", marker: "ind." + name + ".x", suffix: "/" + name}
	for _, part := range []string{"x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"} {
		file := known[part]
		file.name = "ind." + name + "." + part
		file.url = base + file.name
		set.files = append(set.files, file)
	}
	return set
}

func findNamed(name string) (*namedSet, error) {
	var names []string
	for _, set := range namedSets() {
		if set.name == name {
			return &set, nil
		}
		names = append(names, set.name)
	}
	return nil, fmt.Errorf("datasets: %q: unknown data set; want one of %s", name, strings.Join(names, ", "))
}

// spec returns the SPEC that reads the files. They lie in dir, or in a folder within
// it if they come from an archive.
func (set *namedSet) spec(dir string) (string, error) {
	found := ""
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == set.marker {
			found = filepath.Dir(path)
			return filepath.SkipAll
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("datasets: %w", err)
	}
	if found == "" {
		return "", fmt.Errorf("datasets: %s holds no %s", dir, set.marker)
	}
	return set.scheme + ":" + found + set.suffix, nil
}

// Names returns the names of the data sets that can be downloaded.
func Names() []string {
	var names []string
	for _, set := range namedSets() {
		names = append(names, set.name)
	}
	return names
}
