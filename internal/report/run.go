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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/study"
)

// The files of a run's folder, as training writes them.
const (
	configFile  = "config.json"
	metricsFile = "metrics.jsonl"
	resultFile  = "result.json"
)

// Run is what a run's folder tells.
type Run struct {
	Name string // path as given, or below it

	Config map[string]any // settings; nil where they are not known
	Result map[string]any // nil where the run is not done
	Points []Point        // evaluations
	Ended  time.Time      // when the last evaluation was written
}

// Point is one evaluation. Numbers that were not known are NaN.
type Point struct {
	Batch   int          `json:"batch"`
	Loss    study.Number `json:"loss"`
	Valid   study.Number `json:"valid"`
	Seconds float64      `json:"seconds"`
}

// deepest is how far below a folder runs are looked for.
const deepest = 4

// Load reads the runs in the folders: each is a run's own, or holds them below
// it. The error names the file and the line; a folder without a run is one.
func Load(dirs ...string) ([]Run, error) {
	var runs []Run
	for _, dir := range dirs {
		before := len(runs)
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && strings.Count(filepath.Clean(path), string(filepath.Separator))-strings.Count(filepath.Clean(dir), string(filepath.Separator)) > deepest {
				return filepath.SkipDir
			}
			if entry.IsDir() || entry.Name() != metricsFile {
				return nil
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
		if len(runs) == before {
			return nil, fmt.Errorf("report: %s: no run in it (no %s)", dir, metricsFile)
		}
	}
	return runs, nil
}

func load(dir string) (*Run, error) {
	run := &Run{Name: filepath.ToSlash(filepath.Clean(dir))}
	path := filepath.Join(dir, metricsFile)
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		p := Point{Loss: study.Number(math.NaN()), Valid: study.Number(math.NaN())}
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			if bytes.HasSuffix(text, lines.Bytes()) && len(lines.Bytes()) > 0 {
				break // being written, or the program died in it
			}
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		run.Points = append(run.Points, p)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if info, err := os.Stat(path); err == nil {
		run.Ended = info.ModTime()
	}
	if run.Config, err = readObject(filepath.Join(dir, configFile)); err != nil {
		return nil, err
	}
	run.Config = rundir.Upgrade(run.Config)
	run.Result, err = readObject(filepath.Join(dir, resultFile))
	return run, err
}

// readFile reads a regular file: a pipe or a device may never end.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: no regular file", path)
	}
	return os.ReadFile(path)
}

// readObject reads a JSON object, nil where the file is not there. Numbers are
// json.Number, since seeds have 64 bits.
func readObject(path string) (map[string]any, error) {
	text, err := readFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return object, nil
}

// text returns a setting or a result as text, "" where there is none; results
// come first.
func (r *Run) text(name string) string {
	for _, object := range []map[string]any{r.Result, r.Config} {
		if v, there := object[name]; there && v != nil {
			return valueText(v)
		}
	}
	return ""
}

// number returns a result or a setting as a number, NaN where there is none.
func (r *Run) number(name string) float64 {
	v, err := strconv.ParseFloat(r.text(name), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// soFar returns of a run that is not done what its evaluations tell of a result;
// NaN for any other, and where there is none.
func (r *Run) soFar(name string) float64 {
	v := math.NaN()
	if r.Result != nil || len(r.Points) == 0 {
		return v
	}
	switch last := r.Points[len(r.Points)-1]; name {
	case "batches":
		v = float64(last.Batch)
	case "wall_s":
		v = last.Seconds
	case "best_valid":
		for _, p := range r.Points {
			if valid := float64(p.Valid); math.IsNaN(v) || valid > v {
				v = valid
			}
		}
	}
	return v
}

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

// groups names what runs of different seeds share: the settings that are not the
// same in all runs, but for the seed.
func groups(runs []Run) (names []string, of []int) {
	differing := differingSettings(runs)
	number := map[string]int{}
	for k := range runs {
		words := []string{runs[k].text("method")}
		if s := runs[k].text("samples"); s != "" {
			words = append(words, s)
		}
		if runs[k].Config == nil {
			words = append(words, runs[k].Name+" (settings not known)")
		}
		for _, name := range differing {
			if runs[k].Config == nil || slices.Contains([]string{"seed", "method", "samples", "data", "sampler", "fingerprint"}, name) {
				continue
			}
			words = append(words, name+" "+valueText(runs[k].Config[name]))
		}
		name := strings.Join(words, " · ")
		if data := runs[k].text("data"); data != "" && slices.Contains(differing, "data") {
			name = data + " · " + name
		}
		if name == "" {
			name = runs[k].Name
		}
		if _, there := number[name]; !there {
			number[name] = len(names)
			names = append(names, name)
		}
		of = append(of, number[name])
	}
	return names, of
}

// differingSettings lists the settings that are not the same in all runs, in
// alphabetical order. A run whose settings are not known does not count.
func differingSettings(runs []Run) []string {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return r.Config == nil })
	all := map[string]bool{}
	for _, r := range runs {
		for name := range r.Config {
			all[name] = true
		}
	}
	var differing []string
	for name := range all {
		first := valueText(runs[0].Config[name])
		if slices.ContainsFunc(runs, func(r Run) bool { return valueText(r.Config[name]) != first }) {
			differing = append(differing, name)
		}
	}
	slices.Sort(differing)
	return differing
}
