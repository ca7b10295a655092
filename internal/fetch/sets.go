package fetch

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

// Set is a data set that is downloaded by its name.
type Set struct {
	Name    string
	Summary string
	Files   []File
	Spec    string // of the files, in a folder DIR; an archive's are in DIR/unpacked

	// Archive and Unpacked are bytes of a data set that most machines cannot hold in memory:
	// about, and at most. They are 0 for others. The files of a large set are never removed
	// before its store is there.
	Archive, Unpacked int64

	Zipped bool // the only file is a zip archive
}

// File is a file to download. Its SHA-256 is "" if it is not known.
type File struct {
	Name, URL, SHA256 string
}

// Large tells whether most machines cannot hold the data set in memory.
func (set *Set) Large() bool { return set.Archive > 0 }

// sets.json has the data sets. Those of gnn-benchmark are copies at a fixed commit. OGB's
// authors publish no checksums: several public programs that download arxiv.zip have its
// checksum, and GoMLX (gomlx/gomlx, examples/ogbnmag) has the checksum of mag.zip. OGB's program
// gives 56.17 GiB for the archive of papers100M; unpacked, its arrays hold two ids of 8 bytes an
// edge, and 128 features of 4 bytes, a year and a label for each node. GraphSAINT's authors keep
// their files on Google Drive; PyTorch Geometric lists the ids.
//
//go:embed sets.json
var sets []byte

// Sets returns the data sets that can be downloaded.
func Sets() (all []Set) {
	if err := json.Unmarshal(sets, &all); err != nil {
		panic(err) // the file is part of the program
	}
	return all
}

// Names returns the names of the data sets that can be downloaded.
func Names() (names []string) {
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
	return nil, fmt.Errorf("datasets: %q: unknown data set; want one of %s",
		name, strings.Join(Names(), ", "))
}
