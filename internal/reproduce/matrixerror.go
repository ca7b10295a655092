package reproduce

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// errorMethods are the curves of the paper's figure, and the debiased weights
// with the population of the released program.
func errorMethods() []string {
	return []string{"fastgcn", "ladies", "ladies-flat", "ladies-debiased", "ladies-flat-debiased", "ladies-debiased-nodes"}
}

// errorSizes are the sizes of the paper's figure, and two beyond, where LADIES' error
// has turned on more graphs.
func errorSizes() []int { return append(study.PaperSizes(), 4096, 8192) }

// errorSettings is everything that the errors on one data set depend on: the
// training of W, and the study.
type errorSettings struct {
	Training trainSettings `json:"training"`
	Methods  []string      `json:"methods"`
	Sizes    []int         `json:"sizes"`
	Repeats  int           `json:"repeats"`
}

// errorWeights is the training run that W is from: the first of the paper's own
// method at the increasing sizes.
func errorWeights(spec string) job {
	return job{kind: training, spec: spec, method: "ladies-flat-debiased", samples: []int{512, 1024}, layers: 2}
}

// errorJobs lists the training run of W and the errors.
func errorJobs(r *runner, spec string) []job {
	if len(r.errorContenders()) == 0 {
		return nil
	}
	return []job{errorWeights(spec), errorJob(spec)}
}

// errorContenders returns the methods of the options whose error can be measured on
// given mini-batches: not methods that draw their own output nodes or need a history.
func (r *runner) errorContenders() []string {
	if len(r.Methods) == 0 {
		return errorMethods()
	}
	methods := samplers.Methods()
	return slices.DeleteFunc(slices.Clone(r.Methods), func(name string) bool {
		ownOutputs := slices.ContainsFunc(methods, func(m samplers.Method) bool { return m.Name == name && m.OwnOutputs })
		return ownOutputs || study.SamplesChange(name)
	})
}

func errorJob(spec string) job { return job{kind: erring, spec: spec} }

// errors measures the error over the sample size, with W of a training run.
func (r *runner) errors(ctx context.Context, j job) (any, error) {
	methods, sizes := r.errorContenders(), r.Samples
	if len(sizes) == 0 {
		sizes = errorSizes()
	}
	settings := errorSettings{r.trainSettings(errorWeights(j.spec)), methods, sizes, r.Repeats}
	table := new(study.ErrorTable)
	return table, r.cell(ctx, j, settings, table, []string{j.spec}, func() error {
		run := resultOf[trainResult](r, errorWeights(j.spec))
		if slices.ContainsFunc(r.taken, func(t job) bool { return run == nil && t.key() == errorWeights(j.spec).key() }) {
			return rundir.ErrLocked
		}
		if run == nil && r.failed[errorWeights(j.spec).key()] == nil {
			return errMissing
		}
		if run == nil {
			return fmt.Errorf("reproduce: no weight from %s: %w", errorWeights(j.spec), r.failed[errorWeights(j.spec).key()])
		}
		weight := make([]float32, len(run.Weight)/4)
		if _, err := binary.Decode(run.Weight, binary.LittleEndian, weight); err != nil {
			return fmt.Errorf("reproduce: the weight of %s: %w", errorWeights(j.spec), err)
		}
		p := r.data.Laplacian()
		hw, err := study.Product(r.data.Features, weight)
		if err != nil {
			return err
		}
		e := study.ApproxError{Laplacian: p, Product: hw, Nodes: r.data.Split.Train, Sizes: sizes, Batch: r.Batch, Repeats: r.Repeats, Seed: r.Seed}
		for _, name := range methods {
			c, err := study.ContenderByName(name, p, r.data.Split.Train)
			if err != nil {
				return err
			}
			e.Methods = append(e.Methods, c)
		}
		t, err := e.Run(ctx)
		if err != nil {
			return err
		}
		*table = *t
		r.log(fmt.Sprintf("%s: errors of %d methods at %d sizes", j.spec, len(methods), len(sizes)))
		return nil
	})
}

func captionOfErrors(r *runner) string {
	return fmt.Sprintf("Mini-batches of %d, %d repeats, two draws each; W is the first weight of ladies-flat-debiased 512,1024, seed %d; ± is the standard error. "+
		"The paper prints curves up to 2048 nodes, no numbers. ladies-debiased-nodes is our addition: the population of the released program.", r.Batch, r.Repeats, r.Seed)
}

// fillErrors adds the errors, and a panel for each data set.
func fillErrors(r *runner, c task, report *Report) {
	f := &figure.Figure{Title: report.Title, Columns: 3}
	for _, spec := range c.data {
		t := resultOf[study.ErrorTable](r, errorJob(spec))
		if t == nil {
			continue
		}
		panel := figure.Panel{Title: columnName(spec), X: "nodes drawn", Y: "mean error", LogX: true, LogY: true}
		for _, e := range t.Rows {
			report.Rows = append(report.Rows, Row{
				Dataset: spec, Label: e.Method, Method: e.Method, Samples: []int{e.Samples}, Quantity: "‖QPHW − QPSHW‖", N: t.Repeats,
				Mean: e.Mean, Std: e.ErrorSD, SEM: e.SEM,
				line: columnName(spec) + ", " + e.Method, column: strconv.Itoa(e.Samples), bySEM: true,
			})
			at := slices.IndexFunc(panel.Lines, func(s figure.Series) bool { return s.Name == e.Method })
			if at < 0 {
				at = len(panel.Lines)
				panel.Lines = append(panel.Lines, figure.Series{Name: e.Method})
			}
			s := &panel.Lines[at]
			s.X, s.Y, s.Error = append(s.X, float64(e.Samples)), append(s.Y, e.Mean), append(s.Error, e.SEM)
		}
		f.Panels = append(f.Panels, panel)
		report.more = append(report.more, named{c.Name + "-" + slug(spec), t})
	}
	if len(f.Panels) > 0 {
		report.figure = f
	}
}

// slug turns a SPEC into a file name.
func slug(spec string) string {
	words := strings.FieldsFunc(spec, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.ToLower(strings.Join(words, "-"))
}
