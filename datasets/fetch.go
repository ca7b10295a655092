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
	return &scheme{Scheme: Scheme{Keys: strings.Fields(storeKeys), Open: func(ctx context.Context, spec *Spec, o Options) (*Data, error) {
		return newFetcher(o).open(ctx, spec.Path, false)
	}}}
}

// Fetch makes sure that a named data set is in the cache, and returns the path of
// its store there. It downloads the files of a missing data set over HTTPS, resuming
// the download of an earlier call, and then checks, unpacks, reads, stores and
// removes them. Data.Notes has their SHA-256 sums.
//
// A file whose sum is not the published one is removed. Files that cannot be used are kept, and the error
// says what to delete: the next call then downloads them again.
//
// The store appears whole or not at all. Calls of several processes wait for one
// another. A damaged store is an error. The error names the data set and the address. It wraps ErrOffline if the
// data set is missing and o.Offline is set. Cost beside the download: the memory of
// the data set while it is prepared, and on disk up to three times its archive.
//
// ogbn-papers100M is converted within o.Memory, as Convert does it, and the disk space of its
// files is checked before the download. Open does not fetch it.
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

// open makes sure that a named data set is in the cache, and opens its store. It fetches a
// large one only if asked is true.
func (f *fetcher) open(ctx context.Context, name string, asked bool) (d *Data, err error) {
	set, err := f.sets(name)
	if err == nil {
		f.client.Cache, err = f.options.cacheDir()
	}
	if err != nil {
		return nil, err
	}
	f.client.Progress = f.options.progress // the tests change the options
	path := filepath.Join(f.client.Cache, name+".safetensors")
	found := func() (bool, error) {
		d, err = openStore(ctx, path, f.options, false)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = nil
		case errors.Is(err, ErrFormat):
			err = fmt.Errorf("%w: delete the file, and the next call makes it again", err)
		}
		return d != nil, err
	}
	if found, err := found(); found || err != nil {
		return d, err
	}
	if set.Large() && !asked && !f.options.Offline {
		archive, both := memory.Text(set.Archive), memory.Text(set.Archive+set.Unpacked)
		return nil, fmt.Errorf("datasets: %s is not in the cache %s, and a download of %s does not start by itself: 'gcn datasets fetch %s' needs up to %s of disk space",
			name, f.client.Cache, archive, name, both)
	}
	err = f.client.Fetch(ctx, set, found, func(text string, notes []string) error {
		o := Options{Progress: f.options.Progress, window: f.options.window} // the store has the data of the files for all models
		if set.Large() {
			o.Memory, o.Scratch = f.options.Memory, f.options.Scratch
		}
		o.progress(FetchProgress{Name: name, Stage: "prepare"})
		spec, scheme, err := parse(text, Options{})
		if err == nil {
			err = scheme.convert(ctx, spec, path, o, name, notes)
		}
		return err
	})
	if err != nil || d != nil {
		return d, err
	}
	return openStore(ctx, path, f.options, true)
}
