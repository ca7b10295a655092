//go:build linux || darwin || freebsd

package datasets

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A disk that takes no more, at any stage, costs no download.
func TestFetchOntoAFullDisk(t *testing.T) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	restore := func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Fatal(err)
		}
	}
	for _, stage := range []string{"unpack", "prepare"} {
		t.Run(stage, func(t *testing.T) {
			p := newPlace(t)
			provide(t, p, "ogbn-arxiv")
			cache := t.TempDir()
			f := fetcherOf(p, cache)
			f.options.Progress = func(s FetchProgress) {
				if s.Stage == stage {
					few := was
					few.Cur = 30
					if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &few); err != nil {
						t.Fatal(err)
					}
				}
			}
			_, err := f.fetch(context.Background(), "ogbn-arxiv")
			restore()
			downloads := filepath.Join(cache, "downloads", "ogbn-arxiv")
			if err == nil || !strings.Contains(err.Error(), downloads) || strings.Contains(err.Error(), "cannot be used") {
				t.Errorf("error %v", err)
			}
			if _, err := fetcherOf(p, cache).fetch(context.Background(), "ogbn-arxiv"); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			if len(p.asked) != 1 {
				t.Errorf("%d requests, want 1", len(p.asked))
			}
		})
	}
}
