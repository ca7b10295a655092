package npy

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/regularfile"
)

// Archive is an open .npz file. Readers of different members may be used
// concurrently. Close the archive after use.
type Archive struct {
	name    string
	file    io.ReaderAt
	keys    []string
	members map[string]*zip.File
}

// OpenArchive opens a .npz file. The error names the file, and wraps ErrFormat if it
// is not a zip archive.
func OpenArchive(path string) (*Archive, error) {
	return open(path, func(f *os.File, size int64) (*Archive, error) {
		return NewArchive(path,
			f, size)
	})
}

func open[T any](path string, read func(f *os.File, size int64) (*T, error)) (*T, error) {
	f, err := regularfile.Open(path)
	if err == nil {
		var info os.FileInfo
		if info, err = f.Stat(); err == nil {
			return read(f, info.Size())
		}
		f.Close()
	}
	return nil, fmt.Errorf("npy: %w", err)
}

// closing closes a file, if it is one, and returns err or else the error of it.
func closing(file any, err error) error {
	if f, is := file.(io.Closer); is {
		if closed := f.Close(); err == nil {
			return closed
		}
	}
	return err
}

// NewArchive reads an archive of size bytes from r, which it owns. Errors start with the name.
// Two arrays of one name are an error: NumPy would read the last.
func NewArchive(name string, r io.ReaderAt, size int64) (*Archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, closing(r, fmt.Errorf("npy: %s: not a .npz archive: %w: %w", name, err, ErrFormat))
	}
	a := &Archive{name: name, file: r, members: make(map[string]*zip.File)}
	for _, f := range z.File {
		key, found := strings.CutSuffix(f.Name, ".npy")
		if found && a.Has(key) {
			return nil, closing(r, fmt.Errorf("npy: %s: two members %q: %w", name, f.Name, ErrFormat))
		} else if found {
			a.keys, a.members[key] = append(a.keys, key), f
		}
	}
	return a, nil
}

// Close closes the archive's file.
func (a *Archive) Close() error { return closing(a.file, nil) }

// Keys returns the names of the arrays in the order of the archive.
func (a *Archive) Keys() []string { return a.keys }

// Has tells whether there is an array of that name.
func (a *Archive) Has(key string) bool { return a.members[key] != nil }

// Open returns a reader of the array of that name. For an unknown name the error lists
// the known ones. Close the reader after use.
func (a *Archive) Open(key string) (*Reader, error) {
	f := a.members[key]
	if f == nil {
		return nil, fmt.Errorf("npy: %s: no array %q; it holds %s", a.name, key,
			strings.Join(slices.Sorted(slices.Values(a.keys)), ", "))
	}
	content, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("npy: %s: %s: %w", a.name, key, err)
	}
	return NewReader(a.name+": "+key, content, int64(f.UncompressedSize64))
}
