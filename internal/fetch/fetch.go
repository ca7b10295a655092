// Package fetch downloads named data sets over HTTP, checks them and unpacks them.
//
//	Find ─▶ Client.Fetch: waits for other processes, downloads, checks SHA-256, unpacks
//	          ─▶ a SPEC of the files, from which the caller makes a store ─▶ removes the files
//
// A file of a data set appears at cache/downloads/NAME/FILE when it is whole; until then
// FILE.part grows beside its entity tag. A later call goes on there.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/internal/filelock"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// ErrOffline is wrapped by the error about a data set that is not in the cache when
// downloading is forbidden.
var ErrOffline = errors.New("downloading is forbidden")

// Client downloads into a cache.
type Client struct {
	Cache    string         // folder
	Mirror   string         // files are at Mirror/NAME/FILE; "": at their own addresses
	Offline  bool           // never download
	Progress func(Progress) // called often, from one goroutine
	Pause    time.Duration  // before the second attempt; it doubles for each further one in a row
	Stall    time.Duration  // a connection without a byte for so long counts as broken
}

// Progress reports the progress of fetching a named data set, of computing P·X, or of
// a conversion that does not hold the data in memory.
type Progress struct {
	Name        string // of the data set
	Stage       string // "download", "check", "unpack", "prepare", "propagate", "edges", "rows", "features" or "note"
	File        string // that is downloaded or checked
	Text        string // of a note, a line for the user
	Address     string // of the file
	Done, Total int64  // bytes of the file, of P·X, or of the stage; Total is 0 if the server does not say
}

// files are the files of one data set in the cache.
type files struct {
	*Client
	*Set
	folder string // of all files
}

// Fetch downloads the files of a data set, and calls use with the SPEC that reads them and with
// notes about their origin. use makes a store of them, and then they are removed. No other process
// has the files meanwhile: Fetch waits for it, and then asks found whether it made the store. Files
// whose checksum is wrong are removed. All others are kept after an error, which says where.
func (c *Client) Fetch(ctx context.Context, set *Set, found func() (bool, error), use func(spec string, notes []string) error) (err error) {
	f := &files{c, set, filepath.Join(c.Cache, "downloads", set.Name)}
	defer func() {
		if err != nil {
			err = cmp.Or(ctx.Err(), fmt.Errorf("datasets: %s: %w", set.Name, err))
		}
	}()
	if c.Offline && missing(f.unpacked()) {
		return fmt.Errorf("not in the cache %s: %w", c.Cache, ErrOffline)
	}
	if strings.ContainsRune(c.Cache, '?') {
		return fmt.Errorf("the cache's path %s must not hold a question mark, which begins a SPEC's keys", c.Cache)
	}
	lock, err := f.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	if made, err := found(); made || err != nil {
		return err
	}
	notes, err := f.download(ctx)
	if err != nil {
		return err
	}
	if err := use(strings.Replace(f.Spec, "DIR", f.folder, 1), notes); err != nil {
		return f.kept(err)
	}
	os.Rename(f.unpacked(), f.unpacked()+".part") // a process killed here must not leave half of it under this name
	return os.RemoveAll(f.folder)
}

// lock waits until no other process has the files. Closing the lock lets others have them.
func (f *files) lock(ctx context.Context) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(f.folder), 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(f.folder+".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err = filelock.Try(lock); errors.Is(err, filelock.ErrLocked) {
		f.note("waiting for another process that fetches it")
	}
	for errors.Is(err, filelock.ErrLocked) && ctx.Err() == nil {
		time.Sleep(100 * time.Millisecond)
		err = filelock.Try(lock)
	}
	if err = cmp.Or(ctx.Err(), err); err != nil {
		lock.Close()
	}
	return lock, err
}

func (f *files) unpacked() string { return filepath.Join(f.folder, "unpacked") }

func (f *files) archive() string { return filepath.Join(f.folder, f.Files[0].Name) }

// kept returns the error to report after one about downloaded files.
func (f *files) kept(err error) error {
	return fmt.Errorf("%w (the downloaded files are kept in %s: delete the folder to download them again)",
		err, f.folder)
}

// download downloads the files that are not there, checks all of them, and unpacks an archive. It
// returns a note about the origin of each.
func (f *files) download(ctx context.Context) (notes []string, err error) {
	origin := filepath.Join(f.folder, "origin") // the note about an archive, which is removed
	if !missing(f.unpacked()) {
		text, err := os.ReadFile(origin)
		return []string{string(text)}, err
	}
	if err := f.makeFolder(); err != nil {
		return nil, err
	}
	for _, file := range f.Files {
		address := regexp.MustCompile("//[^/]*@").ReplaceAllString(f.address(file), "//") // without user and password
		sum, err := f.Client.download(ctx, f.address(file), filepath.Join(f.folder, file.Name), file.SHA256, func(stage string, done, total int64) {
			f.Progress(Progress{Name: f.Name, Stage: stage, File: file.Name,
				Address: address, Done: done, Total: total})
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", address, err)
		}
		notes = append(notes, fmt.Sprintf("from %s, SHA-256 %s", address, sum))
	}
	if !f.Zipped {
		return notes, nil
	}
	part := f.unpacked() + ".part" // a killed process may have left one
	err = cmp.Or(os.RemoveAll(part), os.WriteFile(origin, []byte(notes[0]), 0o644))
	if err == nil {
		f.Progress(Progress{Name: f.Name, Stage: "unpack"})
		err = unpack(ctx, f.archive(), part)
	}
	if err != nil {
		return nil, f.kept(fmt.Errorf("%s: %w", f.archive(), err))
	}
	if err = os.Rename(part, f.unpacked()); err == nil {
		err = os.Remove(f.archive()) // it takes room
	}
	return notes, err
}

// makeFolder makes the folder. Before that it says how much of a large set will be downloaded and
// unpacked, and reports a disk that is too small for the sum.
func (f *files) makeFolder() error {
	if f.Large() && missing(f.folder) {
		what := fmt.Sprintf("%s to download and up to %s to unpack: %s of disk space in %s",
			memory.Text(f.Archive), memory.Text(f.Unpacked), memory.Text(f.Archive+f.Unpacked), f.folder)
		if free, known := freeSpace(filepath.Dir(f.folder)); known && f.Archive+f.Unpacked > free {
			return fmt.Errorf("%s, where %s are free: --cache names another folder",
				what, memory.Text(free))
		}
		f.note(what)
	}
	return os.MkdirAll(f.folder, 0o755)
}

// note reports a line for the user.
func (f *files) note(text string) {
	f.Progress(Progress{Name: f.Name, Stage: "note", Text: text})
}

func (f *files) address(file File) string {
	if f.Mirror == "" {
		return file.URL
	}
	return strings.TrimRight(f.Mirror, "/") + "/" + f.Name + "/" + file.Name
}

// missing tells whether nothing is at path.
func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
