package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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

// FetchProgress reports the progress of fetching a named data set, of computing P·X, or of
// a conversion that does not hold the data in memory.
type FetchProgress struct {
	Name        string // of the data set
	Stage       string // "download", "check", "unpack", "prepare", "propagate", "edges", "rows", "features" or "note"
	File        string // that is downloaded or checked
	Text        string // of a note, a line for the user
	Address     string // of the file
	Done, Total int64  // bytes of the file, of P·X, or of the stage; Total is 0 if the server does not say
}

// namedScheme opens named data sets. It downloads those that are not in the cache.
func namedScheme(o Options) *Scheme {
	return &Scheme{
		Path: "NAME", Summary: "downloaded once, verified and kept as a store",
		Keys: fileKeys(),
		Open: func(ctx context.Context, spec *Spec) (*Data, error) {
			_, d, err := newFetcher(o).open(ctx, spec.Path, false)
			return adjusted(ctx, d, spec, err)
		},
	}
}

// Fetch makes sure that a named data set is in the cache, and returns the path of
// its store there. It downloads the files of a missing data set over HTTPS, resuming
// the download of an earlier call, and then checks, unpacks, reads, stores and
// removes them. Sizes and SHA-256 sums that are not published are written to the
// cache's checksums.json by the first download, and checked by later ones.
//
// Files that cannot be used are removed, and the next call downloads them again. If
// this machine is at fault, as with a full disk, they are kept.
//
// The store appears whole or not at all. Calls of several processes wait for one
// another. The error names the data set and the address. It wraps ErrOffline if the
// data set is missing and o.Offline is set. Cost beside the download: the memory of
// the data set while it is prepared, and on disk up to three times its archive.
//
// ogbn-papers100M is converted within o.Memory, as Convert does it, and the disk space is
// checked before the download. Its files are never removed before the store is there. Open
// does not fetch it.
func Fetch(ctx context.Context, name string, o Options) (path string, err error) {
	return newFetcher(o).fetch(ctx, name)
}

type fetcher struct {
	options    Options
	sets       func(name string) (*namedSet, error)
	downloader *downloader
}

func newFetcher(o Options) *fetcher {
	return &fetcher{options: o, sets: findNamed, downloader: newDownloader(o)}
}

func (f *fetcher) fetch(ctx context.Context, name string) (string, error) {
	path, d, err := f.open(ctx, name, true)
	if err != nil {
		return "", err
	}
	return path, d.Close()
}

// open makes sure that a named data set is in the cache, and opens its store. It fetches a
// large one only if asked is true.
func (f *fetcher) open(ctx context.Context, name string, asked bool) (path string, d *Data, err error) {
	set, err := f.sets(name)
	if err != nil {
		return "", nil, err
	}
	cache, err := f.options.cacheDir()
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(cache, name+".store")
	if d, err := f.openCached(ctx, path); d != nil || err != nil {
		return path, d, err
	}
	if set.large != nil && !asked && !f.options.Offline {
		return "", nil, set.unasked(cache)
	}
	downloads, lock, err := f.lockDownloads(ctx, cache, name)
	if err != nil {
		return "", nil, err
	}
	defer lock.Close()
	// Another process may have fetched it in the meantime.
	if d, err := f.openCached(ctx, path); d != nil || err != nil {
		return path, d, err
	}
	if err := os.MkdirAll(downloads, 0o755); err != nil {
		return "", nil, fmt.Errorf("datasets: %w", err)
	}
	d, err = f.make(ctx, set, cache, downloads, path)
	return path, d, err
}

// lockDownloads makes the folder of a data set's downloads, and waits until this process has
// its lock. The caller closes the lock.
func (f *fetcher) lockDownloads(ctx context.Context, cache, name string) (downloads string, lock *os.File, err error) {
	downloads = filepath.Join(cache, "downloads", name)
	if f.options.Offline && isMissing(filepath.Join(downloads, "unpacked")) {
		return "", nil, fmt.Errorf("datasets: %s is not in the cache %s: %w", name, cache, ErrOffline)
	}
	if strings.ContainsRune(cache, '?') {
		return "", nil, fmt.Errorf("datasets: the cache's path %s must not hold a question mark, which begins a SPEC's keys", cache)
	}
	if err := os.MkdirAll(downloads, 0o755); err != nil {
		return "", nil, fmt.Errorf("datasets: %w", err)
	}
	lock, err = waitForLock(ctx, filepath.Join(cache, "downloads", name+".lock"))
	return downloads, lock, err
}

// openCached opens the store at path. It returns nil where there is none, or a
// damaged one that may be replaced.
func (f *fetcher) openCached(ctx context.Context, path string) (*Data, error) {
	if isMissing(path) {
		return nil, nil
	}
	d, err := openStore(ctx, path, f.options, false)
	if errors.Is(err, ErrFormat) && !f.options.verify {
		return nil, nil
	}
	return d, err
}

// isMissing tells whether nothing is at path.
func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// make downloads and stores a data set, and opens the store.
func (f *fetcher) make(ctx context.Context, set *namedSet, cache, downloads, path string) (*Data, error) {
	makeStore := f.makeSmall
	if set.large != nil {
		makeStore = f.makeLarge
	}
	if err := makeStore(ctx, set, cache, downloads, path); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(downloads); err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	return openStore(ctx, path, f.options, true)
}

// makeSmall downloads a data set and reads it into memory.
func (f *fetcher) makeSmall(ctx context.Context, set *namedSet, cache, downloads, path string) error {
	seen, err := f.download(ctx, set, cache, downloads)
	if err != nil {
		return err
	}
	var notes []string
	for _, file := range set.files {
		address, err := f.downloader.address(set.name, file)
		if err != nil {
			return err
		}
		notes = append(notes, origin(address, seen[set.name+"/"+file.name].SHA256))
	}
	dir := downloads
	if set.zipped {
		dir = filepath.Join(downloads, "unpacked")
		if err := os.RemoveAll(dir); err != nil { // left by a killed process
			return fmt.Errorf("datasets: %w", err)
		}
		defer os.RemoveAll(dir) // if that fails, the next call removes it
		f.progress(FetchProgress{Name: set.name, Stage: "unpack"})
		if err := unpack(ctx, filepath.Join(downloads, set.files[0].name), dir, nil); err != nil {
			return f.discard(ctx, set, downloads, err)
		}
	}
	f.progress(FetchProgress{Name: set.name, Stage: "prepare"})
	if err := prepare(ctx, set, dir, path, notes); err != nil {
		return f.discard(ctx, set, downloads, err)
	}
	return addChecksums(ctx, cache, seen)
}

// download downloads the files that are not there, and checks all of them. It returns their
// checksums by NAME/FILE.
func (f *fetcher) download(ctx context.Context, set *namedSet, cache, downloads string) (map[string]checksum, error) {
	known, err := readChecksums(cache)
	if err != nil {
		return nil, err
	}
	seen := map[string]checksum{}
	for _, file := range set.files {
		address, err := f.downloader.address(set.name, file)
		if err != nil {
			return nil, err
		}
		f.downloader.report = func(stage, file string, done, total int64) {
			f.progress(FetchProgress{Name: set.name, Stage: stage, File: file, Address: redacted(address), Done: done, Total: total})
		}
		key := set.name + "/" + file.name
		earlier, found := known[key]
		if found && file.sha256 == "" {
			file.size, file.sha256 = earlier.Size, earlier.SHA256
		}
		size, sum, err := f.downloader.get(ctx, address, downloads, file)
		if err != nil {
			if found && ctx.Err() == nil {
				err = fmt.Errorf("%w (%s has the checksum of an earlier download)", err, checksumsPath(cache))
			}
			return nil, err
		}
		seen[key] = checksum{size, sum}
	}
	return seen, nil
}

// origin is the note about a downloaded file.
func origin(address, sum string) string {
	return fmt.Sprintf("from %s, SHA-256 %s", redacted(address), sum)
}

// discard removes files that cannot be used, so that the next call downloads them
// again. It keeps them if the call was cancelled or this machine is at fault. It
// returns the error to report.
func (f *fetcher) discard(ctx context.Context, set *namedSet, downloads string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if isLocal(err) {
		return fmt.Errorf("%w (the downloaded files are kept in %s)", err, downloads)
	}
	for _, file := range set.files {
		os.Remove(filepath.Join(downloads, file.name)) // if that fails, it stays
	}
	return fmt.Errorf("datasets: %s: the downloaded files cannot be used: %w", set.name, err)
}

// isLocal tells whether the cause of an error is this machine, such as a full disk,
// rather than the files. That is so for errors of the system, except those about a
// missing file or folder, or one of the wrong kind or in the wrong place.
func isLocal(err error) bool {
	if errors.Is(err, memory.ErrTooLarge) {
		return true
	}
	var system syscall.Errno
	if !errors.As(err, &system) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return false
	}
	switch system {
	case syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG, syscall.EILSEQ:
		return false
	}
	return true
}

func (f *fetcher) progress(p FetchProgress) {
	if f.options.Progress != nil {
		f.options.Progress(p)
	}
}

// prepare reads the files and writes the store.
func prepare(ctx context.Context, set *namedSet, dir, path string, notes []string) error {
	spec, err := set.spec(dir)
	if err != nil {
		return err
	}
	d, err := Open(ctx, spec, Options{})
	if err != nil {
		return err
	}
	d.Name, d.source = set.name, set.name
	d.Notes = append(notes, d.Notes...)
	return WriteStore(ctx, path, d)
}

// waitForLock opens a lock file, and waits until this process has the lock.
func waitForLock(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	for {
		err := filelock.Try(f)
		if err == nil || errors.Is(err, errors.ErrUnsupported) {
			return f, nil // without locks, calls of several processes repeat each other's work
		}
		if !errors.Is(err, filelock.ErrLocked) {
			f.Close()
			return nil, fmt.Errorf("datasets: %w", err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// checksum is the size and SHA-256 of the first download of a file. All later
// downloads must have them.
type checksum struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func checksumsPath(cache string) string { return filepath.Join(cache, "checksums.json") }

// readChecksums returns the checksums of earlier downloads by NAME/FILE.
func readChecksums(cache string) (map[string]checksum, error) {
	text, err := os.ReadFile(checksumsPath(cache))
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]checksum{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	var known map[string]checksum
	if err := json.Unmarshal(text, &known); err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", checksumsPath(cache), err)
	}
	return known, nil
}

// addChecksums adds checksums to checksums.json.
func addChecksums(ctx context.Context, cache string, seen map[string]checksum) error {
	lock, err := waitForLock(ctx, checksumsPath(cache)+".lock")
	if err != nil {
		return err
	}
	defer lock.Close()
	known, err := readChecksums(cache)
	if err != nil {
		return err
	}
	if known == nil {
		known = map[string]checksum{}
	}
	for key, sum := range seen {
		known[key] = sum
	}
	text, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	err = atomicfile.Write(checksumsPath(cache), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	return nil
}
