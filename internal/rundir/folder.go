// Package rundir keeps the folder of a training run open and locked, so that two
// processes never write to one folder. A run whose folder is moved keeps writing to it,
// and not to a new folder of the same name.
//
//	cmd/gcn, train ─▶ rundir ─▶ atomicfile, filelock
//
// The package has the names of a run's files, and reads and compares configurations.
// Package train writes and reads the other files.
package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/filelock"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// The files of a run.
const (
	ConfigFile  = "config.json"
	SchemaFile  = "schema.json" // of the data
	MetricsFile = "metrics.jsonl"
	LastFile    = "last.ckpt"
	BestFile    = "best.ckpt"
	ResultFile  = "result.json"

	lockFile = ".lock"
)

// ErrLocked is wrapped by Open's error about a folder that is open already, in this
// or another process.
var ErrLocked = errors.New("another process is training in it")

// Folder is a folder held open and locked. It replaces files whole and follows no
// link. On systems that allow it, it stays the same folder when it is moved. Errors
// name the path at which it was opened.
type Folder struct {
	path string
	root *os.Root
	lock *os.File
}

// Open opens and locks the folder at path. It makes a missing folder.
func Open(path string) (*Folder, error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	f := &Folder{path: path, root: root}
	f.lock, err = root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o666)
	if err == nil {
		err = filelock.Try(f.lock)
	}
	switch {
	case err == nil && f.holdsLock() && f.InPlace():
		return f, nil
	case err == nil || errors.Is(err, filelock.ErrLocked): // or another process has removed the lock's file since
		err = fmt.Errorf("%s: %w", path, ErrLocked)
	}
	err = f.named(lockFile, err)
	f.lock.Close()
	root.Close()
	return nil, err
}

// Path returns the path of a file in the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.path, name) }

// named puts the path into an error about a file in the folder.
func (f *Folder) named(name string, err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return &fs.PathError{Op: of.Op, Path: f.Path(name), Err: of.Err}
	}
	return err
}

// holdsLock reports whether the lock's file still has its name.
func (f *Folder) holdsLock() bool {
	ours, err := f.lock.Stat()
	there, missing := f.root.Lstat(lockFile)
	return err == nil && missing == nil && os.SameFile(ours, there)
}

// InPlace reports whether the folder is still the one at its path.
func (f *Folder) InPlace() bool {
	ours, err := f.root.Stat(".")
	there, missing := os.Stat(f.path)
	return err == nil && missing == nil && os.SameFile(ours, there)
}

// Present returns the names of a run's files in the folder, in the order in which
// to remove them: a run without its last checkpoint begins again.
func (f *Folder) Present() ([]string, error) {
	var names []string
	for _, name := range []string{LastFile, BestFile, MetricsFile, ResultFile, SchemaFile, ConfigFile} {
		_, err := f.root.Lstat(name)
		if err == nil {
			names = append(names, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, f.named(name, err)
		}
	}
	return names, nil
}

// Read returns the contents of a file in the folder. The error wraps
// fs.ErrNotExist if there is none.
func (f *Folder) Read(name string) ([]byte, error) {
	info, err := f.root.Lstat(name)
	if err != nil {
		return nil, f.named(name, err)
	}
	if !info.Mode().IsRegular() { // links, devices and pipes are not files of a run
		return nil, fmt.Errorf("%s: not a regular file", f.Path(name))
	}
	if err := memory.Check(f.Path(name), info.Size()); err != nil {
		return nil, err
	}
	data, err := f.root.ReadFile(name)
	return data, f.named(name, err)
}

// Write replaces a file in the folder with the output of write. After an
// interruption the file has the old contents or the new, whole. Write refuses if
// this process no longer holds the folder.
func (f *Folder) Write(name string, write func(io.Writer) error) error {
	if err := f.check(name); err != nil {
		return err
	}
	return atomicfile.WriteIn(f.root, name, write)
}

// check returns an error if another process may hold the folder's lock.
func (f *Folder) check(name string) error {
	if f.holdsLock() {
		return nil
	}
	lost := fmt.Errorf("%s was removed or replaced: %w", f.Path(lockFile), fs.ErrNotExist)
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
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	return file, f.named(name, err)
}

// Remove removes files from the folder. It ignores missing ones.
func (f *Folder) Remove(names ...string) error {
	for _, name := range names {
		if err := f.check(name); err != nil {
			return err
		}
		if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return f.named(name, err)
		}
	}
	return nil
}

// Close closes the folder. If it holds no other file, the lock's file is removed.
func (f *Folder) Close() error {
	if names, err := fs.ReadDir(f.root.FS(), "."); err == nil && len(names) == 1 && f.holdsLock() {
		f.root.Remove(lockFile) // it may stay
	}
	return errors.Join(f.lock.Close(), f.root.Close())
}
