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
	// Data are the SPECs of the columns. nil means the paper's data sets: each the
	// original if it is in the cache, else its generated twin. A data set of the
	// paper is left out of the tables and figures in which the paper leaves it out.
	Data    []string
	Methods []string // nil means all of the paper's table; a method that the table lacks gets sizes of 512 a layer, or 2 a node
	Setting string   // sample sizes: "fixed", "increasing" or "both"; "" means both
	Samples []int    // sample sizes, next to the output first; nil means the paper's

	Runs      PerData // seeds; 0 means 5
	EvalEvery PerData // mini-batches between two validation scores; 0 means 10
	Seed      uint64  // of the first run; 0 means 1

	Batch      int // training nodes a mini-batch; 0 means 512
	Hidden     int // 0 means 256
	MaxBatches int // limit of a training run; 0 means 1000
	Patience   int // 0 means 200
	Batches    int // mini-batches to time; 0 means 200 for sampling, 150 for training
	Repeats    int // mini-batches of the matrix error; 0 means 200

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
// the cells that o.Dir already holds. When ctx ends, Run returns ctx's error, and finished
// cells are kept.
func Run(ctx context.Context, name string, o Options) (*Report, error) {
	var names []string
	for _, e := range Known() {
		names = append(names, e.Names()...)
		if !slices.Contains(e.Names(), name) {
			continue
		}
		r, err := newRunner(o)
		if err != nil {
			return nil, err
		}
		work, err := r.plan(ctx, []Experiment{e})
		if err != nil {
			return nil, err
		}
		if err := r.compute(ctx, work); err != nil || r.follows() {
			return nil, err
		}
		report := r.report(work[0])
		report.Claims = append(report.Claims, r.paper.judge([]*Report{report})...)
		return report, nil
	}
	return nil, fmt.Errorf("reproduce: unknown table or figure %q; known: %s", name, strings.Join(names, ", "))
}

// All makes all tables and figures. Cells that several of them share are computed
// once, data set by data set, so that each data set is opened once.
func All(ctx context.Context, o Options) (*Results, error) {
	r, err := newRunner(o)
	if err != nil {
		return nil, err
	}
	work, err := r.plan(ctx, Experiments())
	if err != nil {
		return nil, err
	}
	if err := r.compute(ctx, work); err != nil || r.follows() {
		return nil, err
	}
	if len(r.made) == 0 && r.Compute == ComputeNone {
		return nil, fmt.Errorf("reproduce: %s has no cell of this command, so results.md is not written; --compute all computes the cells", r.Options.Cells)
	}
	all := &Results{Date: time.Now().UTC().Format(time.DateOnly), Machine: machine.Describe(), Source: r.paper.Source}
	var jobs []job
	for _, w := range work {
		all.Reports, jobs = append(all.Reports, r.report(w)), append(jobs, w.jobs...)
	}
	all.Made = r.provenance(jobs)
	all.There, all.Cells = r.counted(jobs)
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
	results map[string]any    // of the cells, by key
	made    map[string]made   // of the cells, by key
	failed  map[string]error  // cells too large for the memory
	taken   []job             // cells that other processes compute
	pace    pace
}

func newRunner(o Options) (*runner, error) {
	if o.Dir == "" {
		return nil, errors.New("reproduce: no folder for the results")
	}
	o.Cells = cmp.Or(o.Cells, filepath.Join(o.Dir, "cells"))
	o.Runs.Each = cmp.Or(o.Runs.Each, paperRuns)
	o.EvalEvery.Each = cmp.Or(o.EvalEvery.Each, 10)
	o.Batch = cmp.Or(o.Batch, 512)
	o.Hidden = cmp.Or(o.Hidden, 256)
	o.MaxBatches = cmp.Or(o.MaxBatches, 1000)
	o.Patience = cmp.Or(o.Patience, 200)
	o.Repeats = cmp.Or(o.Repeats, 200)
	o.Seed = cmp.Or(o.Seed, 1)
	switch {
	case o.Compute != "" && !slices.Contains(Selections(), string(o.Compute)):
		return nil, fmt.Errorf("reproduce: compute %q: want one of %s", o.Compute, strings.Join(Selections(), ", "))
	case !slices.Contains([]string{"", "both", "fixed", "increasing"}, o.Setting):
		return nil, fmt.Errorf("reproduce: setting %q: want fixed, increasing or both", o.Setting)
	case o.Runs.least() < 1 || o.EvalEvery.least() < 1 || o.Batch < 1 || o.Repeats < 2:
		return nil, fmt.Errorf("reproduce: %d runs scored every %d batches of %d, %d repeats: want at least 1, 1, 1 and 2", o.Runs.least(), o.EvalEvery.least(), o.Batch, o.Repeats)
	}
	for k, spec := range o.Data {
		if slices.Contains(o.Data[:k], spec) {
			return nil, fmt.Errorf("reproduce: data set %s is given twice", spec)
		}
	}
	for _, p := range []PerData{o.Runs, o.EvalEvery} {
		if err := p.check(o.Data); err != nil {
			return nil, err
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
		chosen: map[string]string{}, results: map[string]any{}, made: map[string]made{}, failed: map[string]error{},
	}, err
}

// task is one experiment on its data sets.
type task struct {
	Experiment
	data []string // SPECs
	jobs []job
}

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
		c := task{Experiment: e, data: data}
		for _, spec := range data {
			c.jobs = append(c.jobs, e.jobs(r, spec)...)
		}
		if len(c.jobs) == 0 && len(experiments) == 1 {
			return nil, errNoRuns
		}
		work = append(work, c)
	}
	return work, nil
}

// compute makes sure that all cells have a result, data set by data set, and in a data set
// seed by seed, so that a stopped run has something of every table. Runs of full batch with
// three layers, which take as long as all others together, come last.
func (r *runner) compute(ctx context.Context, work []task) error {
	var all []job
	known := map[string]bool{}
	var specs []string
	for _, c := range work {
		for _, j := range c.jobs {
			if key := j.key(); !known[key] {
				known[key] = true
				all = append(all, j)
			}
			if !slices.Contains(specs, j.spec) {
				specs = append(specs, j.spec)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b job) int {
		return cmp.Or(a.last()-b.last(), slices.Index(specs, a.spec)-slices.Index(specs, b.spec), a.run-b.run)
	})
	var failed error
	for j := range r.turns(ctx, all, &failed) {
		err := r.settle(ctx, j)
		switch {
		case errors.Is(err, rundir.ErrLocked):
			r.taken = append(r.taken, j)
			r.log(fmt.Sprintf("%s: another process computes this cell", j))
		case err != nil:
			return cmp.Or(err, r.close())
		}
		r.pace.next()
	}
	if r.follows() { // rank 0 goes through all cells
		r.taken = nil
	}
	if len(r.taken) > 0 && failed == nil {
		r.pace.start(r.taken)
		r.log(fmt.Sprintf("waiting for the cells of other processes: %d", len(r.taken)))
	}
	for k := 0; k < len(r.taken) && failed == nil; {
		switch err := r.settle(ctx, r.taken[k]); {
		case errors.Is(err, rundir.ErrLocked):
			failed = sleep(ctx, time.Second)
		case err != nil:
			failed = err
		default:
			r.pace.next()
			k++
		}
	}
	return cmp.Or(failed, r.close())
}

// settle keeps the result of a cell, or the reason why it has none. The error is
// rundir.ErrLocked if another process computes the cell.
func (r *runner) settle(ctx context.Context, j job) error {
	result, err := r.do(ctx, j)
	switch {
	case errors.Is(err, errMissing):
	case errors.Is(err, memory.ErrTooLarge):
		r.failed[j.key()] = err
		r.log(fmt.Sprintf("%s: left out: %v", j, err))
	case err != nil:
		return err
	default:
		r.results[j.key()] = result
	}
	return nil
}

// sleep waits until a time has passed or ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// log reports a line, after the number of cells done and the time left.
func (r *runner) log(line string) { r.Log(r.pace.String() + line) }

// report makes the report of one experiment from the results.
func (r *runner) report(c task) *Report {
	report := &Report{
		Experiment: c.Name, Title: c.Title, Source: r.paper.Source, Machine: machine.Describe(), Settings: r.settings(c),
	}
	for _, spec := range c.data {
		if there, of, scores := r.count(c, spec); there < of {
			report.missing = append(report.missing, spec)
			if scores > 0 {
				report.unfinished = append(report.unfinished, spec)
			}
		}
	}
	c.fill(r, c, report)
	if f := report.figure; f != nil {
		f.Columns = min(f.Columns, len(f.Panels))
		if len(f.Panels) == 0 {
			report.figure = nil
		}
	}
	for k := range report.Rows {
		if row := &report.Rows[k]; row.Runs > 0 {
			row.Of = r.Runs.of(row.Dataset)
		}
		if row := &report.Rows[k]; row.Runs < row.Of {
			row.Range, row.Why = "", ""
		}
	}
	report.Caption = r.caption(c)
	if there, of := r.counted(c.jobs); there == 0 && of > 0 {
		report.Caption = "**Not complete.** No cell is there yet."
		if of > 1 {
			report.Caption = fmt.Sprintf("**Not complete.** No cell of %d is there yet.", of)
		}
	} else if there < of {
		report.Caption = r.completeness(c) + " " + report.Caption
	}
	report.Made = r.provenance(c.jobs)
	for _, j := range c.jobs {
		if err := r.failed[j.key()]; err != nil {
			note := fmt.Sprintf("%s is left out: %v", j, err)
			if !slices.Contains(report.Notes, note) { // once for all runs
				report.Notes = append(report.Notes, note)
			}
		}
	}
	return report
}

// count returns the number of cells of a data set that are there or too large for the
// memory, of all its cells, and of the missing cells that are not times.
func (r *runner) count(c task, spec string) (there, of, scores int) {
	for _, j := range c.jobs {
		if j.spec != spec {
			continue
		}
		of++
		switch {
		case r.results[j.key()] != nil || r.failed[j.key()] != nil:
			there++
		case !j.kind.timed():
			scores++
		}
	}
	return there, of, scores
}

// counted returns the number of different cells that are there or too large for the
// memory, and of all.
func (r *runner) counted(jobs []job) (there, of int) {
	known := map[string]bool{}
	for _, j := range jobs {
		key := j.key()
		if known[key] {
			continue
		}
		known[key] = true
		of++
		if r.results[key] != nil || r.failed[key] != nil {
			there++
		}
	}
	return there, of
}

// completeness says which cells of a table are missing.
func (r *runner) completeness(c task) string {
	var words []string
	partly := false
	for _, spec := range c.data {
		there, of, scores := r.count(c, spec)
		partly = partly || scores > 0 && there > 0
		words = append(words, fmt.Sprintf("%s %d of %d", columnName(spec), there, of))
	}
	text := "**Not complete.** Cells: " + strings.Join(words, ", ") + "."
	if partly {
		text += " [n=K] marks a number from too few runs: K of them."
	}
	return text
}

// provenance lists the machines and programs that computed cells, with the days.
func (r *runner) provenance(jobs []job) []string {
	type origin struct {
		program string
		machine machine.Machine
	}
	type span struct {
		first, last string
		n           int
	}
	spans, counted := map[origin]*span{}, map[string]bool{}
	var order []origin
	for _, j := range jobs {
		m, there := r.made[j.key()]
		if !there || counted[j.key()] {
			continue
		}
		counted[j.key()] = true
		o := origin{m.Program, m.Machine}
		if spans[o] == nil {
			spans[o] = &span{first: m.Date, last: m.Date}
			order = append(order, o)
		}
		s := spans[o]
		s.first, s.last, s.n = min(s.first, m.Date), max(s.last, m.Date), s.n+1
	}
	var lines []string
	for _, o := range order {
		s := spans[o]
		if s.first == "" {
			lines = append(lines, cellsText(s.n)+", earlier program")
			continue
		}
		days := s.first
		if s.last != s.first {
			days += " to " + s.last
		}
		program := ""
		if o.program != "" {
			program = ", program " + o.program
		}
		lines = append(lines, fmt.Sprintf("%s, %s%s, %s", cellsText(s.n), days, program, o.machine))
	}
	return lines
}

// cellsText is a number of cells in words.
func cellsText(n int) string {
	if n == 1 {
		return "1 cell"
	}
	return fmt.Sprintf("%d cells", n)
}

// settings are the options that the report shows.
func (r *runner) settings(c task) map[string]any {
	return map[string]any{
		"data": c.data, "runs": r.Runs.String(), "eval_every": r.EvalEvery.String(), "seed": r.Seed, "batch": r.Batch, "hidden": r.Hidden,
		"max_batches": r.MaxBatches, "patience": r.Patience, "samples": r.Samples, "setting": r.Setting,
	}
}

// open returns a data set. Only one is in memory at a time.
func (r *runner) open(ctx context.Context, spec string) (*datasets.Data, error) {
	if r.spec == spec && r.data != nil {
		return r.data, nil
	}
	if err := r.close(); err != nil {
		return nil, err
	}
	data, err := r.Options.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	if err := isOriginal(spec, data); err != nil {
		return nil, errors.Join(err, data.Close())
	}
	r.spec, r.data, r.fingerprint = spec, data, train.Fingerprint(data)
	return data, nil
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

// cell sets result to a cell's result. It loads the cell, or else calls compute,
// which sets result, and saves the cell. A timing of another machine counts only if
// nothing is computed.
func (r *runner) cell(ctx context.Context, j job, settings, result any, words []string, compute func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name, err := r.cells.name(string(j.kind), settings, words...)
	if err != nil {
		return err
	}
	there, err := r.cells.load(j.spec, name, settings, result, !j.kind.timed() || !r.Compute.of(j.kind))
	if err != nil {
		return err
	}
	if there == nil {
		if !r.Compute.of(j.kind) {
			return errMissing
		}
		start := time.Now()
		err := compute()
		if err == nil {
			err = checkResult(result)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", strings.Join(strings.Fields(strings.Join(words, " ")), " "), err)
		}
		if there, err = r.cells.save(j.spec, name, settings, time.Since(start).Seconds(), result); err != nil {
			return err
		}
	}
	r.pace.took(there.Seconds)
	r.made[j.key()] = there.Made
	return nil
}

// errMissing says that a cell is not there and is not selected.
var errMissing = errors.New("reproduce: the cell is missing")

var errNoRuns = errors.New("reproduce: no method of the table can run")
