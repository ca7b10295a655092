package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/rundir"
)

// ReadSchema returns the schema of the data that the run in a folder was trained on, for
// datasets.Options.Schema.
func ReadSchema(dir string) (*datasets.Schema, error) {
	path := filepath.Join(dir, rundir.SchemaFile)
	text, err := regularfile.Read(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("train: %w; want the folder of a training run", err)
	}
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	s := new(datasets.Schema)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(s); err != nil {
		return nil, fmt.Errorf("train: %s: %w", path, err)
	}
	return s, nil
}

// checkSchema returns an error if the folder is of a run on data of another schema.
func (r *runDir) checkSchema(d *datasets.Data) error {
	s, err := ReadSchema(r.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the run was killed before it had one
	}
	if err == nil {
		err = s.Check(d)
	}
	if err != nil {
		return fmt.Errorf("train: %s: cannot resume: %w", r.path, err)
	}
	return nil
}
