package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/run"
)

// LogFile is the name of the log in a run's folder.
const LogFile = "changes.log"

// Scheme is the SPEC serve:DIR for datasets.Options.Schemes: the data of the run in the folder DIR
// with the changes in its log. A server may be at work meanwhile.
func Scheme() datasets.Scheme {
	return datasets.Scheme{
		Name: "serve", Path: "DIR", Summary: "the data of a run, with the changes that gcn serve made",
		Open: func(ctx context.Context, spec *datasets.Spec) (*datasets.Data, error) {
			return openChanged(ctx, spec.Path)
		},
	}
}

func openChanged(ctx context.Context, dir string) (*datasets.Data, error) {
	opened, err := run.Open(ctx, dir, run.OpenOptions{})
	if err != nil {
		return nil, err
	}
	defer opened.Data.Close() // it was only read
	s, err := New(opened.Model, opened.Data, Options{})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	path := filepath.Join(dir, LogFile)
	file, err := regularfile.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("serve: %w: gcn serve has made no changes; the run's own data has none", err)
	}
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	defer file.Close()
	if _, err := readLog(file, path, headOf(opened.Data), s.replay); err != nil {
		return nil, err
	}
	return s.Data()
}
