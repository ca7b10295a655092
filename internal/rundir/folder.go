// Package rundir keeps the folder of a training run locked, so that two processes never write
// to one folder. A run whose folder was moved does not write to a new folder of the same name.
//
//	cmd/gcn, train ─▶ rundir ─▶ atomicfile, filelock, regularfile
//
// The package has the names of a run's files, and reads and compares configurations.
// Package train writes and reads the other files.
package rundir

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/filelock"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
)

// The files of a run.
const (
	ConfigFile  = "config.json"
	SchemaFile  = "schema.json" // of the data
	MetricsFile = "metrics.jsonl"
	LastFile    = "last.ckpt"
	BestFile    = "best.ckpt"
	ResultFile  = "result.json"
)

// ErrLocked is wrapped by Open's error about a folder that is open already, in this
// or another process.
var ErrLocked = filelock.ErrLocked

// Folder is the locked folder at a path. It replaces files whole, and follows no link to write.
// A folder that was moved, removed or replaced is not written to any more, and nor is another
// folder at its path. Errors name the path.
type Folder struct {
	path string
	lock *os.File
}

// Open locks the folder at path. It makes a missing folder.
func Open(path string) (*Folder, error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	lock, err := os.OpenFile(filepath.Join(path, ".lock"), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err = filelock.Try(lock); err != nil {
		lock.Close()
		return nil, err
	}
	return &Folder{path, lock}, nil
}

// Path returns the path of a file in the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.path, name) }

// Present returns the names of a run's files in the folder, in the order in which
// to remove them: a run without its last checkpoint begins again.
func (f *Folder) Present() []string {
	names := []string{LastFile, BestFile, MetricsFile, ResultFile, SchemaFile, ConfigFile}
	return slices.DeleteFunc(names, func(name string) bool {
		_, err := os.Lstat(f.Path(name))
		return errors.Is(err, fs.ErrNotExist)
	})
}

// Read returns the contents of a file in the folder. The error wraps
// fs.ErrNotExist if there is none.
func (f *Folder) Read(name string) ([]byte, error) { return regularfile.Read(f.Path(name)) }

// Write replaces a file in the folder with the output of write. After an
// interruption the file has the old contents or the new, whole.
func (f *Folder) Write(name string, write func(io.Writer) error) error {
	if err := f.check(name); err != nil {
		return err
	}
	err := atomicfile.Replace(f.Path(name), func(file *os.File) error { return write(file) })
	if err != nil {
		err = cmp.Or(f.check(name), err) // it may have been moved meanwhile
	}
	return err
}

// check returns an error about a file if the folder is not the one at its path, or another
// process may have locked it.
func (f *Folder) check(name string) error {
	if filelock.InPlace(f.lock) {
		return nil
	}
	lost := fmt.Errorf("%s was moved, removed or replaced: %w", f.lock.Name(), fs.ErrNotExist)
	return &fs.PathError{Op: "write", Path: f.Path(name), Err: lost}
}

// WriteJSON writes v as indented JSON, as Write does.
func (f *Folder) WriteJSON(name string, v any) error {
	return f.Write(name, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	})
}

// Append replaces a file in the folder with contents, and opens it for appending.
func (f *Folder) Append(name string, contents []byte) (*os.File, error) {
	err := f.Write(name, func(w io.Writer) error {
		_, err := w.Write(contents)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.OpenFile(f.Path(name), os.O_WRONLY|os.O_APPEND, 0)
}

// Remove removes files from the folder. It ignores missing ones.
func (f *Folder) Remove(names ...string) error {
	for _, name := range names {
		if err := f.check(name); err != nil {
			return err
		}
		if err := os.Remove(f.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Close unlocks the folder. If it holds no other file, the lock's file is removed.
func (f *Folder) Close() error {
	if names, err := os.ReadDir(f.path); err == nil && len(names) == 1 && filelock.InPlace(f.lock) {
		os.Remove(f.lock.Name()) // it may stay
	}
	return f.lock.Close()
}

// Slug shortens a data SPEC to a valid file name: the scheme, the path's last
// element and the keys.
func Slug(spec string) string {
	location, query, _ := strings.Cut(spec, "?")
	location = regexp.MustCompile(`[^:]*[/\\]([^/\\])`).ReplaceAllString(location, "$1")
	slug := regexp.MustCompile("[^a-z0-9]+").ReplaceAllString(strings.ToLower(location+" "+query), "-")
	slug = strings.Trim(slug, "-")
	return cmp.Or(strings.TrimRight(slug[:min(len(slug), 60)], "-"), "data")
}
