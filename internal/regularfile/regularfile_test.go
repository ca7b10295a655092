package regularfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/regularfile"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := regularfile.Read(dir); err == nil || !strings.Contains(err.Error(), dir+": a folder, not a regular file") {
		t.Errorf("a folder: %v", err)
	}
	if runtime.GOOS == "linux" {
		huge := filepath.Join(dir, "huge")
		if err := errors.Join(os.WriteFile(huge, nil, 0o666), os.Truncate(huge, 1<<42)); err != nil {
			t.Skip(err)
		}
		if _, err := regularfile.Read(huge); err == nil || !strings.Contains(err.Error(), huge+" would take 4.4 TB of memory") {
			t.Errorf("a file larger than memory: %v", err)
		}
		if _, err := regularfile.Read("/dev/zero"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("a device: %v", err)
		}
	}
}
