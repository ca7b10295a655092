//go:build linux || darwin || freebsd

package datasets

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A fault of this machine at any stage keeps the downloaded files. Here files cannot be
// opened, because too many are open.
func TestFetchKeepsADownload(t *testing.T) {
	for _, stage := range []string{"unpack", "prepare"} {
		t.Run(stage, func(t *testing.T) {
			p := newMirror(t)
			provide(t, p, "ogbn-arxiv")
			cache := t.TempDir()
			f := fetcherOf(p, cache)
			var restore func()
			f.options.Progress = func(s FetchProgress) {
				if s.Stage == stage && restore == nil {
					restore = limitFiles(t)
				}
			}
			_, err := f.fetch(context.Background(), "ogbn-arxiv")
			restore()
			downloads := filepath.Join(cache, "downloads", "ogbn-arxiv")
			if !errors.Is(err, syscall.EMFILE) || !strings.Contains(err.Error(), "kept in "+downloads) {
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

// limitFiles makes opening a file fail, until restore is called.
func limitFiles(t *testing.T) (restore func()) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	none := was
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
	}
}
