package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/train"
)

// The files of a search's folder, beside the folders of its settings.
const (
	tuneFile   = "tune.json"    // the options
	trialsFile = "trials.jsonl" // a line for each setting in each rung
	bestFile   = "best.json"    // the best setting, as a recipe
	figureBase = "tune"         // of .svg and .png

	settingBase = "setting-" // of the folders of settings, which are numbered from 1
)

// readSearch reads tune.json.
func readSearch(path string) (map[string]any, error) {
	text, err := regularfile.Read(path)
	if err != nil {
		return nil, err
	}
	saved, err := rundir.DecodeObject(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return saved, err
}

// begin writes tune.json, or compares it with the search to resume: the flags that were given,
// but for those without effect on the results, the settings and the data.
func (j *tuneJob) begin(folder *rundir.Folder) error {
	config := map[string]any{"settings": j.settings, "fingerprint": train.Fingerprint(j.data)}
	j.fs.Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"out", "resume", "json", "quiet", "jobs", "workers", helpAll}, f.Name) {
			config[f.Name] = f.Value.String()
		}
	})
	now, err := rundir.ThroughJSON(config)
	if err != nil {
		return err
	}
	path := folder.Path(tuneFile)
	before, err := readSearch(path)
	if errors.Is(err, fs.ErrNotExist) {
		return folder.WriteJSON(tuneFile, now)
	}
	if err != nil {
		return err
	}
	if err := rundir.SameConfig(before, now); err != nil {
		return fmt.Errorf("%s: cannot resume: %w", path, err)
	}
	return nil
}

// takeSaved gives the options that are not on the command line the values of the search to
// resume.
func (j *tuneJob) takeSaved() error {
	path := filepath.Join(j.Out, tuneFile)
	switch {
	case j.Out == "":
		return nil
	case run.Taken(j.Out):
		return fmt.Errorf("%s holds a training run: name another folder for a search", j.Out)
	}
	saved, err := readSearch(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// The scores of such runs may be of other settings.
		entries, _ := os.ReadDir(j.Out)
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), settingBase) }) {
			return fmt.Errorf("%s holds runs of a search, but not its %s: name another folder", j.Out, tuneFile)
		}
		return nil
	case err != nil:
		return err
	case !j.Resume:
		return fmt.Errorf("%s holds a search already: go on with it by --resume, or name another folder", j.Out)
	}
	given := j.fs.Changed("search") || j.fs.Changed("space")
	for name, value := range saved {
		text, isText := value.(string)
		isSpace := name == "search" || name == "space"
		switch flag := j.fs.Lookup(name); {
		case !isText || name == "fingerprint":
			continue
		case flag == nil:
			return fmt.Errorf("%s: there is no option %q", path, name)
		case isSpace && given, !isSpace && flag.Changed:
			continue
		}
		if err := j.fs.Set(name, text); err != nil {
			return fmt.Errorf("%s: %s: %w", path, name, flagValueError(err))
		}
	}
	return nil
}
