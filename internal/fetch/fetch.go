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
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
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
	sums, err := f.readSums()
	if err == nil && (!f.Zipped || missing(f.unpacked())) {
		err = f.download(ctx, sums)
	}
	if err != nil {
		return err
	}
	var notes []string
	for _, file := range f.Files {
		notes = append(notes, fmt.Sprintf("from %s, SHA-256 %s", redacted(f.address(file)), sums[file.Name]))
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

// kept returns the error to report after one about downloaded files. Other files may have other
// checksums than those that are recorded.
func (f *files) kept(err error) error {
	sums := ""
	if !missing(f.sumsPath()) {
		sums = " and " + f.sumsPath()
	}
	return fmt.Errorf("%w (the downloaded files are kept in %s: delete the folder%s to download them again)", err, f.folder, sums)
}

// download downloads the files that are not there, checks all of them, and unpacks an archive. It
// adds their checksums to sums, which holds the checksums of earlier downloads.
func (f *files) download(ctx context.Context, sums map[string]string) error {
	if err := cmp.Or(os.MkdirAll(f.folder, 0o755), f.checkSpace()); err != nil {
		return err
	}
	for _, file := range f.Files {
		address, want := redacted(f.address(file)), cmp.Or(file.SHA256, sums[file.Name])
		sum, err := f.Client.download(ctx, f.address(file), filepath.Join(f.folder, file.Name), want, func(stage string, done, total int64) {
			f.Progress(Progress{Name: f.Name, Stage: stage, File: file.Name, Address: address, Done: done, Total: total})
		})
		switch {
		case err != nil && want != file.SHA256:
			return fmt.Errorf("%s: %w (%s has the checksum of an earlier download)", address, err, f.sumsPath())
		case err != nil:
			return fmt.Errorf("%s: %w", address, err)
		}
		sums[file.Name] = sum
	}
	if !f.Zipped {
		return f.writeSums(sums)
	}
	part := f.unpacked() + ".part"
	err := os.RemoveAll(part) // left by a killed process
	if err == nil {
		err = unpack(ctx, f.archive(), part, func(done, total int64) {
			f.Progress(Progress{Name: f.Name, Stage: "unpack", Done: done, Total: total})
		})
	}
	if err != nil {
		return f.kept(fmt.Errorf("%s: %w", f.archive(), err))
	}
	if err = f.writeSums(sums); err == nil {
		err = os.Rename(part, f.unpacked())
	}
	if err == nil {
		err = os.Remove(f.archive()) // it takes room
	}
	return err
}

// checkSpace says how much of a large set will be downloaded and unpacked, and reports a disk
// that is too small for the sum.
func (f *files) checkSpace() error {
	if !f.Large() {
		return nil
	}
	needed := f.Archive + f.Unpacked
	for _, path := range []string{f.archive(), f.archive() + ".part"} {
		if info, err := os.Stat(path); err == nil {
			needed -= min(info.Size(), needed)
		}
	}
	what := fmt.Sprintf("%s to download and up to %s to unpack: %s of disk space in %s",
		memory.Text(f.Archive), memory.Text(f.Unpacked), memory.Text(needed), f.folder)
	if free, known := freeSpace(f.folder); known && needed > free {
		return fmt.Errorf("%s, where %s are free: --cache names another folder", what, memory.Text(free))
	}
	f.note(what)
	return nil
}

// sumsPath returns the path of the checksums of the first download, as sha256sum writes them.
func (f *files) sumsPath() string { return filepath.Join(f.Cache, f.Name+".sha256") }

// readSums returns the checksums of an earlier download by the names of the files.
func (f *files) readSums() (map[string]string, error) {
	text, err := os.ReadFile(f.sumsPath())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	sums := map[string]string{}
	for words := strings.Fields(string(text)); len(words) > 1; words = words[2:] {
		sums[words[1]] = words[0]
	}
	return sums, err
}

func (f *files) writeSums(sums map[string]string) error {
	text := ""
	for _, file := range f.Files {
		text += fmt.Sprintf("%s  %s\n", sums[file.Name], file.Name)
	}
	return atomicfile.Write(f.sumsPath(), func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
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

// redacted returns an address without a user and a password.
func redacted(address string) string {
	return regexp.MustCompile("//[^/]*@").ReplaceAllString(address, "//")
}

// missing tells whether nothing is at path.
func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
