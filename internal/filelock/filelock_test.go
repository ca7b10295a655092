package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/filelock"
)

func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var files [2]*os.File
	for k := range files {
		var err error
		if files[k], err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
			t.Fatal(err)
		}
		defer files[k].Close()
	}
	if err := filelock.Try(files[0]); err != nil {
		t.Fatal(err)
	}
	if err := filelock.Try(files[1]); !errors.Is(err, filelock.ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("a second lock: %v", err)
	}
	if err := files[0].Close(); err != nil {
		t.Fatal(err)
	}
	if err := filelock.Try(files[1]); err != nil {
		t.Errorf("after the first was closed: %v", err)
	}
}
