package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/internal/mpi"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/train"
)

// Job trains a plan, once or with several seeds, alone or with MPI's ranks.
type Job struct {
	*Plan
	Output
	World *mpi.World            // nil: this process alone
	Parts *train.Partition      // of the data over ranks; nil: none
	Bound layers.InferenceBound // of evaluations

	Say  func(format string, args ...any)                               // prints a message
	Show func(prefix string) (show func(train.Progress), finish func()) // begins the display of a run

	// After, if not nil, is called after the last run, with the folder to resume.
	After func(ctx context.Context, model *layers.GCN, history *train.Result, dir string)
}

// follows reports whether this process is a rank other than 0.
func (j *Job) follows() bool { return j.World != nil && j.World.Rank() > 0 }

// DealsRuns reports whether each rank trains whole runs of Runs by itself.
func (j *Job) DealsRuns() bool {
	return j.World != nil && j.World.Size() > 1 && j.Runs > 1 && j.Micro == 1
}

// Train trains in the folder dir. Ranks other than 0 have no result.
func (j *Job) Train(ctx context.Context, data *datasets.Data, dir string) (*Result, error) {
	switch {
	case j.follows() && j.DealsRuns():
		return nil, j.trainShare(ctx, data)
	case j.follows():
		j.Resume, j.Overwrite = false, false
		for i := range j.Runs {
			if _, err := j.Once(ctx, data, "", j.Seed+uint64(i), "", nil); err != nil {
				return nil, err
			}
		}
		return nil, nil
	case j.Runs == 1:
		return j.Once(ctx, data, dir, j.Seed, "", nil)
	}
	return j.several(ctx, data, dir)
}

// Once trains with one seed, in the given folder. It calls begin, if not nil, before it writes
// anything.
func (j *Job) Once(ctx context.Context, data *datasets.Data, dir string, seed uint64, prefix string, begin func() error) (*Result, error) {
	p := *j.Plan
	p.Seed, p.Runs = seed, 1
	model, err := p.NewModel(ctx, data)
	if err != nil {
		return nil, err
	}
	model.Bound = j.Bound
	if p.EvalEvery == Auto {
		if err := j.chooseInterval(ctx, model, data); err != nil {
			return nil, err
		}
		p.EvalEvery = j.EvalEvery
	}
	show, finish := j.Show(prefix)
	options := p.Fit()
	options.Dir, options.Resume, options.Overwrite = dir, j.Resume, j.Overwrite
	options.Progress, options.Begin = show, begin
	if j.World != nil && !j.DealsRuns() {
		options.Group, options.Partition = j.World, j.Parts
	}
	if err := j.tellTraffic(ctx, model, options); err != nil {
		return nil, err
	}
	var r *Result
	options.Result = func(history *train.Result) any {
		r = p.result(history, data, dir)
		j.addRanks(r, history)
		return r
	}
	history, err := train.Fit(ctx, model, data, options)
	finish()
	if err != nil {
		if history != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			err = j.interruption(err, dir, history.Batches)
		}
		return nil, err
	}
	if j.After != nil && seed == j.Seed+uint64(j.Runs-1) && j.Parts == nil {
		j.After(ctx, model, history, j.resumable(dir))
	}
	return r, nil
}

// chooseInterval sets the number of batches between two evaluations, for this run and the
// runs after it.
func (j *Job) chooseInterval(ctx context.Context, model *layers.GCN, data *datasets.Data) error {
	interval, share, err := train.EvaluationInterval(ctx, model, data, j.Fit())
	if err != nil {
		return err
	}
	j.EvalEvery = Interval(interval)
	text := fmt.Sprintf("an evaluation every %d batches: about %.0f %% of the work", interval, 100*share)
	if share > 0.3 {
		text += ", because --eval-every auto takes at most a tenth of --max-batches and half of --patience"
	}
	j.Say("%s", text)
	return nil
}

// tellTraffic says beforehand how much an update sends.
func (j *Job) tellTraffic(ctx context.Context, model *layers.GCN, o train.Options) error {
	if j.Parts == nil {
		return nil
	}
	gradients, rows, err := j.Parts.UpdateBytes(ctx, model, o)
	if err != nil || j.follows() {
		return err
	}
	j.Say("an update: each rank sends %s of gradients and about %s of rows", Megabytes(int64(gradients)), Megabytes(int64(rows)))
	return nil
}

// Megabytes returns a number of bytes for a message.
func Megabytes(bytes int64) string { return fmt.Sprintf("%.3g MB", float64(bytes)/1e6) }

// resumable returns the folder to resume for a run in dir: of several runs, the folder of all.
func (j *Job) resumable(dir string) string {
	if j.Runs > 1 {
		return filepath.Dir(dir)
	}
	return dir
}

// Interrupted is the error of a run that its context ended, with a message for the user in
// place of the error's text.
type Interrupted struct {
	Err     error
	Message string
}

func (e Interrupted) Error() string { return e.Message }
func (e Interrupted) Unwrap() error { return e.Err }

// interruption returns the error of a run that was interrupted after the given number of
// batches, with the command that continues it.
func (j *Job) interruption(err error, dir string, batches int) error {
	when := fmt.Sprintf("after %d batches", batches)
	if batches == 0 {
		when = "before the first batch"
	}
	var file *fs.PathError
	if errors.As(err, &file) { // the last checkpoint could not be written
		return Interrupted{err, fmt.Sprintf("interrupted %s; not saved: %v", when, file)}
	}
	if batches > 0 {
		when += ", saved"
	}
	dir = j.resumable(dir)
	if errors.Is(err, train.ErrRunMoved) {
		return Interrupted{err, fmt.Sprintf("interrupted %s; %s was moved or replaced: to go on, name its new place: gcn train --out DIR --resume", when, dir)}
	}
	return Interrupted{err, fmt.Sprintf("interrupted %s; to go on: gcn train --out %s --resume", when, ShellWord(dir))}
}

// result returns the result that the command prints and saves.
func (p *Plan) result(history *train.Result, data *datasets.Data, dir string) *Result {
	conv := p.Conv
	if conv != gat {
		conv = ""
	}
	var input int64
	if p.Exact != nil {
		input = p.Exact.Bytes()
	}
	return &Result{
		Conv: conv, Dataset: p.Data, Method: p.Method.String(), Samples: p.Samples, ExactInput: p.ExactInput, Metric: string(data.Metric),
		BestValid: finite.Number(history.Best), Test: finite.Number(history.Test),
		Batches: history.Batches, BestBatch: history.BestBatch, Falls: history.Falls, Stop: history.Stop,
		Seed: p.Seed, Micro: p.Micro, Parameters: history.Parameters, StateBytes: history.StateBytes, InputBytes: input,
		TrainMS: finite.Measured(history.TrainMS), SamplingMS: finite.Measured(history.SamplingMS),
		WaitMS: finite.Measured(history.WaitMS), EvalS: finite.Measured(history.EvalS), RefreshS: finite.Measured(history.RefreshS), WallS: finite.Measured(history.WallS),
		PeakRSS: finite.Measured(machine.PeakRSS()), BLAS: machine.BLAS(), Device: p.Device, RunDir: dir,
		EvalSamples: p.EvalSamples, ValidSample: history.ValidSample, TestSample: history.TestSample,
		BestSE: finite.Number(history.BestSE), TestSE: finite.Number(history.TestSE),
	}
}

// addRanks adds the fields of a run on MPI's ranks.
func (j *Job) addRanks(r *Result, history *train.Result) {
	if j.World == nil {
		return
	}
	var hosts []string
	for rank := range j.World.Size() {
		hosts = append(hosts, j.World.Host(rank))
	}
	slices.Sort(hosts)
	r.Ranks, r.Hosts, r.CommMS, r.Imbalance = j.World.Size(), len(slices.Compact(hosts)), finite.Measured(history.CommMS), finite.Measured(history.Imbalance)
	r.ExchangeBytes = finite.Measured(history.ExchangeBytes)
	if j.Parts != nil {
		most, whole := j.Parts.MostBytes()
		r.Partition, r.HeldShare = j.Partition, finite.Measured(float64(most)/float64(whole))
	}
}

// trainShare trains the runs of this rank after rank 0 has prepared their folder.
func (j *Job) trainShare(ctx context.Context, data *datasets.Data) error {
	if err := j.World.Barrier(ctx); err != nil {
		return err
	}
	for i := j.World.Rank(); i < j.Runs; i += j.World.Size() {
		seed := j.Seed + uint64(i)
		if _, err := j.Once(ctx, data, filepath.Join(j.Out, SeedFolder(seed)), seed, "", nil); err != nil {
			return err
		}
	}
	return j.World.Barrier(ctx)
}

// several trains several times, each run in its own folder inside dir. dir is locked until all
// runs are done.
func (j *Job) several(ctx context.Context, data *datasets.Data, dir string) (*Result, error) {
	folder, err := rundir.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("the runs' folder: %w", err)
	}
	defer folder.Close()
	options := j.config()
	options["fingerprint"], options[rundir.SchemaField] = train.Fingerprint(data), rundir.Schema
	config, err := rundir.ThroughJSON(options)
	if err != nil {
		return nil, err
	}
	same, err := j.checkSeveral(folder, config)
	if err != nil {
		return nil, err
	}
	// Called when the first run is ready to begin.
	begin := func() error {
		if j.Overwrite {
			if err := j.removeOthers(dir); err != nil {
				return err
			}
		}
		if !same { // an old result.json is of other runs
			if err := folder.Remove(rundir.ResultFile); err != nil {
				return err
			}
		}
		config["eval_every"] = j.EvalEvery // the first run has chosen it, if it was auto
		if err := folder.WriteJSON(rundir.ConfigFile, config); err != nil || !j.DealsRuns() {
			return err
		}
		return j.World.Barrier(ctx)
	}
	moved := func() error {
		if folder.InPlace() {
			return nil
		}
		return fmt.Errorf("%s: %w; to go on, name its new place: gcn train --out DIR --resume", dir, train.ErrRunMoved)
	}
	ranks := 1
	if j.DealsRuns() {
		ranks = j.World.Size()
	}
	runs := make([]Result, j.Runs)
	for i := 0; i < j.Runs; i += ranks {
		if err := moved(); err != nil {
			return nil, err
		}
		seed := j.Seed + uint64(i)
		r, err := j.Once(ctx, data, filepath.Join(dir, SeedFolder(seed)), seed, fmt.Sprintf("run %d/%d  ", i+1, j.Runs), begin)
		if err != nil {
			return nil, err
		}
		runs[i], begin = *r, nil
	}
	if ranks > 1 {
		if err := j.World.Barrier(ctx); err != nil {
			return nil, err
		}
		for i := range runs {
			if err := readResult(filepath.Join(dir, SeedFolder(j.Seed+uint64(i))), &runs[i]); err != nil {
				return nil, fmt.Errorf("the ranks need a file system in common: %w", err)
			}
		}
	}
	r := summarize(runs, dir)
	if err := folder.WriteJSON(rundir.ResultFile, r); err != nil {
		return nil, fmt.Errorf("the result could not be saved: %w", err)
	}
	return &r, moved()
}

// readResult reads the result.json of a run.
func readResult(dir string, r *Result) error {
	path := filepath.Join(dir, rundir.ResultFile)
	text, err := regularfile.Read(path)
	if err == nil {
		if err = json.Unmarshal(text, r); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	return err
}

// checkSeveral returns an error if several runs of the given configuration must not begin
// in the folder. same reports whether the folder holds runs of this very configuration.
func (j *Job) checkSeveral(folder *rundir.Folder, config map[string]any) (same bool, err error) {
	present, err := folder.Present()
	if err != nil {
		return false, err
	}
	for _, name := range present {
		if name != rundir.ConfigFile && name != rundir.ResultFile {
			return false, fmt.Errorf("%s holds a single run: name another folder for several runs", folder.Path("."))
		}
	}
	if len(present) == 0 || j.Overwrite {
		return false, nil
	}
	if !j.Resume { // the run was made after Taken looked
		return false, TakenError(folder.Path("."))
	}
	text, err := folder.Read(rundir.ConfigFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	before, err := rundir.DecodeConfig(text)
	if err != nil {
		return false, fmt.Errorf("%s: %w", folder.Path(rundir.ConfigFile), err)
	}
	if err := rundir.SameConfig(before, config, train.MayChange()...); err != nil {
		return false, fmt.Errorf("%s: cannot resume: %w", folder.Path(rundir.ConfigFile), err)
	}
	return rundir.SameConfig(before, config) == nil, nil
}

// removeOthers removes the runs in dir, which --resume would continue otherwise, except the
// run with the first seed: Fit overwrites it.
func (j *Job) removeOthers(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("overwriting runs: %w", err)
	}
	var others []*rundir.Folder
	defer func() {
		for _, folder := range others {
			folder.Close()
		}
	}()
	for _, e := range entries {
		digits, isSeed := strings.CutPrefix(e.Name(), "seed-")
		seed, err := strconv.ParseUint(digits, 10, 64)
		if !isSeed || err != nil || seed == j.Seed || !e.IsDir() {
			continue
		}
		folder, err := rundir.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return fmt.Errorf("overwriting runs: %w", err)
		}
		others = append(others, folder)
	}
	for _, folder := range others { // all are locked, so no process trains in them
		present, err := folder.Present()
		if err == nil {
			err = folder.Remove(present...)
		}
		if err != nil {
			return fmt.Errorf("overwriting runs: %w", err)
		}
	}
	return nil
}

// NewDir makes a folder for a run under runs/ and returns its path. The name holds the time,
// the data and a word, such as the method. An existing folder is left alone.
func (s *Settings) NewDir(word string, now time.Time) (string, error) {
	name := fmt.Sprintf("%s-%s-%s-%d", now.Format("20060102-150405"), rundir.Slug(s.Data), rundir.Slug(word), s.Seed)
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

// Taken reports whether a folder holds a run already; "" does not.
func Taken(dir string) bool {
	if dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, rundir.ConfigFile))
	return err == nil
}

// TakenError is the error of a folder that holds a run.
func TakenError(dir string) error {
	return fmt.Errorf("%s holds a run already: go on with it by --resume, replace it by --overwrite, or name another folder", dir)
}
