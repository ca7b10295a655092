package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gcn-layerwise/gcn/internal/rundir"
)

// newRunDir makes a folder for a run under runs/ and returns its path. The name
// holds the time, the data and the method. An existing folder is left alone.
func newRunDir(o *trainOptions, method string, now time.Time) (string, error) {
	name := fmt.Sprintf("%s-%s-%s-%d", now.Format("20060102-150405"), rundir.Slug(o.Data), method, o.Seed)
	if err := os.MkdirAll("runs", 0o777); err != nil {
		return "", fmt.Errorf("no folder for the run: %w", err)
	}
	for attempt := 1; ; attempt++ {
		dir := filepath.Join("runs", name)
		if attempt > 1 {
			dir += fmt.Sprintf(".%d", attempt)
		}
		err := os.Mkdir(dir, 0o777)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("no folder for the run: %w", err)
		}
	}
}

// holdsRun reports whether a folder holds a run already; "" does not.
func holdsRun(dir string) bool {
	if dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, configFile))
	return err == nil
}

func takenError(dir string) error {
	return fmt.Errorf("%s holds a run already: go on with it by --resume, replace it by --overwrite, or name another folder", dir)
}
