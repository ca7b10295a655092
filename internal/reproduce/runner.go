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
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/train"
)

// All is the name of all Experiments together.
const All = "all"

// runner is one call of Run.
type runner struct {
	Options
	base  run.Settings      // of all runs
	other map[string]string // options of base that are not the paper's

	cells *cells
	paper *Numbers

	spec        string // of data
	data        *datasets.Data
	fingerprint string             // of data
	exact       *layers.ExactInput // of data; nil: not needed yet

	paperData bool // Data are the paper's data sets

	settled map[string]*cell // by the key's id
	asked   []key            // cells that an experiment has asked for

	place string // of the current cell among all
}

// task is one experiment on its data sets.
type task struct {
	Experiment
	data []string // SPECs
	keys []key
}

// Run makes one of the Experiments, by its name or its alias, or All. It does not compute the
// cells that are there already. Cells that several tables share are computed once, data set by
// data set, so that each data set is opened once. When ctx ends, Run returns ctx's error, and
// finished cells are kept. Processes that share Cells, on a file system in common, share the work.
func Run(ctx context.Context, name string, o Options) (*Results, error) {
	experiments := slices.DeleteFunc(Experiments(), func(e Experiment) bool { return name != All && name != e.Name && name != cmp.Or(e.Alias, e.Name) })
	if len(experiments) == 0 {
		return nil, fmt.Errorf("reproduce: unknown table or figure %q", name)
	}
	r, err := newRunner(ctx, o)
	if err != nil {
		return nil, err
	}
	work, err := r.plan(ctx, experiments)
	if err != nil {
		return nil, err
	}
	var keys []key
	for _, t := range work {
		keys = append(keys, t.keys...)
	}
	keys = distinct(keys)
	if err := errors.Join(r.compute(ctx, keys), r.close()); err != nil {
		return nil, err
	}
	if len(r.settled) == 0 && r.Compute == ComputeNone && name == All {
		return nil, fmt.Errorf("reproduce: %s has no cell of this command, so results.md is not written; --compute all computes the cells", r.cells.dir)
	}
	all := &Results{
		Date: time.Now().UTC().Format(time.DateOnly), Machine: machine.Describe(), Source: r.paper.Source, Made: r.provenance(keys),
		There: len(keys) - len(r.missing(keys)), Cells: len(keys),
	}
	for _, t := range work {
		all.Reports = append(all.Reports, r.report(t))
	}
	all.Claims = r.paper.judge(all.Reports)
	if name != All {
		all.Reports[0].Claims = all.Claims
	}
	return all, all.readPreface(r.cells.dir)
}

func newRunner(ctx context.Context, o Options) (*runner, error) {
	if o.Dir == "" {
		return nil, errors.New("reproduce: no folder for the results")
	}
	settings, other, err := o.settings(ctx)
	if err != nil {
		return nil, err
	}
	for k, spec := range o.Data {
		if slices.Contains(o.Data[:k], spec) {
			return nil, fmt.Errorf("reproduce: data set %s is given twice", spec)
		}
	}
	if err := os.MkdirAll(o.Dir, 0o777); err != nil { // before long work
		return nil, fmt.Errorf("reproduce: the folder of the results: %w", err)
	}
	r := &runner{
		Options: o, base: settings, other: other,
		cells: newCells(cmp.Or(o.Cells, filepath.Join(o.Dir, "cells")), o.Program), settled: map[string]*cell{},
	}
	r.paper, err = PaperNumbers()
	return r, err
}

// plan chooses the data sets of experiments and lists their cells.
func (r *runner) plan(ctx context.Context, experiments []Experiment) (work []task, err error) {
	if r.paperData = len(r.Data) == 0; r.paperData {
		if r.Data, err = paperData(ctx, experiments, r.DataOptions); err != nil {
			return nil, err
		}
	}
	for _, e := range experiments {
		data := r.dataOf(e)
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
// Cells that other processes compute come last: it waits for them.
func (r *runner) compute(ctx context.Context, keys []key) error {
	keys = slices.Clone(keys)
	last := func(k key) int {
		if k.Kind == regressionCell && k.Method == fullMethod {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(keys, func(a, b key) int {
		return cmp.Or(last(a)-last(b), slices.Index(r.Data, a.Data)-slices.Index(r.Data, b.Data), cmp.Compare(a.Seed, b.Seed))
	})
	taken, err := r.settle(ctx, keys)
	if err == nil && r.Barrier != nil {
		if err = r.Barrier(ctx); err == nil {
			taken, err = r.settle(ctx, taken)
		}
	}
	for waiting := 0; err == nil && len(taken) > 0; {
		if len(taken) != waiting {
			waiting = len(taken)
			r.Log(fmt.Sprintf("waiting for the cells that other processes compute: %d", waiting))
		}
		select {
		case <-ctx.Done(): // settle returns its error
		case <-time.After(time.Second):
		}
		taken, err = r.settle(ctx, taken)
	}
	return err
}

// settle keeps the results of cells, or the reason why a cell has none. It returns the cells
// that other processes compute.
func (r *runner) settle(ctx context.Context, keys []key) (taken []key, err error) {
	for at, k := range keys {
		r.place = fmt.Sprintf("[cell %d of %d] ", at+1, len(keys))
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
		}
	}
	return taken, nil
}

// log reports a line, after the number of cells done.
func (r *runner) log(line string) { r.Log(r.place + line) }

// cell loads a cell, or else computes and saves it. It is nil if the cell is missing and not
// selected. The error is rundir.ErrLocked if another process computes the cell. A timing of
// another machine counts only if nothing is computed, and so does a run with another number of
// mini-batches between two scores.
func (r *runner) cell(ctx context.Context, k key) (*cell, error) {
	if err := errors.Join(ctx.Err(), r.cells.read()); err != nil {
		return nil, err
	}
	compute := r.Compute.of(k.Kind)
	if !compute && !r.cells.data[k.Data] { // the data need not be opened
		return nil, nil
	}
	if err := r.open(ctx, k.Data); err != nil {
		return nil, err
	}
	k.Fingerprint = r.fingerprint
	one, err := r.cells.load(k, compute)
	if one != nil || err != nil || !compute {
		return one, err
	}
	release, err := r.cells.claim(k)
	if err != nil {
		return nil, err
	}
	defer release()
	// The process that had the claim before may have saved the cell.
	if one, err = r.cells.load(k, compute); one != nil || err != nil {
		return one, err
	}
	start := time.Now()
	result, err := k.Kind.work().compute(r, ctx, k)
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
		Experiment: t.Name, Title: t.Title, Source: r.paper.Source, Caption: r.caption(t), Made: r.provenance(t.keys), data: t.data,
	}
	var words []string
	for _, spec := range t.data {
		own := slices.DeleteFunc(slices.Clone(t.keys), func(k key) bool { return k.Data != spec })
		missing := r.missing(own)
		words = append(words, fmt.Sprintf("%s %d of %d", columnName(spec), len(own)-len(missing), len(own)))
	}
	t.make(r, t.data, report)
	for k := range report.Rows {
		row := &report.Rows[k]
		if row.Runs > 0 {
			row.Of = r.base.Runs
		}
		if row.Runs < row.Of {
			row.Range = ""
		}
	}
	if missing := r.missing(t.keys); len(missing) > 0 {
		report.Caption = "**Not complete.** Cells: " + strings.Join(words, ", ") + ". [n=K] marks a number from too few runs: K of them. " + report.Caption
		if len(missing) == len(t.keys) {
			report.Caption = fmt.Sprintf("**Not complete.** None of %s is there yet.", counted(len(missing), "cell"))
		}
	}
	for _, c := range r.paper.claims {
		if c.Rules == nil && c.Tables[0] == t.Name {
			report.Notes = append(report.Notes, fmt.Sprintf("%s, not judged here: %s", c.Where, c.Text))
		}
	}
	for _, k := range t.keys {
		if one := r.settled[k.id()]; one != nil && one.failed != nil {
			note := fmt.Sprintf("%s is left out: %v", k, one.failed)
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

// missing returns the keys of cells that are not there, and not too large for the memory.
func (r *runner) missing(keys []key) []key {
	return slices.DeleteFunc(slices.Clone(keys), func(k key) bool { return r.settled[k.id()] != nil })
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
