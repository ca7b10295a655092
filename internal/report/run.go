package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/study"
)

// evalFile is the file of gcn eval --out in a run's folder.
const evalFile = "eval.json"

// Run is a training run, read from its folder.
type Run struct {
	Name string // the given path, or a path below it

	Config map[string]any // settings; nil if they are not known
	Result map[string]any // nil if the run is not done
	Points []Point        // evaluations
	Eval   *Evaluation    // by class; nil if there is none of the run's best weights
	Ended  time.Time      // when the last evaluation was written

	partial map[string]any // results so far of a run that is not done
}

// Point is one evaluation. Unknown numbers are NaN.
type Point struct {
	Batch   int          `json:"batch"`
	Loss    study.Number `json:"loss"`
	Valid   study.Number `json:"valid"`
	Seconds float64      `json:"seconds"`
}

// maxDepth is the largest depth below a folder at which Load finds runs.
const maxDepth = 4

// Load reads the runs in the folders, each folder once. Each is a run's own, or holds
// runs below it. The error names the file and the line; a folder without a run is an
// error.
func Load(dirs ...string) ([]Run, error) {
	var runs []Run
	loaded := map[string]bool{} // by the real path of metrics.jsonl
	depth := func(path string) int { return strings.Count(filepath.Clean(path), string(filepath.Separator)) }
	for _, dir := range dirs {
		found := false
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && depth(path)-depth(dir) > maxDepth:
				return filepath.SkipDir
			case entry.IsDir() || entry.Name() != rundir.MetricsFile:
				return nil
			}
			found = true
			if real, err := filepath.EvalSymlinks(path); err == nil {
				if real, err = filepath.Abs(real); err == nil && loaded[real] {
					return nil
				}
				loaded[real] = true
			}
			run, err := load(filepath.Dir(path))
			if err == nil {
				runs = append(runs, *run)
			}
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

func load(dir string) (*Run, error) {
	run := &Run{Name: filepath.ToSlash(filepath.Clean(dir))}
	path := filepath.Join(dir, rundir.MetricsFile)
	text, err := regularfile.Read(path)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		p := Point{Loss: study.Number(math.NaN()), Valid: study.Number(math.NaN())}
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			if bytes.HasSuffix(text, lines.Bytes()) && len(lines.Bytes()) > 0 {
				break // still being written, or cut off when the program died
			}
			return nil, fmt.Errorf("%s:%d: %w", path, n, rundir.JSONError(err))
		}
		run.Points = append(run.Points, p)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if info, err := os.Stat(path); err == nil {
		run.Ended = info.ModTime()
	}
	if run.Config, err = readObject(filepath.Join(dir, rundir.ConfigFile), rundir.DecodeConfig); err != nil {
		return nil, err
	}
	delete(run.Config, rundir.SchemaField) // no setting: it is the same in all runs
	if run.Result, err = readObject(filepath.Join(dir, rundir.ResultFile), rundir.DecodeObject); err != nil {
		return nil, err
	}
	run.setPartial()
	run.Eval, err = loadEvaluation(filepath.Join(dir, evalFile), run)
	return run, err
}

// readObject reads a JSON object, or returns nil if the file does not exist.
// Numbers are json.Number, since seeds have 64 bits.
func readObject(path string, decode func(text []byte) (map[string]any, error)) (map[string]any, error) {
	text, err := regularfile.Read(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	object, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return object, nil
}

// setPartial sets the results of a run that is not done, from its evaluations.
func (r *Run) setPartial() {
	if r.Result != nil || len(r.Points) == 0 {
		return
	}
	last, best := r.Points[len(r.Points)-1], math.NaN()
	for _, p := range r.Points {
		if valid := float64(p.Valid); math.IsNaN(best) || valid > best {
			best = valid
		}
	}
	r.partial = map[string]any{"batches": last.Batch, "wall_s": last.Seconds}
	if !math.IsNaN(best) {
		r.partial["best_valid"] = best
	}
}

// text returns a result, or else a setting, as text, or "" if there is neither.
func (r *Run) text(name string) string {
	for _, object := range []map[string]any{r.Result, r.partial, r.Config} {
		if v, there := object[name]; there && v != nil {
			return valueText(v)
		}
	}
	return ""
}

// Setting returns a setting as text.
func (r Run) Setting(name string) string {
	if v, there := r.Config[name]; there {
		return valueText(v)
	}
	return "–"
}

// number returns a result, or else a setting, as a number, or NaN if there is
// neither.
func (r *Run) number(name string) float64 {
	v, err := strconv.ParseFloat(r.text(name), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// sampled reports whether a run's scores are of samples of the nodes.
func (r *Run) sampled() bool { return r.number("eval_samples") > 0 }

// valueText writes a JSON value for a reader.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case string:
		return v
	case []any:
		words := make([]string, len(v))
		for k, e := range v {
			words[k] = valueText(e)
		}
		return strings.Join(words, ", ")
	}
	return fmt.Sprint(v)
}
