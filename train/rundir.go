package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// The files of a run's folder.
const (
	configFile  = "config.json"
	metricsFile = "metrics.jsonl"
	lastFile    = "last.ckpt"
	bestFile    = "best.ckpt"
	resultFile  = "result.json"
	lockFile    = ".lock"
	partSuffix  = ".part" // of a file being written
)

// ErrRunExists is wrapped by Fit's error about a folder that already holds a
// run, or in which another process is training.
var ErrRunExists = errors.New("folder is taken by a run")

// runDir is the folder of a run, locked. A nil *runDir keeps nothing.
type runDir struct {
	path    string
	lock    *os.File
	metrics *os.File
	bytes   int64 // of metrics.jsonl
}

// openRunDir makes or opens the folder for a run of the given configuration.
// restore is called with the checkpoint to go on from, if there is one, and the
// evaluations before it. Nothing that is there was changed if openRunDir or
// restore returns an error.
func openRunDir(path string, o Options, config map[string]any, restore func(*runDir, *checkpoint, []Evaluation) error) (r *runDir, err error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fmt.Errorf("train: making the run's folder %s: %w", path, err)
	}
	lock, err := lockPath(filepath.Join(path, lockFile))
	if err != nil {
		return nil, fmt.Errorf("train: locking the run's folder: %w", err)
	}
	opened := &runDir{path: path, lock: lock}
	r = opened
	defer func() {
		if err != nil {
			opened.close() // r is nil by then
		}
	}()
	present, err := r.present()
	switch {
	case err != nil:
		return nil, err
	case len(present) > 0 && !o.Resume && !o.Overwrite:
		return nil, fmt.Errorf("train: %s: %w: it has %s; resume it, overwrite it, or name another folder", path, ErrRunExists, present[0])
	case o.Overwrite:
		if err := r.remove(present); err != nil {
			return nil, err
		}
	case len(present) > 0:
		last, err := r.resume(config)
		if err != nil {
			return nil, err
		}
		if last == nil {
			break
		}
		evaluations, err := r.evaluations(last.State.MetricsBytes)
		if err != nil {
			return nil, err
		}
		if err := restore(r, last, evaluations); err != nil {
			return nil, err
		}
		r.bytes = last.State.MetricsBytes
	}
	if err := r.openMetrics(); err != nil {
		return nil, err
	}
	if err := r.writeJSON(configFile, config); err != nil {
		return nil, err
	}
	return r, nil
}

// file returns the path of a file in the folder.
func (r *runDir) file(name string) string { return filepath.Join(r.path, name) }

// present returns which files of a run are there.
func (r *runDir) present() ([]string, error) {
	var names []string
	for _, name := range []string{lastFile, bestFile, metricsFile, resultFile, configFile} {
		switch _, err := os.Lstat(r.file(name)); {
		case err == nil:
			names = append(names, name)
		case !errors.Is(err, os.ErrNotExist):
			return nil, fmt.Errorf("train: %w", err)
		}
	}
	return names, nil
}

func (r *runDir) remove(names []string) error {
	for _, name := range names {
		if err := os.Remove(r.file(name)); err != nil {
			return fmt.Errorf("train: overwriting a run: %w", err)
		}
	}
	return nil
}

// resume reads the last checkpoint, if there is one, and checks that it is of
// the same configuration.
func (r *runDir) resume(config map[string]any) (*checkpoint, error) {
	path := r.file(lastFile)
	last, err := readCheckpoint(path)
	if errors.Is(err, os.ErrNotExist) {
		// Killed before its first checkpoint: only the configuration is there.
		path = r.file(configFile)
		before, err := ReadConfig(r.path)
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return nil, sameConfig(path, before, config)
	}
	if errors.Is(err, ErrCheckpoint) {
		return nil, fmt.Errorf("%w; without this file, the run begins anew", err)
	}
	if err != nil {
		return nil, err
	}
	return last, sameConfig(path, last.Config, config)
}

// mayChange lists the settings in which a resumed run may differ. All but the last
// decide when to stop, not what a batch does; data says where the data lie, and
// their fingerprint whether they are the same.
var mayChange = []string{"max_batches", "max_epochs", "patience", "data"}

// sameConfig reports the first field in which two configurations differ.
func sameConfig(path string, before, now map[string]any) error {
	now, err := throughJSON(now)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for name := range before {
		names[name] = true
	}
	for name := range now {
		names[name] = true
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		was, hadIt := before[name]
		is, hasIt := now[name]
		if slices.Contains(mayChange, name) || hadIt == hasIt && reflect.DeepEqual(was, is) {
			continue
		}
		return fmt.Errorf("train: %s: cannot resume: %s was %s and is now %s", path, name, jsonText(was, hadIt), jsonText(is, hasIt))
	}
	return nil
}

func jsonText(v any, there bool) string {
	if !there {
		return "not set"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// throughJSON returns m as it reads once written: every number a json.Number.
func throughJSON(m map[string]any) (map[string]any, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("train: configuration: %w", err)
	}
	return decodeConfig(text)
}

func decodeConfig(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // seeds have 64 bits
	var m map[string]any
	if err := decoder.Decode(&m); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the object")
	}
	return m, nil
}

// ReadConfig returns the configuration of the run in a folder: Fit's settings
// and Options.Config. Numbers are json.Number, since seeds have 64 bits. The
// error names the file.
func ReadConfig(dir string) (map[string]any, error) {
	path := filepath.Join(dir, configFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	m, err := decodeConfig(text)
	if err != nil {
		return nil, fmt.Errorf("train: %s: damaged: %w", path, err)
	}
	return m, nil
}

// openMetrics opens metrics.jsonl, cut to r.bytes.
func (r *runDir) openMetrics() (err error) {
	r.metrics, err = os.OpenFile(r.file(metricsFile), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	if err := r.metrics.Truncate(r.bytes); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	if _, err := r.metrics.Seek(r.bytes, io.SeekStart); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

// metricsLine is an Evaluation as metrics.jsonl holds it.
type metricsLine struct {
	Batch   int     `json:"batch"`
	Epoch   int     `json:"epoch"`
	Loss    number  `json:"loss"`
	Valid   number  `json:"valid"`
	Best    bool    `json:"best"`
	Seconds float64 `json:"seconds"`
}

func (r *runDir) appendMetrics(e Evaluation) error {
	if r == nil {
		return nil
	}
	text, err := json.Marshal(metricsLine{e.Batch, e.Epoch, number(e.Loss), number(e.Valid), e.Best, math.Round(e.Seconds*1e3) / 1e3})
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

// evaluations returns what the first bytes of metrics.jsonl hold. Lines after
// them were written after the checkpoint.
func (r *runDir) evaluations(size int64) ([]Evaluation, error) {
	path := r.file(metricsFile)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && size == 0:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("train: %w", err)
	case size < 0 || int64(len(text)) < size:
		return nil, fmt.Errorf("train: %s: truncated: %d bytes, the checkpoint counts %d", path, len(text), size)
	}
	var list []Evaluation
	for k, line := range bytes.Split(bytes.TrimSuffix(text[:size], []byte("\n")), []byte("\n")) {
		if size == 0 {
			break
		}
		var m metricsLine
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("train: %s:%d: %w", path, k+1, err)
		}
		list = append(list, Evaluation{m.Batch, m.Epoch, float64(m.Loss), float64(m.Valid), m.Best, m.Seconds})
	}
	return list, nil
}

// dropResult removes result.json, if there is one.
func (r *runDir) dropResult() error {
	if err := os.Remove(r.file(resultFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

// saveLast makes last the checkpoint to resume from. The metrics it counts are
// on disk first.
func (r *runDir) saveLast(last *checkpoint) error {
	if err := r.metrics.Sync(); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return r.writeFile(lastFile, last.write)
}

func (r *runDir) writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("train: %s: %w", r.file(name), err)
	}
	return r.writeFile(name, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// writeFile replaces a file of the folder in one step: whatever interrupts it,
// the old contents or the new are there, whole.
func (r *runDir) writeFile(name string, write func(io.Writer) error) (err error) {
	path := r.file(name)
	file, err := os.OpenFile(path+partSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("train: writing %s: %w", path, err)
			os.Remove(path + partSuffix)
		}
	}()
	if err := write(file); err != nil {
		file.Close()
		return err
	}
	// Without it the name could be on disk before the contents are.
	if err := file.Sync(); err != nil {
		file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Rename(path+partSuffix, path); err != nil {
		return err
	}
	return syncFolder(r.path)
}

func (r *runDir) close() error {
	if r == nil {
		return nil
	}
	var errs []error
	if r.metrics != nil {
		errs = append(errs, r.metrics.Close())
	}
	return errors.Join(append(errs, r.lock.Close())...)
}

// describe writes out a sampler's settings: its own String if it has one, else
// the exported fields of its type down to numbers, strings and flags. Zero
// fields are left out, so that new ones do not make old runs differ, and so is
// what it points to (the graph).
func describe(v any) string {
	if s, ok := v.(fmt.Stringer); ok {
		return s.String()
	}
	var b strings.Builder
	describeValue(&b, reflect.Indirect(reflect.ValueOf(v)))
	return b.String()
}

func describeValue(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		describeValue(b, reflect.Indirect(v.Elem()))
	case reflect.Struct:
		b.WriteString(v.Type().Name())
		b.WriteByte('{')
		separator := ""
		for k := range v.NumField() {
			field, value := v.Type().Field(k), v.Field(k)
			if !field.IsExported() || value.IsZero() || value.Kind() == reflect.Pointer {
				continue
			}
			b.WriteString(separator + field.Name + ":")
			describeValue(b, value)
			separator = " "
		}
		b.WriteByte('}')
	case reflect.Slice, reflect.Array:
		b.WriteByte('[')
		for k := range v.Len() {
			if k > 0 {
				b.WriteByte(' ')
			}
			if k == 16 { // row norms and such: the length will do
				fmt.Fprintf(b, "… %d", v.Len())
				break
			}
			describeValue(b, v.Index(k))
		}
		b.WriteByte(']')
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		fmt.Fprint(b, v)
	default: // a function, a channel, a map: not a setting that could be compared
		b.WriteByte('_')
	}
}
