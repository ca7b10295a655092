package reproduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/train"
)

// Options selects the work. The zero value of a field means the paper's value.
type Options struct {
	Config

	// Data are the SPECs of the columns. nil means the paper's data sets: each the
	// original if it is in the cache, else its generated twin. A data set of the
	// paper is left out of the tables and figures in which the paper leaves it out.
	Data    []string
	Methods []string // nil means all of the paper's table; a method that the table lacks gets sizes of 512 a layer, or 2 a node
	Samples []int    // sample sizes, next to the output first; nil means the paper's

	Runs      PerData // seeds; 0 means 5
	EvalEvery PerData // mini-batches between two validation scores; 0 means 10
	Seed      uint64  // of the first run; 0 means 1

	Dir     string       // folder of the results, made if missing; required
	Cells   string       // folder of the cells, made if missing; "" means cells in Dir
	Compute Compute      // the missing cells to compute; "" means all
	Program string       // version of this program, kept in new cells; may be ""
	Log     func(string) // called with a line for each cell that is computed; may be nil

	// Ranks share the cells; nil means this process alone. The times are rank 0's. Run and
	// All return their results on rank 0, and nil on the others.
	Ranks Ranks

	DataOptions datasets.Options // where named data sets lie

	// Open opens a data set; nil means datasets.Open with DataOptions.
	Open func(ctx context.Context, spec string) (*datasets.Data, error)
}

// Ranks are processes that make one report together. They need the same Cells, on a file
// system in common. A World of MPI is Ranks.
type Ranks interface {
	Rank() int
	Size() int
	Barrier(ctx context.Context) error // returns when all ranks have called it
}

// Compute selects the missing cells that are computed. A table or figure is made from the
// cells that are there, and says how many are missing.
type Compute string

// The selections.
const (
	ComputeAll    Compute = "all"
	ComputeScores Compute = "scores" // not the times, which need a machine without other work
	ComputeTimes  Compute = "times"  // only the times
	ComputeNone   Compute = "none"
)

// Selections lists the values of Compute.
func Selections() []string {
	return []string{string(ComputeAll), string(ComputeScores), string(ComputeTimes), string(ComputeNone)}
}

// of reports whether missing cells of a kind are computed.
func (c Compute) of(k kind) bool {
	switch c {
	case ComputeScores:
		return !k.timed()
	case ComputeTimes:
		return k.timed()
	}
	return c != ComputeNone
}

// Run makes one of the Known experiments, by its name or its alias. It does not compute
// the cells that are there already. When ctx ends, Run returns ctx's error, and finished
// cells are kept.
func Run(ctx context.Context, name string, o Options) (*Report, error) {
	known := Known()
	at := slices.IndexFunc(known, func(e Experiment) bool { return slices.Contains(e.Names(), name) })
	if at < 0 {
		var names []string
		for _, e := range known {
			names = append(names, e.Names()...)
		}
		return nil, fmt.Errorf("reproduce: unknown table or figure %q; known: %s", name, strings.Join(names, ", "))
	}
	r, work, err := done(ctx, o, known[at])
	if err != nil || r.follows() {
		return nil, err
	}
	report := r.report(work[0])
	report.Claims = append(report.Claims, r.paper.judge([]*Report{report})...)
	return report, nil
}

// All makes all tables and figures. Cells that several of them share are computed
// once, data set by data set, so that each data set is opened once.
func All(ctx context.Context, o Options) (*Results, error) {
	r, work, err := done(ctx, o, Experiments()...)
	if err != nil || r.follows() {
		return nil, err
	}
	if len(r.settled) == 0 && r.Compute == ComputeNone {
		return nil, fmt.Errorf("reproduce: %s has no cell of this command, so results.md is not written; --compute all computes the cells", r.Options.Cells)
	}
	all := &Results{Date: time.Now().UTC().Format(time.DateOnly), Machine: machine.Describe(), Source: r.paper.Source}
	var keys []key
	for _, t := range work {
		all.Reports, keys = append(all.Reports, r.report(t)), append(keys, t.keys...)
	}
	keys = distinct(keys)
	all.Made = r.provenance(keys)
	all.There, _ = r.count(keys)
	all.Cells = len(keys)
	all.Claims = r.paper.judge(all.Reports)
	return all, nil
}

// runner is one call of Run or All.
type runner struct {
	Options
	cells cells
	paper *Numbers

	spec        string // of data
	data        *datasets.Data
	fingerprint string             // of data
	exact       *layers.ExactInput // of data; nil: not needed yet

	chosen  map[string]string // SPEC of each of the paper's data sets
	settled map[string]*cell  // by the key's id
	asked   []key             // cells that an experiment has asked for
	pace    pace
}

// task is one experiment on its data sets.
type task struct {
	Experiment
	data []string // SPECs
	keys []key
}

// done computes the cells of experiments.
func done(ctx context.Context, o Options, experiments ...Experiment) (*runner, []task, error) {
	r, err := newRunner(o)
	if err != nil {
		return nil, nil, err
	}
	work, err := r.plan(ctx, experiments)
	if err != nil {
		return nil, nil, err
	}
	return r, work, r.compute(ctx, work)
}

func newRunner(o Options) (*runner, error) {
	if o.Dir == "" {
		return nil, errors.New("reproduce: no folder for the results")
	}
	o.Cells = cmp.Or(o.Cells, filepath.Join(o.Dir, "cells"))
	o.Runs.Each = cmp.Or(o.Runs.Each, paperRuns)
	o.EvalEvery.Each = cmp.Or(o.EvalEvery.Each, 10)
	o.Seed = cmp.Or(o.Seed, 1)
	if err := o.Config.fill(); err != nil {
		return nil, fmt.Errorf("reproduce: %w", err)
	}
	if o.Compute != "" && !slices.Contains(Selections(), string(o.Compute)) {
		return nil, fmt.Errorf("reproduce: compute %q: want one of %s", o.Compute, strings.Join(Selections(), ", "))
	}
	for k, spec := range o.Data {
		if slices.Contains(o.Data[:k], spec) {
			return nil, fmt.Errorf("reproduce: data set %s is given twice", spec)
		}
	}
	for name, p := range map[string]PerData{"runs": o.Runs, "mini-batches between two scores": o.EvalEvery} {
		if err := p.check(o.Data); err != nil {
			return nil, fmt.Errorf("reproduce: %s: %w", name, err)
		}
	}
	if err := os.MkdirAll(o.Dir, 0o777); err != nil { // before long work
		return nil, fmt.Errorf("reproduce: the folder of the results: %w", err)
	}
	if o.Open == nil {
		o.Open = func(ctx context.Context, spec string) (*datasets.Data, error) {
			return datasets.Open(ctx, spec, o.DataOptions)
		}
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	p, err := PaperNumbers()
	return &runner{
		Options: o, cells: cells{dir: o.Cells, program: o.Program}, paper: p,
		chosen: map[string]string{}, settled: map[string]*cell{},
	}, err
}

// follows reports whether this process only computes cells for rank 0.
func (r *runner) follows() bool { return r.Ranks != nil && r.Ranks.Rank() > 0 }

// plan chooses the data sets of experiments and lists their cells.
func (r *runner) plan(ctx context.Context, experiments []Experiment) ([]task, error) {
	var work []task
	for _, e := range experiments {
		data, err := r.dataOf(ctx, e)
		if err != nil {
			return nil, err
		}
		if len(data) == 0 && len(experiments) == 1 {
			data = r.Data // asked for by name: the paper lacks these data sets here
		}
		t := task{e, data, e.make(r, data, new(Report))}
		if len(t.keys) == 0 && len(experiments) == 1 {
			return nil, errors.New("reproduce: no method of the table can run")
		}
		work = append(work, t)
	}
	return work, nil
}

// compute makes sure that all cells have a result, data set by data set, and in a data set
// seed by seed, so that a stopped run has something of every table. Runs of full batch with
// three layers, which take as long as all others together, come last.
//
// On several ranks each first computes every K-th cell. Rank 0 then goes through all cells: it
// computes the times, while no other rank works beside it, and cells that no rank has left.
func (r *runner) compute(ctx context.Context, work []task) (err error) {
	defer func() { err = cmp.Or(err, r.close()) }()
	var keys []key
	var specs []string
	for _, t := range work {
		keys, specs = append(keys, t.keys...), append(specs, t.data...)
	}
	keys = distinct(keys)
	slices.SortStableFunc(keys, func(a, b key) int {
		return cmp.Or(a.last()-b.last(), slices.Index(specs, a.Data)-slices.Index(specs, b.Data), cmp.Compare(a.Seed, b.Seed))
	})
	if r.Ranks != nil && r.Ranks.Size() > 1 {
		var mine []key
		for k, one := range slices.DeleteFunc(slices.Clone(keys), func(k key) bool { return k.Kind.timed() }) {
			if k%r.Ranks.Size() == r.Ranks.Rank() {
				mine = append(mine, one)
			}
		}
		if _, err := r.settle(ctx, mine); err != nil {
			return err
		}
		if err := r.Ranks.Barrier(ctx); err != nil || r.follows() {
			return err
		}
	}
	for waiting := 0; ; {
		taken, err := r.settle(ctx, keys)
		if err != nil || len(taken) == 0 {
			return err
		}
		if len(taken) != waiting {
			waiting = len(taken)
			r.log(fmt.Sprintf("waiting for the cells that other processes compute: %d", waiting))
		}
		keys = taken
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// settle keeps the results of cells, or the reason why a cell has none. It returns the cells
// that other processes compute.
func (r *runner) settle(ctx context.Context, keys []key) (taken []key, err error) {
	r.pace.start(keys)
	for _, k := range keys {
		one, err := r.cell(ctx, k)
		switch {
		case errors.Is(err, rundir.ErrLocked):
			taken = append(taken, k)
		case errors.Is(err, memory.ErrTooLarge):
			r.settled[k.id()] = &cell{failed: err}
			r.log(fmt.Sprintf("%s: left out: %v", k, err))
		case err != nil:
			return nil, err
		case one != nil:
			r.settled[k.id()] = one
			r.pace.took(one.Seconds)
		}
		r.pace.next()
	}
	return taken, nil
}

// cell loads a cell, or else computes and saves it. It is nil if the cell is missing and not
// selected. The error is rundir.ErrLocked if another process computes the cell. A timing of
// another machine counts only if nothing is computed.
func (r *runner) cell(ctx context.Context, k key) (*cell, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	compute := r.Compute.of(k.Kind)
	if there, err := r.cells.has(k.Data); err != nil || !there && !compute { // the data need not be opened
		return nil, err
	}
	if err := r.open(ctx, k.Data); err != nil {
		return nil, err
	}
	k.Fingerprint = r.fingerprint
	own := compute && k.Kind.timed()
	one, err := r.cells.load(k, own)
	if one != nil || err != nil || !compute {
		return one, err
	}
	release, err := r.cells.claim(k)
	if err != nil {
		return nil, err
	}
	defer release()
	// The process that had the claim before may have saved the cell.
	if one, err = r.cells.load(k, own); one != nil || err != nil {
		return one, err
	}
	start := time.Now()
	result, err := r.result(ctx, k)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k, err)
	}
	if one, err = r.cells.save(k, time.Since(start).Seconds(), result); err != nil {
		return nil, err
	}
	line := fmt.Sprintf("%s, seed %d, %.1f s", k, k.Seed, one.Seconds)
	if text, ok := one.result.(fmt.Stringer); ok {
		line += ": " + text.String()
	}
	r.log(line)
	return one, os.RemoveAll(r.cells.folder(k)) // a stop before this loses nothing
}

// result computes a cell from the open data.
func (r *runner) result(ctx context.Context, k key) (any, error) {
	switch k.Kind {
	case describing:
		return datasets.Describe(r.data), nil
	case training:
		return r.train(ctx, k)
	case regressing:
		return r.regress(ctx, k)
	case erring:
		return r.errors(ctx, k)
	case sampling:
		return r.timeSampling(ctx, k)
	case stepping:
		return r.timeSteps(ctx, k)
	case scaling:
		return r.scale(ctx, k)
	case comparing:
		return k.Published.Compare(ctx, r.data)
	}
	return r.featuresAlone(ctx, k)
}

// log reports a line, after the number of cells done and the time left.
func (r *runner) log(line string) { r.Log(r.pace.String() + line) }

// open opens a data set. Only one is in memory at a time.
func (r *runner) open(ctx context.Context, spec string) error {
	if r.spec == spec && r.data != nil {
		return nil
	}
	if err := r.close(); err != nil {
		return err
	}
	data, err := r.Options.Open(ctx, spec)
	if err != nil {
		return err
	}
	if err := isOriginal(spec, data); err != nil {
		return errors.Join(err, data.Close())
	}
	r.spec, r.data, r.fingerprint = spec, data, train.Fingerprint(data)
	return nil
}

// close closes the open data set, if there is one.
func (r *runner) close() error {
	data := r.data
	r.spec, r.data, r.exact = "", nil, nil
	if data == nil {
		return nil
	}
	return data.Close()
}

// report makes the report of one experiment from the results.
func (r *runner) report(t task) *Report {
	report := &Report{
		Experiment: t.Name, Title: t.Title, Source: r.paper.Source, Machine: machine.Describe(), Caption: r.caption(t), Made: r.provenance(t.keys),
		Settings: map[string]any{
			"data": t.data, "runs": r.Runs.String(), "eval_every": r.EvalEvery.String(), "seed": r.Seed, "batch": r.Batch, "hidden": r.Hidden,
			"max_batches": r.MaxBatches, "patience": r.Patience, "samples": r.Samples, "setting": r.Setting,
		},
	}
	var words []string
	partly := ""
	for _, spec := range t.data {
		own := slices.DeleteFunc(slices.Clone(t.keys), func(k key) bool { return k.Data != spec })
		there, missing := r.count(own)
		words = append(words, fmt.Sprintf("%s %d of %d", columnName(spec), there, len(own)))
		if there < len(own) {
			report.missing = append(report.missing, spec)
		}
		if slices.ContainsFunc(missing, func(k key) bool { return !k.Kind.timed() }) {
			report.unfinished = append(report.unfinished, spec)
			if there > 0 {
				partly = " [n=K] marks a number from too few runs: K of them."
			}
		}
	}
	if t.twins {
		report.Source = "" // their figures have sources
	}
	t.make(r, t.data, report)
	for k := range report.Rows {
		row := &report.Rows[k]
		if row.Runs > 0 {
			row.Of = r.Runs.of(row.Dataset)
		}
		if row.Runs < row.Of {
			row.Range, row.Why = "", ""
		}
	}
	switch there, missing := r.count(t.keys); {
	case len(missing) == 0:
	case there == 0 && len(missing) == 1:
		report.Caption = "**Not complete.** No cell is there yet."
	case there == 0:
		report.Caption = fmt.Sprintf("**Not complete.** No cell of %d is there yet.", len(missing))
	default:
		report.Caption = "**Not complete.** Cells: " + strings.Join(words, ", ") + "." + partly + " " + report.Caption
	}
	for _, c := range r.paper.claims {
		if c.Rules == nil && c.Tables[0] == t.Name {
			report.Notes = append(report.Notes, fmt.Sprintf("%s, not judged here: %s", c.Where, c.Text))
		}
	}
	for _, k := range t.keys {
		if err := r.failed(k); err != nil {
			note := fmt.Sprintf("%s is left out: %v", k, err)
			if !slices.Contains(report.Notes, note) { // once for all runs
				report.Notes = append(report.Notes, note)
			}
		}
	}
	return report
}

// distinct returns keys without repetitions.
func distinct(keys []key) []key {
	known := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(keys), func(k key) bool {
		id := k.id()
		again := known[id]
		known[id] = true
		return again
	})
}

// count returns the number of cells that are there or too large for the memory, and the
// others.
func (r *runner) count(keys []key) (there int, missing []key) {
	for _, k := range keys {
		if r.settled[k.id()] == nil {
			missing = append(missing, k)
		}
	}
	return len(keys) - len(missing), missing
}

// provenance lists the machines and programs that computed cells, with the days.
func (r *runner) provenance(keys []key) []string {
	days := map[string][]string{}
	var origins []string
	for _, k := range keys {
		one := r.settled[k.id()]
		if one == nil || one.failed != nil {
			continue
		}
		origin := one.Made.Machine.String()
		if one.Made.Program != "" {
			origin = "program " + one.Made.Program + ", " + origin
		}
		if days[origin] == nil {
			origins = append(origins, origin)
		}
		days[origin] = append(days[origin], one.Made.Date)
	}
	for k, origin := range origins {
		span := slices.Min(days[origin])
		if last := slices.Max(days[origin]); last != span {
			span += " to " + last
		}
		origins[k] = fmt.Sprintf("%s, %s, %s", counted(len(days[origin]), "cell"), span, origin)
	}
	return origins
}

// counted is a number of things in words.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
