package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/internal/fetch"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// ErrOffline is wrapped by the error about a data set that is not in the cache when
// downloading is forbidden.
var ErrOffline = fetch.ErrOffline

// Names returns the names of the data sets that can be downloaded.
func Names() []string { return fetch.Names() }

// FetchProgress reports the progress of fetching a named data set, of computing P·X, or of
// a conversion that does not hold the data in memory.
type FetchProgress = fetch.Progress

// namedScheme opens named data sets. It downloads those that are not in the cache.
func namedScheme() *scheme {
	return &scheme{Scheme: Scheme{Open: func(ctx context.Context, spec *Spec, o Options) (*Data, error) {
		return newFetcher(o).open(ctx, spec.Path, false)
	}}}
}

// Fetch makes sure that a named data set is in the cache, and returns the path of
// its store there. It downloads the files of a missing data set over HTTPS, resuming
// the download of an earlier call, and then checks, unpacks, reads, stores and
// removes them. SHA-256 sums that are not published are written to NAME.sha256 in the cache
// by the first download, and checked by later ones.
//
// Files that cannot be used are removed, and the next call downloads them again. If
// this machine is at fault, as with a full disk, they are kept.
//
// The store appears whole or not at all. Calls of several processes wait for one
// another. The error names the data set and the address. It wraps ErrOffline if the
// data set is missing and o.Offline is set. Cost beside the download: the memory of
// the data set while it is prepared, and on disk up to three times its archive.
//
// ogbn-papers100M is converted within o.Memory, as Convert does it, and the disk space of its
// files is checked before the download. They are never removed before the store is there. Open
// does not fetch it.
func Fetch(ctx context.Context, name string, o Options) (path string, err error) {
	return newFetcher(o).fetch(ctx, name)
}

type fetcher struct {
	options Options
	sets    func(name string) (*fetch.Set, error)
	client  fetch.Client
}

func newFetcher(o Options) *fetcher {
	return &fetcher{options: o, sets: fetch.Find, client: fetch.Client{
		Mirror: cmp.Or(o.Mirror, os.Getenv("GCN_MIRROR")), Offline: o.Offline, Pause: time.Second, Stall: time.Minute,
	}}
}

func (f *fetcher) fetch(ctx context.Context, name string) (string, error) {
	d, err := f.open(ctx, name, true)
	if err != nil {
		return "", err
	}
	path := d.file.Path
	return path, d.Close()
}

// find returns a data set and the path of its store in the cache.
func (f *fetcher) find(name string) (set *fetch.Set, path string, err error) {
	if set, err = f.sets(name); err == nil {
		f.client.Cache, err = f.options.cacheDir()
	}
	f.client.Progress = f.options.progress // the tests change the options
	return set, filepath.Join(f.client.Cache, name+storeExtension), err
}

// open makes sure that a named data set is in the cache, and opens its store. It fetches a
// large one only if asked is true.
func (f *fetcher) open(ctx context.Context, name string, asked bool) (*Data, error) {
	set, path, err := f.find(name)
	if err != nil {
		return nil, err
	}
	if d, err := f.openCached(ctx, path); d != nil || err != nil {
		return d, err
	}
	if set.Large() && !asked && !f.options.Offline {
		archive, both := memory.Text(uint64(set.Archive)), memory.Text(uint64(set.Archive+set.Unpacked))
		return nil, fmt.Errorf("datasets: %s is not in the cache %s, and a download of %s does not start by itself: 'gcn datasets fetch %s' needs up to %s of disk space",
			name, f.client.Cache, archive, name, both)
	}
	if err := f.make(ctx, set, path); err != nil {
		return nil, err
	}
	return openStore(ctx, path, f.options, true)
}

// make makes the store of a data set in the cache. It downloads and unpacks the files, unless an
// earlier call did, and removes them.
func (f *fetcher) make(ctx context.Context, set *fetch.Set, path string) (err error) {
	defer func() {
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("datasets: %s: %w", set.Name, err)
		}
	}()
	files, err := f.client.Open(ctx, set)
	if err != nil {
		return err
	}
	defer files.Close()
	if d, err := f.openCached(ctx, path); d != nil || err != nil { // another process may have fetched it in the meantime
		return errors.Join(err, d.Close())
	}
	o := Options{Progress: f.options.Progress, window: f.options.window} // the store has the data of the files for all models
	if set.Large() {
		o.Memory, o.Scratch = f.options.Memory, f.options.Scratch
	}
	text, notes, err := files.Get(ctx)
	if err != nil {
		return err
	}
	if !set.Large() {
		o.progress(FetchProgress{Name: set.Name, Stage: "prepare"})
	}
	spec, scheme, err := parse(text, Options{})
	if err == nil {
		err = scheme.convert(ctx, spec, path, o, set.Name, notes)
	}
	if err != nil {
		return files.Failed(ctx, err)
	}
	return files.Done()
}

// openCached opens the store at path. It returns nil where there is none, or a
// damaged one that may be replaced: it then says so.
func (f *fetcher) openCached(ctx context.Context, path string) (*Data, error) {
	d, err := openStore(ctx, path, f.options, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, ErrFormat) && !f.options.verify {
		if f.options.Offline {
			return nil, fmt.Errorf("%w; it cannot be made again: %w", err, ErrOffline)
		}
		f.options.progress(FetchProgress{Name: strings.TrimSuffix(filepath.Base(path), storeExtension), Stage: "note", Text: fmt.Sprintf("%v; it is made again", err)})
		return nil, nil
	}
	return d, err
}
