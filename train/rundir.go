package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/rundir"
)

// The files of a run's folder.
const (
	configFile  = rundir.ConfigFile
	metricsFile = rundir.MetricsFile
	lastFile    = rundir.LastFile
	bestFile    = rundir.BestFile
	resultFile  = rundir.ResultFile
)

// Errors of Fit about its folder.
var (
	// ErrRunExists means that the folder already holds a run, or that another process
	// is training in it.
	ErrRunExists = errors.New("folder is taken by a run")

	// ErrRunMoved means that the folder was moved, removed or replaced during the
	// run. The run's files are in the folder at its new place.
	ErrRunMoved = errors.New("the run's folder was moved or replaced during the run; the files are at its new place")
)

// runDir is the folder of a run, locked. A nil *runDir keeps nothing.
type runDir struct {
	path    string
	folder  *rundir.Folder
	metrics *os.File
	bytes   int64 // of metrics.jsonl
}

// openRunDir makes or opens the folder for a run of the given configuration. It calls
// restore with the checkpoint to resume from, if there is one, and the evaluations
// before it; then it calls o.Begin. If openRunDir, restore or Begin returns an error,
// the files in the folder are unchanged.
func openRunDir(path string, o Options, config map[string]any, d *datasets.Data, restore func(path string, last *checkpoint, before []Evaluation) error) (r *runDir, err error) {
	folder, err := rundir.Open(path)
	if errors.Is(err, rundir.ErrLocked) {
		return nil, fmt.Errorf("train: %s: %w: %w", path, ErrRunExists, rundir.ErrLocked)
	}
	if err != nil {
		return nil, fmt.Errorf("train: the run's folder: %w", err)
	}
	opened := &runDir{path: path, folder: folder}
	r = opened
	defer func() {
		if err != nil {
			opened.close() // not r, which is nil now
		}
	}()
	present, err := folder.Present()
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	var metrics []byte
	if len(present) > 0 && !o.Overwrite {
		if !o.Resume {
			return nil, fmt.Errorf("train: %s: %w: it holds %s; resume the run, overwrite it, or name another folder", path, ErrRunExists, present[0])
		}
		if err := r.checkSchema(d); err != nil {
			return nil, err
		}
		if metrics, err = r.resume(config, restore); err != nil {
			return nil, err
		}
	}
	if o.Begin != nil {
		if err := o.Begin(); err != nil {
			return nil, err
		}
	}
	if o.Overwrite {
		if err := folder.Remove(present...); err != nil {
			return nil, fmt.Errorf("train: overwriting a run: %w", err)
		}
	}
	if r.metrics, err = folder.Append(metricsFile, metrics); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	r.bytes = int64(len(metrics))
	schema := d.Schema()
	if o.Partition != nil {
		schema.Graph = 0 // of a part
	}
	if err := folder.WriteJSON(rundir.SchemaFile, schema); err != nil {
		return nil, named(err)
	}
	return r, named(folder.WriteJSON(configFile, config))
}

// resume restores the last checkpoint, if there is one. It must be of the same
// configuration. resume returns the part of metrics.jsonl up to the checkpoint.
func (r *runDir) resume(config map[string]any, restore func(path string, last *checkpoint, before []Evaluation) error) ([]byte, error) {
	path := r.folder.Path(lastFile)
	text, err := r.folder.Read(lastFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, r.sameConfig(config) // the run was killed before its first checkpoint
	}
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	last, err := decodeCheckpoint(text)
	if err != nil {
		if err := r.sameConfig(config); err != nil { // then the file is not all that is wrong
			return nil, err
		}
		return nil, fmt.Errorf("train: %s: %w; if you remove this file, the run starts from the beginning", path, err)
	}
	if err := sameConfig(path, last.Config, config); err != nil {
		return nil, err
	}
	metrics, evaluations, err := r.evaluations(last.State.MetricsBytes)
	if err != nil {
		return nil, err
	}
	return metrics, restore(path, last, evaluations)
}

// sameConfig returns an error if the folder has another configuration.
func (r *runDir) sameConfig(config map[string]any) error {
	before, err := ReadConfig(r.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return sameConfig(r.folder.Path(configFile), before, config)
}

// MayChange lists the settings that may differ in a resumed run. The limits do not change a
// batch; data is a location, and the fingerprint shows whether the data are the same, apart
// from names. Workers, ranks and the time between checkpoints change no bit.
func MayChange() []string {
	return []string{"max_batches", "epochs", "patience", "schedule_end", "falls", "data", "workers", "partition", "runs", "checkpoint_interval"}
}

// sameConfig returns an error for the first field in which two configurations differ.
func sameConfig(path string, before, now map[string]any) error {
	if err := rundir.SameConfig(before, now, MayChange()...); err != nil {
		return fmt.Errorf("train: %s: cannot resume: %w", path, err)
	}
	return nil
}

// ReadConfig returns the configuration of the run in a folder: Fit's settings and
// Options.Config. Numbers are json.Number, because seeds have 64 bits. The error names
// the file, also of a run of another schema.
func ReadConfig(dir string) (map[string]any, error) {
	return readRunFile(dir, configFile, rundir.DecodeConfig)
}

// readRunFile reads a file of a run's folder.
func readRunFile[T any](dir, name string, decode func([]byte) (T, error)) (contents T, err error) {
	path := filepath.Join(dir, name)
	text, err := regularfile.Read(path)
	if errors.Is(err, os.ErrNotExist) {
		return contents, fmt.Errorf("train: %w; want the folder of a training run", err)
	}
	if err != nil {
		return contents, fmt.Errorf("train: %w", err)
	}
	if contents, err = decode(text); err != nil {
		return contents, fmt.Errorf("train: %s: %w", path, err)
	}
	return contents, nil
}

func (r *runDir) appendMetrics(e Evaluation) error {
	if r == nil {
		return nil
	}
	e.Seconds = math.Round(e.Seconds*1e3) / 1e3
	text, err := json.Marshal(finite.JSON(e))
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	n, err := r.metrics.Write(append(text, '\n'))
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	r.bytes += int64(n)
	return nil
}

// evaluations returns the first size bytes of metrics.jsonl, and the evaluations in
// them. Later lines were written after the checkpoint.
func (r *runDir) evaluations(size int64) ([]byte, []Evaluation, error) {
	path := r.folder.Path(metricsFile)
	text, err := r.folder.Read(metricsFile)
	switch {
	case errors.Is(err, os.ErrNotExist) && size == 0:
		return nil, nil, nil
	case errors.Is(err, os.ErrNotExist):
		return nil, nil, fmt.Errorf("train: %s is missing; %s", path, r.startAgain())
	case err != nil:
		return nil, nil, fmt.Errorf("train: %w", err)
	case size < 0 || int64(len(text)) < size:
		return nil, nil, fmt.Errorf("train: %s: truncated: %d bytes, %d when the checkpoint was written; %s", path, len(text), size, r.startAgain())
	}
	text = text[:size]
	var list []Evaluation
	for k, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		if size == 0 {
			break
		}
		var e Evaluation
		if err := finite.Unmarshal(line, &e); err != nil {
			return nil, nil, fmt.Errorf("train: %s:%d: %w; %s", path, k+1, rundir.JSONError(err), r.startAgain())
		}
		list = append(list, e)
	}
	return text, list, nil
}

// startAgain says what to do if the metrics before the checkpoint are lost.
func (r *runDir) startAgain() string {
	return fmt.Sprintf("if you remove %s, the run starts from the beginning", r.folder.Path(lastFile))
}

func (r *runDir) close() error {
	if r == nil {
		return nil
	}
	var err error
	if !r.folder.InPlace() {
		err = fmt.Errorf("%s: %w", r.path, ErrRunMoved)
	}
	if r.metrics != nil {
		err = join(err, r.metrics.Close())
	}
	if err = join(err, r.folder.Close()); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}
