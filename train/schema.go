package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/rundir"
)

// ReadSchema returns the schema of the data that the run in a folder was trained on, for
// datasets.Options.Schema.
func ReadSchema(dir string) (*datasets.Schema, error) {
	return readRunFile(dir, rundir.SchemaFile, func(text []byte) (*datasets.Schema, error) {
		s := new(datasets.Schema)
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		return s, decoder.Decode(s)
	})
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
