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
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "gcn datasets fetch ogbn-papers100M") || !strings.Contains(err.Error(), "60.3 GB") || len(p.asked) > 0 {
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
	cache := t.TempDir()
	path := filepath.Join(cache, largeName+".safetensors")
	var stages, notes []string
	for stop := 0; ; stop++ {
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		f := fetcherOf(p, cache)
		f.options.Memory, f.options.window = streamMemory, 1<<20
		f.options.Progress = func(r FetchProgress) {
			if r.Stage == "note" {
				notes = append(notes, r.Text)
			} else if len(stages) == 0 || stages[len(stages)-1] != r.Stage {
				stages = append(stages, r.Stage)
			}
			if seen++; seen == stop+2 {
				cancel()
			}
		}
		_, err := f.fetch(ctx, largeName)
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
	if !isMissing(filepath.Join(cache, "downloads", largeName)) {
		t.Error("downloads were left behind")
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
