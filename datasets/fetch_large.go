package datasets

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/internal/memory"
)

// largeSet describes a named data set that most machines cannot hold in memory. It is fetched
// only when it is asked for, and converted in bounded memory:
//
//	download ─▶ downloads/NAME/FILE ─▶ downloads/NAME/unpacked ─▶ streamer ─▶ store
//
// The archive is removed when it is unpacked; the unpacked files are removed when the store is
// in the cache, and stay after a conversion to another place. An interrupted download or
// conversion goes on where it stopped. Interrupted unpacking starts again.
type largeSet struct {
	archive  int64 // bytes, about
	unpacked int64 // bytes, at most
	sizes    streamSizes
}

// papers100M returns the sizes of ogbn-papers100M. OGB's program gives 56.17 GiB for the
// archive. Its arrays hold two ids of 8 bytes an edge, and 128 features of 4 bytes, a year and
// a label for each node.
func papers100M() *largeSet {
	const nodes, edges, width = 111_059_956, 1_615_685_872, 128
	return &largeSet{
		archive:  60_312_000_000,
		unpacked: 16*edges + nodes*(4*width+8+8),
		sizes:    streamSizes{nodes: nodes, width: width, edges: edges},
	}
}

// unasked returns the error about a large data set that is not in the cache, for a call that
// needs its data now.
func (set *namedSet) unasked(cache string) error {
	l := set.large
	return fmt.Errorf("datasets: %s is not in the cache %s, and a download of %s does not start by itself: "+
		"'gcn datasets convert %s FILE --features float16' makes a store for --data store:FILE, and 'gcn datasets fetch %s' one in the cache; both need up to %s of disk space",
		set.name, cache, memory.Text(uint64(l.archive)), set.name, set.name, memory.Text(uint64(l.archive+l.unpacked)))
}

// convertMissing converts a large named data set that is not in the cache to a store at path.
// It downloads and unpacks the files first, unless an earlier call did. It returns false for
// all other data.
func (f *fetcher) convertMissing(ctx context.Context, spec *Spec, path string) (done bool, err error) {
	if spec.Scheme != "" {
		return false, nil
	}
	set, err := f.sets(spec.Path)
	if err != nil || set.large == nil {
		return false, nil // another scheme without a name
	}
	cache, err := f.options.cacheDir()
	if err != nil {
		return false, err
	}
	if d, err := f.openCached(ctx, filepath.Join(cache, set.name+".store")); d != nil || err != nil {
		return false, errors.Join(err, d.Close())
	}
	if len(spec.Values) > 0 || f.options.Propagated {
		return false, fmt.Errorf("datasets: %q is converted in pieces, without keys and without P·X: give split= and the like when you open the store", spec)
	}
	downloads, lock, err := f.lockDownloads(ctx, cache, set.name)
	if err != nil {
		return false, err
	}
	defer lock.Close()
	if err := f.makeLarge(ctx, set, cache, downloads, path); err != nil {
		return false, err
	}
	f.note(set.name, fmt.Sprintf("the unpacked files stay in %s for other conversions: delete the folder if there will be none", downloads))
	return true, nil
}

// makeLarge downloads, unpacks and converts a large data set.
func (f *fetcher) makeLarge(ctx context.Context, set *namedSet, cache, downloads, path string) error {
	if err := f.checkLarge(set, downloads, path); err != nil {
		return err
	}
	folder, notes, err := f.unpackLarge(ctx, set, cache, downloads)
	if err != nil {
		return err
	}
	text, err := set.spec(folder)
	if err != nil {
		return err
	}
	spec, err := parseSpec(text)
	if err != nil {
		return err
	}
	source, err := newOGBStream(ctx, spec)
	if err == nil && source == nil {
		err = fmt.Errorf("datasets: %s: no folder in OGB's binary layout", folder)
	}
	if err == nil {
		source.name, source.origin = set.name, notes
		err = streamToStore(ctx, source, set.name, path, f.options)
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w (the unpacked files are kept in %s: delete the folder to download them again)", err, folder)
	}
	return err
}

// unpackLarge makes sure that the unpacked files are there. It returns their folder, and notes
// about their origin.
func (f *fetcher) unpackLarge(ctx context.Context, set *namedSet, cache, downloads string) (folder string, notes []string, err error) {
	file, folder := set.files[0], filepath.Join(downloads, "unpacked")
	archive := filepath.Join(downloads, file.name)
	if isMissing(folder) {
		seen, err := f.download(ctx, set, cache, downloads)
		if err != nil {
			return "", nil, err
		}
		part := folder + ".part"
		if err := os.RemoveAll(part); err != nil { // left by a killed process
			return "", nil, fmt.Errorf("datasets: %w", err)
		}
		err = unpack(ctx, archive, part, func(done, total int64) {
			f.progress(FetchProgress{Name: set.name, Stage: "unpack", Done: done, Total: total})
		})
		if err == nil {
			err = syncFiles(part)
		}
		if err == nil {
			err = addChecksums(ctx, cache, seen)
		}
		if err == nil {
			err = os.Rename(part, folder)
		}
		if err != nil {
			if ctx.Err() != nil {
				return "", nil, ctx.Err()
			}
			// 60 GB are not thrown away: the user decides.
			return "", nil, fmt.Errorf("%w (the archive is kept: delete %s to download it again)", err, archive)
		}
	}
	if err := removeFile(archive); err != nil {
		return "", nil, fmt.Errorf("datasets: %w", err)
	}
	known, err := readChecksums(cache)
	if err != nil {
		return "", nil, err
	}
	address, err := f.downloader.address(set.name, file)
	if err != nil {
		return "", nil, err
	}
	return folder, []string{origin(address, known[set.name+"/"+file.name].SHA256)}, nil
}

// syncFiles makes the files of a folder durable.
func syncFiles(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// largePlan says how many bytes the rest of the work writes.
type largePlan struct {
	download, unpack int64
	archive          int64 // bytes that unpacking sets free
	convert          int64 // temporary files and store
}

// peak returns the bytes that must be free if all files are on one disk, and of the downloads
// alone.
func (p largePlan) peak() (all, downloads int64) {
	downloads = p.download + p.unpack
	return max(downloads, downloads-p.archive+p.convert), downloads
}

// plan looks at the files that are there.
func (set *namedSet) plan(downloads, path string, o Options) largePlan {
	l, archive := set.large, filepath.Join(downloads, set.files[0].name)
	plan := largePlan{convert: l.sizes.workBytes(o.Precision)}
	if o.Scratch != "" {
		plan.convert = l.sizes.storeBytes(o.Precision)
	}
	plan.convert = max(plan.convert-int64(usedSpace(workFolder(path))), 0)
	if !isMissing(filepath.Join(downloads, "unpacked")) {
		return plan
	}
	plan.archive, plan.unpack = l.archive, l.unpacked
	if info, err := os.Stat(archive); err == nil {
		plan.archive = info.Size()
		if bytes, err := unpackedBytes(archive); err == nil {
			plan.unpack = bytes
		}
		return plan
	}
	plan.download = plan.archive
	if info, err := os.Stat(archive + ".part"); err == nil {
		plan.download = max(plan.download-info.Size(), 0)
	}
	return plan
}

func unpackedBytes(archive string) (int64, error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return 0, err
	}
	defer z.Close()
	var sum int64
	for _, entry := range z.File {
		sum += int64(entry.UncompressedSize64)
	}
	return sum, nil
}

// checkLarge says how much will be downloaded and written, and reports a disk that is too
// small. The streamer checks again, with the sizes that it finds in the files.
func (f *fetcher) checkLarge(set *namedSet, downloads, path string) error {
	plan := set.plan(downloads, path, f.options)
	target := filepath.Dir(path)
	all, needed := plan.peak()
	if sameDisk(downloads, target) {
		needed = all
	}
	text := func(bytes int64) string { return memory.Text(uint64(bytes)) }
	sum := fmt.Sprintf("%s to download, up to %s to unpack and up to %s to convert", text(plan.download), text(plan.unpack), text(plan.convert))
	for _, c := range []struct {
		dir   string
		bytes int64
	}{{downloads, needed}, {target, plan.convert}} {
		if free, known := freeSpace(c.dir); known && uint64(c.bytes) > free {
			return fmt.Errorf("datasets: %s: %s need %s of disk space in %s, where %s are free: --cache names another folder for the download, and --features float16 makes a smaller store",
				set.name, sum, text(c.bytes), c.dir, memory.Text(free))
		}
	}
	f.note(set.name, fmt.Sprintf("%s: at most %s of disk space at a time in %s", sum, text(needed), downloads))
	return nil
}

// note reports a line for the user.
func (f *fetcher) note(name, text string) {
	f.progress(FetchProgress{Name: name, Stage: "note", Text: text})
}
