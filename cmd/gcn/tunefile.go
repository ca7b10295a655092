package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/internal/tune"
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

// savedSearch is the contents of tune.json.
type savedSearch struct {
	Options     map[string][]string `json:"options"` // flags that were given, with their values
	Settings    []tune.Setting      `json:"settings"`
	Fingerprint string              `json:"fingerprint"`
}

func readSearch(dir string) (*savedSearch, error) {
	path := filepath.Join(dir, tuneFile)
	text, err := regularfile.Read(path)
	if err != nil {
		return nil, err
	}
	return parseSearch(path, text)
}

// parseSearch decodes the contents of tune.json. Errors begin with the path.
func parseSearch(path string, text []byte) (*savedSearch, error) {
	saved := new(savedSearch)
	if err := json.Unmarshal(text, saved); err != nil {
		return nil, fmt.Errorf("%s: damaged: %w", path, rundir.JSONError(err))
	}
	return saved, nil
}

// saved returns the search as tune.json holds it. It leaves out options without effect on
// the results.
func (j *tuneJob) saved() *savedSearch {
	s := &savedSearch{Options: map[string][]string{}, Settings: j.settings, Fingerprint: train.Fingerprint(j.data)}
	j.fs.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "out", "resume", "json", "quiet", "jobs", "workers", "checkpoint-interval", helpAll:
		case "search":
			s.Options[f.Name] = j.Search
		default:
			s.Options[f.Name] = []string{f.Value.String()}
		}
	})
	return s
}

// begin writes tune.json, or compares it with the search to resume.
func (j *tuneJob) begin(folder *rundir.Folder) error {
	now := j.saved()
	text, err := folder.Read(tuneFile)
	if errors.Is(err, fs.ErrNotExist) {
		return folder.WriteJSON(tuneFile, now)
	}
	if err != nil {
		return err
	}
	before, err := parseSearch(folder.Path(tuneFile), text)
	if err != nil {
		return err
	}
	for _, options := range []map[string][]string{before.Options, now.Options} {
		for name := range options {
			if was, is := before.Options[name], now.Options[name]; !slices.Equal(was, is) {
				return fmt.Errorf("%s: cannot resume: --%s was %s and is now %s", folder.Path(tuneFile), name, optionList(was), optionList(is))
			}
		}
	}
	if before.Fingerprint != now.Fingerprint {
		return fmt.Errorf("%s: cannot resume: the data have changed", folder.Path(tuneFile))
	}
	if !reflect.DeepEqual(before.Settings, now.Settings) {
		return fmt.Errorf("%s: cannot resume: the settings have changed", folder.Path(tuneFile))
	}
	return nil
}

// takeSaved gives the options that are not on the command line the values of the search to
// resume.
func (j *tuneJob) takeSaved() error {
	if j.Resume && j.Out == "" {
		return usagef("--resume needs --out, the search's folder")
	}
	if j.Out == "" {
		return nil
	}
	if run.Taken(j.Out) {
		return fmt.Errorf("%s holds a training run: name another folder for a search", j.Out)
	}
	saved, err := readSearch(j.Out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// The scores of such runs may be of other settings.
		if entries, _ := os.ReadDir(j.Out); slices.ContainsFunc(entries, isSetting) {
			return fmt.Errorf("%s holds runs of a search, but not its %s: name another folder", j.Out, tuneFile)
		}
		return nil
	case err != nil:
		return err
	case !j.Resume:
		return fmt.Errorf("%s holds a search already: go on with it by --resume, or name another folder", j.Out)
	}
	given := j.fs.Changed("search") || j.fs.Changed("space")
	for name, texts := range saved.Options {
		flag := j.fs.Lookup(name)
		isSpace := name == "search" || name == "space"
		switch {
		case flag == nil:
			return fmt.Errorf("%s: there is no option %q", filepath.Join(j.Out, tuneFile), name)
		case isSpace && given, !isSpace && flag.Changed:
			continue
		}
		for _, text := range texts {
			if err := j.fs.Set(name, text); err != nil {
				return fmt.Errorf("%s: %s: %w", filepath.Join(j.Out, tuneFile), name, flagValueError(err))
			}
		}
	}
	return nil
}

// isSetting reports whether a folder holds the runs of a setting.
func isSetting(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), settingBase) }

func optionList(texts []string) string {
	if len(texts) == 0 {
		return "not given"
	}
	return strings.Join(texts, " and ")
}
