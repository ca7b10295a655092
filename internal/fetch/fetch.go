// Package fetch downloads named data sets over HTTP, checks them and unpacks them.
//
//	Find ─▶ Client.Open ─▶ Files.Get ─▶ a SPEC of the files ─▶ Files.Done
//	         waits for        downloads, checks          (the caller makes a store)
//	         other processes  SHA-256, unpacks
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
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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

// Files are the files of one data set in the cache, which no other process uses.
type Files struct {
	client *Client
	set    *Set
	lock   *os.File
	Folder string // of all files
}

// Open takes the files of a data set, and waits until no other process has them. The
// caller closes them.
func (c *Client) Open(ctx context.Context, set *Set) (*Files, error) {
	f := &Files{client: c, set: set, Folder: filepath.Join(c.Cache, "downloads", set.Name)}
	if c.Offline && missing(f.unpacked()) {
		return nil, fmt.Errorf("not in the cache %s: %w", c.Cache, ErrOffline)
	}
	if strings.ContainsRune(c.Cache, '?') {
		return nil, fmt.Errorf("the cache's path %s must not hold a question mark, which begins a SPEC's keys", c.Cache)
	}
	err := os.MkdirAll(filepath.Dir(f.Folder), 0o755)
	if err != nil {
		return nil, err
	}
	if f.lock, err = os.OpenFile(f.Folder+".lock", os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, err
	}
	for waits := false; ; waits = true {
		err := filelock.Try(f.lock)
		if err == nil {
			return f, nil
		}
		if err = cmp.Or(ctx.Err(), err); !errors.Is(err, filelock.ErrLocked) {
			f.Close()
			return nil, err
		}
		if !waits {
			f.note("waiting for another process that fetches it")
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Close lets other processes have the files.
func (f *Files) Close() { f.lock.Close() }

func (f *Files) unpacked() string { return filepath.Join(f.Folder, "unpacked") }

func (f *Files) archive() string { return filepath.Join(f.Folder, f.set.Files[0].Name) }

// Get makes sure that the files are there and are right, and returns the SPEC that reads them,
// and notes about their origin.
func (f *Files) Get(ctx context.Context) (spec string, notes []string, err error) {
	sums, err := f.readSums()
	if err != nil {
		return "", nil, err
	}
	dir := f.Folder
	if f.set.Zipped {
		dir = f.unpacked()
	}
	if !f.set.Zipped || missing(dir) {
		err := f.download(ctx, sums)
		if err == nil && f.set.Zipped {
			err = f.unpack(ctx, dir+".part")
		}
		if err == nil {
			err = f.writeSums(sums)
		}
		if err == nil && f.set.Zipped {
			err = os.Rename(dir+".part", dir)
		}
		if err != nil {
			return "", nil, err
		}
	}
	if f.set.Zipped {
		os.Remove(f.archive()) // it takes room; a killed process may have left it
	}
	for _, file := range f.set.Files {
		notes = append(notes, fmt.Sprintf("from %s, SHA-256 %s", redacted(f.client.address(f.set, file)), sums[file.Name]))
	}
	if spec, err = f.set.spec(dir); err != nil {
		err = f.Failed(ctx, err)
	}
	return spec, notes, err
}

// download downloads the files that are not there, and checks all of them. It adds their
// checksums to sums, which holds the checksums of earlier downloads.
func (f *Files) download(ctx context.Context, sums map[string]string) error {
	if err := os.MkdirAll(f.Folder, 0o755); err != nil {
		return err
	}
	if err := f.checkSpace(); err != nil {
		return err
	}
	for _, file := range f.set.Files {
		address := f.client.address(f.set, file)
		want := cmp.Or(file.SHA256, sums[file.Name])
		sum, err := f.client.download(ctx, address, filepath.Join(f.Folder, file.Name), want, func(stage string, done, total int64) {
			f.client.Progress(Progress{Name: f.set.Name, Stage: stage, File: file.Name, Address: redacted(address), Done: done, Total: total})
		})
		switch {
		case err != nil && want != file.SHA256:
			return fmt.Errorf("%s: %w (%s has the checksum of an earlier download)", redacted(address), err, f.sumsPath())
		case err != nil:
			return fmt.Errorf("%s: %w", redacted(address), err)
		}
		sums[file.Name] = sum
	}
	return nil
}

// checkSpace says how much of a large set will be downloaded and unpacked, and reports a disk
// that is too small for the sum.
func (f *Files) checkSpace() error {
	if !f.set.Large() {
		return nil
	}
	needed := uint64(f.set.Archive + f.set.Unpacked)
	for _, path := range []string{f.archive(), f.archive() + ".part"} {
		if info, err := os.Stat(path); err == nil {
			needed -= min(uint64(info.Size()), needed)
		}
	}
	what := fmt.Sprintf("%s to download and up to %s to unpack: %s of disk space in %s", memory.Text(uint64(f.set.Archive)), memory.Text(uint64(f.set.Unpacked)), memory.Text(needed), f.Folder)
	if free, known := freeSpace(f.Folder); known && needed > free {
		return fmt.Errorf("%s, where %s are free: --cache names another folder", what, memory.Text(free))
	}
	f.note(what)
	return nil
}

// unpack unpacks the archive to a new folder.
func (f *Files) unpack(ctx context.Context, dir string) error {
	err := os.RemoveAll(dir) // left by a killed process
	if err == nil {
		err = unpack(ctx, f.archive(), dir, func(done, total int64) {
			f.client.Progress(Progress{Name: f.set.Name, Stage: "unpack", Done: done, Total: total})
		})
	}
	if err != nil {
		err = f.Failed(ctx, fmt.Errorf("%s: %w", f.archive(), err))
	}
	return err
}

// Done removes the files: there is a store of them.
func (f *Files) Done() error {
	os.Rename(f.unpacked(), f.unpacked()+".part") // a process killed here must not leave half of it under this name
	return os.RemoveAll(f.Folder)
}

// Failed returns the error to report after err. It removes files that cannot be used, so
// that the next call downloads them again. It keeps the files of a
// large set, and all files if the call was cancelled or this machine is at fault.
func (f *Files) Failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case f.set.Large() || isLocal(err):
		return fmt.Errorf("%w (the downloaded files are kept in %s: delete the folder to download them again)", err, f.Folder)
	}
	os.RemoveAll(f.Folder) // if that fails, it stays
	os.Remove(f.sumsPath())
	return fmt.Errorf("the downloaded files cannot be used: %w", err)
}

// isLocal tells whether the cause of an error is this machine, such as a full disk,
// rather than the files. That is so for errors of the system, except those about a
// missing file or folder, or one of the wrong kind or in the wrong place.
func isLocal(err error) bool {
	ofFiles := []syscall.Errno{syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG, syscall.EILSEQ}
	var system syscall.Errno
	return errors.Is(err, memory.ErrTooLarge) ||
		errors.As(err, &system) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) && !slices.Contains(ofFiles, system)
}

// sumsPath returns the path of the checksums of the first download, as sha256sum writes them.
func (f *Files) sumsPath() string { return filepath.Join(f.client.Cache, f.set.Name+".sha256") }

// readSums returns the checksums of an earlier download by the names of the files.
func (f *Files) readSums() (map[string]string, error) {
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

func (f *Files) writeSums(sums map[string]string) error {
	text := ""
	for _, file := range f.set.Files {
		text += fmt.Sprintf("%s  %s\n", sums[file.Name], file.Name)
	}
	return atomicfile.Write(f.sumsPath(), func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// note reports a line for the user.
func (f *Files) note(text string) {
	f.client.Progress(Progress{Name: f.set.Name, Stage: "note", Text: text})
}

func (c *Client) address(set *Set, file File) string {
	if c.Mirror == "" {
		return file.URL
	}
	return strings.TrimRight(c.Mirror, "/") + "/" + set.Name + "/" + file.Name
}

// redacted returns an address without its password.
func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Redacted()
}

// missing tells whether nothing is at path.
func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
