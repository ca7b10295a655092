package datasets

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/fetch"
)

const largeName = "ogbn-papers100M"

// A large set is not downloaded unasked: the error names the commands.
func TestLargeUnasked(t *testing.T) {
	p := newMirror(t)
	provide(t, p, largeName)
	_, err := Open(t.Context(), largeName, Options{Cache: t.TempDir(), Mirror: p.URL})
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "gcn datasets convert ogbn-papers100M") || !strings.Contains(err.Error(), "60.3 GB") || len(p.asked) > 0 {
		t.Errorf("error %v, asked for %q", err, p.asked)
	}
	_, err = Open(t.Context(), largeName, Options{Cache: t.TempDir(), Offline: true})
	if !errors.Is(err, ErrOffline) {
		t.Errorf("offline: %v", err)
	}
}

// A disk that is too small is reported before the first request, with the sum.
func TestLargeNeedsSpace(t *testing.T) {
	if runtime.GOOS != "darwin" && runtime.GOOS != "linux" {
		t.Skip("the system does not tell the free space")
	}
	p := newMirror(t)
	provide(t, p, largeName)
	f := fetcherOf(p, t.TempDir())
	plain := f.sets
	f.sets = func(name string) (*fetch.Set, error) {
		set, err := plain(name)
		set.Archive = 1 << 60
		return set, err
	}
	_, err := f.fetch(t.Context(), largeName)
	if err == nil || !strings.Contains(err.Error(), "to download") || !strings.Contains(err.Error(), "are free") || len(p.asked) > 0 {
		t.Errorf("error %v, asked for %q", err, p.asked)
	}
}

// Interrupted at each stage, the same call goes on: no byte is downloaded twice, and the
// store is the store of the folder in memory.
func TestLargeInterrupted(t *testing.T) {
	p := newMirror(t)
	want := provide(t, p, largeName)
	for _, fetch := range []bool{true, false} {
		cache := t.TempDir()
		path := filepath.Join(cache, largeName+".safetensors")
		if !fetch {
			path = filepath.Join(t.TempDir(), "x.store")
		}
		var stages, notes []string
		run := func(ctx context.Context, progress func(FetchProgress)) error {
			f := fetcherOf(p, cache)
			f.options.Memory, f.options.Progress, f.options.window = streamMemory, progress, 1<<20
			if fetch {
				_, err := f.fetch(ctx, largeName)
				return err
			}
			spec, err := parseSpec(largeName)
			if err != nil {
				t.Fatal(err)
			}
			done, err := f.convertMissing(ctx, spec, path)
			if err == nil && !done {
				t.Fatal("not converted")
			}
			return err
		}
		p.asked = nil
		for stop := 0; ; stop++ {
			ctx, cancel := context.WithCancel(t.Context())
			seen := 0
			err := run(ctx, func(r FetchProgress) {
				if r.Stage == "note" {
					notes = append(notes, r.Text)
				} else if len(stages) == 0 || stages[len(stages)-1] != r.Stage {
					stages = append(stages, r.Stage)
				}
				if seen++; seen == stop+2 {
					cancel()
				}
			})
			cancel()
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) || stop > 200 {
				t.Fatal(err)
			}
			if !isMissing(path) {
				t.Fatal("an incomplete store is there")
			}
		}
		for _, stage := range []string{"download", "unpack", "edges", "rows", "features"} {
			if !slices.Contains(stages, stage) {
				t.Errorf("no stage %s in %q", stage, stages)
			}
		}
		whole := 0
		for _, request := range p.asked {
			if !strings.Contains(request, "bytes=") {
				whole++
			}
		}
		if whole > 2 || !strings.Contains(notes[0], "of disk space in") {
			t.Errorf("requests %q, notes %q", p.asked, notes)
		}
		d := open(t, "store:"+path)
		sameData(t, d, want)
		if !strings.Contains(strings.Join(d.Notes, "\n"), "SHA-256") {
			t.Errorf("notes %q", d.Notes)
		}
		downloads := filepath.Join(cache, "downloads", largeName)
		if fetch {
			if !isMissing(downloads) {
				t.Error("downloads were left behind")
			}
			continue
		}
		// The unpacked files stay: another conversion asks for nothing.
		if isMissing(filepath.Join(downloads, "unpacked")) || !isMissing(filepath.Join(downloads, "papers100M-bin.zip")) || !strings.Contains(notes[len(notes)-1], downloads) {
			t.Errorf("downloads: notes %q", notes)
		}
		asked := len(p.asked)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := run(t.Context(), nil); err != nil || len(p.asked) != asked || isMissing(path) {
			t.Errorf("a second conversion: %v, %d more requests", err, len(p.asked)-asked)
		}
	}
}

// An archive with a broken entry is kept, and the error says how to go on.
func TestLargeBroken(t *testing.T) {
	p := newMirror(t)
	provide(t, p, largeName)
	const file = "/" + largeName + "/papers100M-bin.zip"
	good := p.files[file]
	broken := slices.Clone(good)
	broken[len(broken)/2] ^= 1
	p.files[file] = broken
	cache := t.TempDir()
	_, err := fetcherOf(p, cache).fetch(t.Context(), largeName)
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "delete") {
		t.Fatalf("error %v", err)
	}
	archive := filepath.Join(cache, "downloads", largeName, "papers100M-bin.zip")
	if isMissing(archive) {
		t.Fatal("the archive was removed")
	}
	p.files[file] = good
	if err := os.Remove(archive); err != nil {
		t.Fatal(err)
	}
	if _, err := fetcherOf(p, cache).fetch(t.Context(), largeName); err != nil {
		t.Error(err)
	}
}
