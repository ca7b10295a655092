package npy

import (
	"archive/zip"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/regularfile"
)

// Archive is an open .npz file. Readers of different members may be used
// concurrently.
type Archive struct {
	path  string
	zip   *zip.Reader
	close func() error
}

// OpenArchive opens a .npz file. The error names the file, and wraps ErrFormat if it
// is not a zip archive. Close the archive after use.
func OpenArchive(path string) (*Archive, error) {
	return openFile(path, func(f *os.File, size int64) (*Archive, error) {
		a, err := NewArchive(path, f, size)
		if err == nil {
			a.close = f.Close
		}
		return a, err
	})
}

// openFile opens a file and hands it to open with its size. It closes the file if open
// fails.
func openFile[T any](path string, open func(f *os.File, size int64) (*T, error)) (*T, error) {
	f, err := regularfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		var opened *T
		if opened, err = open(f, info.Size()); err == nil {
			return opened, nil
		}
	}
	f.Close()
	return nil, err
}

// NewArchive reads an archive of size bytes from r. Errors start with the name. Two members of
// one name are an error: NumPy would read the last.
func NewArchive(name string, r io.ReaderAt, size int64) (*Archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("npy: %s: not a .npz archive: %w: %w", name, err, ErrFormat)
	}
	names := map[string]bool{}
	for _, f := range z.File {
		if names[f.Name] {
			return nil, fmt.Errorf("npy: %s: two members %q: %w", name, f.Name, ErrFormat)
		}
		names[f.Name] = true
	}
	return &Archive{path: name, zip: z, close: func() error { return nil }}, nil
}

// Close closes the file of OpenArchive.
func (a *Archive) Close() error { return a.close() }

// Name returns the file's name.
func (a *Archive) Name() string { return a.path }

// Keys returns the names of the arrays, sorted.
func (a *Archive) Keys() []string {
	keys := a.Members()
	slices.Sort(keys)
	return keys
}

// Members returns the names of the arrays in the order of the archive.
func (a *Archive) Members() []string {
	var keys []string
	for _, f := range a.zip.File {
		if key, found := strings.CutSuffix(f.Name, ".npy"); found {
			keys = append(keys, key)
		}
	}
	return keys
}

// Has tells whether there is an array of that name.
func (a *Archive) Has(key string) bool { return a.find(key) != nil }

func (a *Archive) find(key string) *zip.File {
	for _, f := range a.zip.File {
		if f.Name == key+".npy" {
			return f
		}
	}
	return nil
}

// Open returns a reader of the array of that name. For an unknown name the error lists
// the known ones. Close the reader after use.
func (a *Archive) Open(key string) (*Reader, error) {
	f := a.find(key)
	if f == nil {
		return nil, fmt.Errorf("npy: %s: no array %q; it holds %s: %w", a.path, key, strings.Join(a.Keys(), ", "), ErrFormat)
	}
	name := a.path + ": " + key
	if f.UncompressedSize64 > math.MaxInt64 || f.CompressedSize64 > math.MaxInt64/128 {
		return nil, fmt.Errorf("npy: %s: claims %d bytes: %w", name, f.UncompressedSize64, ErrFormat)
	}
	content, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("npy: %s: %w", name, err)
	}
	r, err := newReader(name, content, int64(f.UncompressedSize64), int64(f.CompressedSize64))
	if err != nil {
		content.Close()
		return nil, err
	}
	r.close = content.Close
	return r, nil
}
