package train

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/rundir"
)

// ErrRunExists means that the folder already holds a run, or that another process is training in
// it.
var ErrRunExists = errors.New("folder is taken by a run")

// runDir is the folder of a run, locked. A nil *runDir keeps nothing.
type runDir struct {
	path    string
	folder  *rundir.Folder
	present []string // files of an earlier run
	metrics *os.File
}

// openRunDir makes or opens the folder for a run. It changes no file.
func openRunDir(path string, o Options) (*runDir, error) {
	folder, err := rundir.Open(path)
	switch {
	case errors.Is(err, rundir.ErrLocked):
		return nil, fmt.Errorf("train: %s: %w: %w", path, ErrRunExists, rundir.ErrLocked)
	case err != nil:
		return nil, fmt.Errorf("train: the run's folder: %w", err)
	}
	d := &runDir{path: path, folder: folder}
	if d.present = folder.Present(); len(d.present) > 0 && !o.Overwrite && !o.Resume {
		err = fmt.Errorf("%s: %w: it holds %s; resume the run, overwrite it, or name another folder", path, ErrRunExists, d.present[0])
		return nil, named(join(err, d.close()))
	}
	return d, nil
}

// last returns the last checkpoint of the run in the folder, which must have the given
// configuration and data; nil if the run was killed before it had one.
func (d *runDir) last(config map[string]any, data *datasets.Data) (*checkpoint, error) {
	schema, err := ReadSchema(d.path)
	if err == nil {
		err = schema.Check(data)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("train: %s: cannot resume: %w", d.path, err)
	}
	path := d.folder.Path(rundir.LastFile)
	text, err := d.folder.Read(rundir.LastFile)
	if errors.Is(err, os.ErrNotExist) {
		before, err := ReadConfig(d.path)
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return nil, sameConfig(d.folder.Path(rundir.ConfigFile), before, config)
	}
	if err != nil {
		return nil, named(err)
	}
	last, err := decodeCheckpoint(text)
	if err != nil {
		return nil, fmt.Errorf("train: %s: %w; if you remove this file, the run starts from the beginning", path, err)
	}
	return last, sameConfig(path, last.Config, config)
}

// begin writes the files of a run into the folder. before has the evaluations that were made so far.
func (d *runDir) begin(o Options, config map[string]any, data *datasets.Data, before []Evaluation) error {
	if o.Overwrite {
		if err := d.folder.Remove(d.present...); err != nil {
			return fmt.Errorf("train: overwriting a run: %w", err)
		}
	}
	lines, err := metricsLines(before...)
	if err == nil {
		d.metrics, err = d.folder.Append(rundir.MetricsFile, lines)
	}
	if err != nil {
		return named(err)
	}
	schema := data.Schema()
	if o.Partition != nil {
		schema.Graph = 0 // of a part
	}
	return named(cmp.Or(d.folder.WriteJSON(rundir.SchemaFile, schema), d.folder.WriteJSON(rundir.ConfigFile, config)))
}

// sameConfig returns an error for the first field in which two configurations differ. The limits
// do not change a batch, so they may differ; data is a location, and the fingerprint shows whether
// the data are the same, apart from names. Workers, ranks and the time between checkpoints change
// no bit.
func sameConfig(path string, before, now map[string]any) error {
	if err := rundir.SameConfig(before, now,
		"max_batches", "epochs", "patience", "schedule_end", "falls", "data", "workers", "partition", "runs", "checkpoint_interval"); err != nil {
		return fmt.Errorf("train: %s: cannot resume: %w", path, err)
	}
	return nil
}

// ReadConfig returns the configuration of the run in a folder: Fit's settings and
// Options.Config. Numbers are json.Number, because seeds have 64 bits. The error names
// the file, also of a run of another schema.
func ReadConfig(dir string) (map[string]any, error) {
	return readRunFile(dir, rundir.ConfigFile, rundir.DecodeConfig)
}

// readRunFile reads a file of a run's folder.
func readRunFile[T any](dir, name string, decode func([]byte) (T, error)) (T, error) {
	contents, err := readFile(filepath.Join(dir, name), decode)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w; want the folder of a training run", err)
	}
	return contents, err
}

// readFile reads a file. Errors name it.
func readFile[T any](path string, decode func([]byte) (T, error)) (contents T, err error) {
	text, err := regularfile.Read(path)
	if err != nil {
		return contents, named(err)
	}
	if contents, err = decode(text); err != nil {
		return contents, fmt.Errorf("train: %s: %w", path, err)
	}
	return contents, nil
}

func (d *runDir) appendMetrics(e Evaluation) error {
	if d == nil {
		return nil
	}
	line, err := metricsLines(e)
	if err == nil {
		_, err = d.metrics.Write(line)
	}
	return named(err)
}

// metricsLines returns lines of metrics.jsonl.
func metricsLines(all ...Evaluation) (lines []byte, err error) {
	for _, e := range all {
		text, err := json.Marshal(finite.JSON(e))
		if err != nil {
			return nil, err
		}
		lines = append(append(lines, text...), '\n')
	}
	return lines, nil
}

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

func (d *runDir) close() error {
	if d == nil {
		return nil
	}
	var err error
	if d.metrics != nil {
		err = d.metrics.Close()
	}
	return named(join(err, d.folder.Close()))
}
