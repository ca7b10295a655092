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
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/study"
)

// The files of a run's folder, as training writes them.
const (
	configFile  = "config.json"
	metricsFile = "metrics.jsonl"
	resultFile  = "result.json"
	evalFile    = "eval.json" // of gcn eval --out
)

// Run is a training run, read from its folder.
type Run struct {
	Name string // the given path, or a path below it

	Config map[string]any // settings; nil if they are not known
	Result map[string]any // nil if the run is not done
	Points []Point        // evaluations
	Eval   *Evaluation    // by class; nil if there is none of the run's best weights
	Ended  time.Time      // when the last evaluation was written
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
	for _, dir := range dirs {
		found := 0
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && strings.Count(filepath.Clean(path), string(filepath.Separator))-strings.Count(filepath.Clean(dir), string(filepath.Separator)) > maxDepth {
				return filepath.SkipDir
			}
			if entry.IsDir() || entry.Name() != metricsFile {
				return nil
			}
			found++
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
		if found == 0 {
			return nil, fmt.Errorf("report: %s: it holds no run (no %s)", dir, metricsFile)
		}
	}
	return runs, nil
}

func load(dir string) (*Run, error) {
	run := &Run{Name: filepath.ToSlash(filepath.Clean(dir))}
	path := filepath.Join(dir, metricsFile)
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
	if run.Config, err = readObject(filepath.Join(dir, configFile)); err != nil {
		return nil, err
	}
	run.Config = rundir.Upgrade(run.Config)
	if run.Result, err = readObject(filepath.Join(dir, resultFile)); err != nil {
		return nil, err
	}
	run.Eval, err = loadEvaluation(filepath.Join(dir, evalFile), run)
	return run, err
}

// readObject reads a JSON object, or returns nil if the file does not exist.
// Numbers are json.Number, since seeds have 64 bits.
func readObject(path string) (map[string]any, error) {
	text, err := regularfile.Read(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	object, err := rundir.DecodeObject(text)
	if err != nil {
		return nil, fmt.Errorf("%s: damaged: %w", path, err)
	}
	return object, nil
}

// text returns a result, or else a setting, as text, or "" if there is neither.
func (r *Run) text(name string) string {
	for _, object := range []map[string]any{r.Result, r.Config} {
		if v, there := object[name]; there && v != nil {
			return valueText(v)
		}
	}
	return ""
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

// partialResult returns a result of an unfinished run, computed from its evaluations. It
// returns NaN for other results, and without evaluations.
func (r *Run) partialResult(name string) float64 {
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

// groups names the groups of runs that differ only in the seed, after the settings
// that differ between groups. The shapes of the parameters, a long text, are in a name
// only if no other setting tells two runs apart.
func groups(runs []Run) (names []string, of []int) {
	const shapes = "parameters"
	differing := differingSettings(runs)
	short := slices.DeleteFunc(slices.Clone(differing), func(name string) bool { return name == shapes })
	if names, of = groupsBy(runs, short); !slices.Contains(differing, shapes) {
		return names, of
	}
	first := map[int]string{}
	for k := range runs {
		text := valueText(runs[k].Config[shapes])
		if known, there := first[of[k]]; there && known != text {
			return groupsBy(runs, differing)
		}
		first[of[k]] = text
	}
	return names, of
}

// repeats returns, for each run, the number of another run that stands for it, because
// all their settings and the seed are equal, or -1. A finished run stands for others.
func repeats(runs []Run, of []int) []int {
	standIn := slices.Repeat([]int{-1}, len(runs))
	for k := range runs {
		for j := range k {
			if standIn[j] >= 0 || of[j] != of[k] || runs[j].Config == nil || runs[k].text("seed") == "" || !reflect.DeepEqual(runs[j].Config, runs[k].Config) {
				continue
			}
			standIn[k] = j
			if runs[j].Result != nil || runs[k].Result == nil {
				break
			}
			for i := range k {
				if i == j || standIn[i] == j {
					standIn[i] = k
				}
			}
			standIn[k] = -1
			break
		}
	}
	return standIn
}

// groupsBy groups runs by their method, samples and the given settings.
func groupsBy(runs []Run, differing []string) (names []string, of []int) {
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
			if runs[k].Config == nil || slices.Contains([]string{"seed", "method", "samples", "data", "sampler", "fingerprint", "classes", "tasks", "class_names"}, name) {
				continue
			}
			words = append(words, name+" "+settingText(runs, k, name))
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

// settingText writes a setting of run k. A setting that is on in other runs is false in a run
// without it.
func settingText(runs []Run, k int, name string) string {
	v := runs[k].Config[name]
	if v == nil && slices.ContainsFunc(runs, func(r Run) bool { return r.Config[name] == true }) {
		return "false"
	}
	return valueText(v)
}

// differingSettings lists the settings that differ between runs, in alphabetical
// order. Runs without known settings do not count.
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
