package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/train"
)

// evalFile is the file of gcn eval --out in a run's folder.
const evalFile = "eval.json"

// Run is a training run, read from its folder.
type Run struct {
	Name string // the given path, or a path below it

	Config map[string]any // settings; nil if they are not known
	Result map[string]any // of a run that is not done: so far, from its evaluations
	Points []train.Evaluation
	Eval   *Evaluation // by class; nil if there is none of the run's best weights
	Ended  time.Time   // when the last evaluation was written

	// Group is the number of its method on a page, and Same the run that counts in its place, or "".
	Group int
	Same  string

	done bool
}

// Load reads the runs in the folders, each folder once. Each is a run's own, or holds
// runs below it. The error names the file and the line; a folder without a run is an
// error.
func Load(dirs ...string) (runs []*Run, err error) {
	var loaded []fs.FileInfo
	for _, dir := range dirs {
		found := false
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || entry.Name() != rundir.MetricsFile {
				return err
			}
			found = true
			info, err := os.Stat(path)
			if err != nil || slices.ContainsFunc(loaded, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
				return err
			}
			loaded = append(loaded, info)
			run, err := load(filepath.Dir(path))
			run.Ended = info.ModTime()
			runs = append(runs, run)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		if !found {
			return nil, fmt.Errorf("report: %s: it holds no run (no %s)", dir, rundir.MetricsFile)
		}
	}
	return runs, nil
}

func load(dir string) (run *Run, err error) {
	run = &Run{Name: filepath.ToSlash(filepath.Clean(dir))}
	path := filepath.Join(dir, rundir.MetricsFile)
	text, err := regularfile.Read(path)
	if err != nil {
		return run, err
	}
	for line := range bytes.Lines(text) {
		p := train.Evaluation{Loss: math.NaN(), Valid: math.NaN()}
		err := finite.Unmarshal(line, &p)
		if err != nil && !bytes.HasSuffix(line, []byte("\n")) {
			break // still being written, or cut off when the program died
		}
		if err != nil {
			return run, fmt.Errorf("%s:%d: %w", path, len(run.Points)+1, err)
		}
		run.Points = append(run.Points, p)
	}
	var errs [3]error
	run.Config, errs[0] = read(filepath.Join(dir, rundir.ConfigFile), rundir.DecodeConfig)
	run.Result, errs[1] = read(filepath.Join(dir, rundir.ResultFile), rundir.DecodeObject)
	if run.done = run.Result != nil; !run.done {
		run.Result = soFar(run.Points)
	}
	run.Eval, errs[2] = read(filepath.Join(dir, evalFile), run.evaluation)
	return run, cmp.Or(errs[:]...)
}

// read reads a file, or returns the zero value if it does not exist.
func read[T any](path string, decode func(text []byte) (T, error)) (contents T, err error) {
	text, err := regularfile.Read(path)
	if errors.Is(err, os.ErrNotExist) {
		return contents, nil
	}
	if err != nil {
		return contents, err
	}
	if contents, err = decode(text); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return contents, err
}

// soFar returns the results of a run that is not done.
func soFar(points []train.Evaluation) map[string]any {
	result := map[string]any{"stop": "not done"}
	best := math.Inf(-1)
	for _, p := range points {
		result["batches"], result["wall_s"] = p.Batch, p.Seconds
		if p.Valid > best {
			best, result["best_valid"] = p.Valid, p.Valid
		}
	}
	return result
}

// text returns a result, or else a setting, as text, or "" if there is neither.
func (r *Run) text(name string) string {
	if v := cmp.Or(r.Result[name], r.Config[name]); v != nil {
		return valueText(v)
	}
	return ""
}

// setting writes a setting for a reader.
func (r *Run) setting(name string) string { return valueText(r.Config[name]) }

// number returns a result, or else a setting, as a number, or NaN if there is
// neither.
func (r *Run) number(name string) float64 {
	v, err := strconv.ParseFloat(r.text(name), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// valueText writes a JSON value for a reader.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case []any:
		words := make([]string, len(v))
		for k, e := range v {
			words[k] = valueText(e)
		}
		return strings.Join(words, ", ")
	}
	return fmt.Sprint(v)
}
