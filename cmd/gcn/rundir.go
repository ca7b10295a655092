package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
)

// resultFile is the name of the file in a run's folder that holds its result.
const resultFile = "result.json"

// newRunDir makes a folder for a run under runs/, named after the time and what
// is run, and returns its path. A folder that is there already is left alone.
func newRunDir(o *trainOptions, method string, now time.Time) (string, error) {
	name := fmt.Sprintf("%s-%s-%s-%d", now.Format("20060102-150405"), specSlug(o.Data), method, o.Seed)
	if err := os.MkdirAll("runs", 0o777); err != nil {
		return "", fmt.Errorf("no folder for the run: %w", err)
	}
	for attempt := 1; ; attempt++ {
		dir := filepath.Join("runs", name)
		if attempt > 1 {
			dir += fmt.Sprintf(".%d", attempt)
		}
		err := os.Mkdir(dir, 0o777)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("no folder for the run: %w", err)
		}
	}
}

// seedFolder is the folder of one of several runs inside theirs.
func seedFolder(seed uint64) string { return fmt.Sprintf("seed-%d", seed) }

// specSlug shortens a data SPEC to what a file name can hold: the scheme, the
// path's last element and the keys.
func specSlug(spec string) string {
	location, query, _ := strings.Cut(spec, "?")
	scheme, location, found := strings.Cut(location, ":")
	if !found {
		scheme, location = "", scheme
	}
	words := strings.FieldsFunc(scheme+" "+path.Base(filepath.ToSlash(location))+" "+query, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	slug := strings.ToLower(strings.Join(words, "-"))
	if len(slug) > 60 {
		slug = strings.TrimRight(slug[:60], "-")
	}
	if slug == "" {
		slug = "data"
	}
	return slug
}

// saveConfig writes the options of several runs into the folder that theirs are
// in, where --resume and --config find them. A single run's are written by
// train.
func (o *trainOptions) saveConfig(dir string) error {
	config := o.runConfig()
	for name, value := range map[string]any{
		"batch": o.Batch, "batches_per_epoch": o.BatchesPerEpoch, "epochs": o.Epochs, "max_batches": o.MaxBatches,
		"eval_every": o.EvalEvery, "patience": o.Patience, "lr": o.LR, "weight_decay": o.WeightDecay,
		"seed": o.Seed, "runs": o.Runs,
	} {
		config[name] = value
	}
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = writeJSONFile(filepath.Join(dir, configFile), config)
	}
	if err != nil {
		return fmt.Errorf("the options could not be saved: %w", err)
	}
	return nil
}

func writeJSONFile(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(name, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// saveResult writes a run's result into its folder, in place of train's own,
// which has a part of its fields.
func saveResult(dir string, r result) error {
	if err := writeJSONFile(filepath.Join(dir, resultFile), r); err != nil {
		return fmt.Errorf("the result could not be saved: %w", err)
	}
	return nil
}

// holdsRun tells whether a folder holds a run already; "" does not.
func holdsRun(dir string) bool {
	if dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, configFile))
	return err == nil
}
