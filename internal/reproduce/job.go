package reproduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/study"
)

// kind is the kind of a cell's result.
type kind string

const (
	describing kind = "data"       // *datasets.Info
	training   kind = "train"      // *trainResult
	regressing kind = "regression" // *regressionResult
	erring     kind = "error"      // *study.ErrorTable
	sampling   kind = "sampling"   // *timeResult
	stepping   kind = "step"       // *timeResult
	scaling    kind = "scaling"    // *scalingResult
	comparing  kind = "figures"    // *[]datasets.Comparison
	featuring  kind = "features"   // *study.FeaturesTable
)

// timed reports whether a cell of this kind holds times, and so depends on the machine and
// its other work.
func (k kind) timed() bool { return k == sampling || k == stepping || k == scaling }

// job is the smallest unit of long work: the cell of its result.
type job struct {
	kind    kind
	spec    string
	method  string
	samples []int
	layers  int
	run     int
}

// key is equal for equal jobs only.
func (j job) key() string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%v\x00%d\x00%d", j.kind, j.spec, j.method, j.samples, j.layers, j.run)
}

// likeness lists groups of cells that take about as long, the closest group first.
func (j job) likeness() []string {
	data := string(j.kind) + "\x00" + j.spec
	return []string{fmt.Sprintf("%s\x00%s\x00%d", data, j.method, j.layers), data, string(j.kind)}
}

// last orders the jobs that take longest after all others.
func (j job) last() int {
	if j.kind == regressing && j.method == fullMethod {
		return 1
	}
	return 0
}

// String describes the job for a reader.
func (j job) String() string {
	words := []string{string(j.kind), j.spec}
	if j.method != "" {
		words = append(words, j.method)
	}
	if len(j.samples) > 0 {
		words = append(words, sizesText(j.samples))
	}
	return strings.Join(words, " ")
}

// do returns the result of a cell: it loads the cell, or computes it.
func (r *runner) do(ctx context.Context, j job) (any, error) {
	if !r.Compute.of(j.kind) {
		// Without any cell of the data set it need not be opened.
		if f, err := r.cells.file(j.spec); err != nil || len(f.byName) == 0 {
			return nil, cmp.Or(err, errMissing)
		}
	}
	if _, err := r.open(ctx, j.spec); err != nil {
		return nil, err
	}
	switch j.kind {
	case describing:
		return r.describe(ctx, j)
	case training:
		return r.train(ctx, j)
	case regressing:
		return r.regress(ctx, j)
	case erring:
		return r.errors(ctx, j)
	case sampling, stepping:
		return r.time(ctx, j)
	case scaling:
		return r.scale(ctx, j)
	case comparing:
		return r.figures(ctx, j)
	case featuring:
		return r.featuresAlone(ctx, j)
	}
	return nil, fmt.Errorf("reproduce: no such kind of cell: %q", j.kind)
}

// checkResult reports a cell's result with numbers missing or out of range.
func checkResult(result any) error {
	complete := true
	switch result := result.(type) { // scores and times may be NaN
	case *datasets.Info:
		complete = result.Nodes > 0
	case *trainResult:
		complete = result.Metric != "" && !(result.Test < 0) && !(result.Test > 1) && len(result.Curve) > 0
	case *regressionResult:
		complete = len(result.Layers) > 0 && result.Norms != nil
	case *study.ErrorTable:
		complete = len(result.Rows) > 0
	case *timeResult:
		complete = result.N > 0 && !(result.Mean <= 0) && !(result.Median <= 0)
	case *scalingResult:
		complete = result.MaxDegree > 0 && len(result.Depths) > 0 && len(result.Graphs) > 0 // a small graph has no sizes
	case *[]datasets.Comparison:
		complete = len(*result) > 0
	case *study.FeaturesTable:
		complete = len(result.Rows) > 0
	}
	if !complete {
		return errors.New("a number of the result is missing or out of range")
	}
	return nil
}

// resultOf returns the result of a cell, or nil if the cell was too large for the
// memory.
func resultOf[T any](r *runner, j job) *T {
	result, _ := r.results[j.key()].(*T)
	return result
}

// resultsOf returns the results of cells, without those that were too large for the
// memory.
func resultsOf[T any](r *runner, jobs []job) []*T {
	var results []*T
	for _, j := range jobs {
		if result := resultOf[T](r, j); result != nil {
			results = append(results, result)
		}
	}
	return results
}

// runsOf lists the runs of a job that differ in their seeds.
func (r *runner) runsOf(j job) []job {
	var jobs []job
	for j.run = range r.Runs.of(j.spec) {
		jobs = append(jobs, j)
	}
	return jobs
}
