package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

// errorStudy are the options of "gcn study approx-error".
type errorStudy struct {
	studyOptions
	Layer   int            `json:"layer" default:"1" range:"[1," with:"run" help:"convolution to study, counted from the input; above 1 needs --run"`
	Methods contenderNames `json:"methods" help:"sampling methods (default: fastgcn and the variants of ladies; with --ages ladies-flat-debiased and ladies-cv)"`
	Samples []int          `json:"samples" range:"[1," help:"sample sizes, one point of the curves for each (default: the paper's)"`
	Repeats int            `json:"repeats" default:"200" range:"[2," help:"mini-batches"`
	Draws   int            `json:"draws" default:"2" range:"[2," help:"draws from each mini-batch; two are enough to separate bias and variance"`
	pilotOptions
}

func newStudyErrorCommand() *cobra.Command {
	e := new(errorStudy)
	return newCommand(&cobra.Command{
		Use:   "approx-error",
		Short: "Measure ‖QPHW − QPSHW‖_F of sampling methods, its bias and its variance",
		Long: `Measure the error of sampling in one propagation, ‖QPHW − QPSHW‖_F, with Q the rows
of a random mini-batch, H a layer's input, W its weight and S the sampling matrix.
All methods get the same mini-batches.

In a row, mean is the mean error, and sem its standard error. bias² + sd² is the mean
squared error. More draws from the same mini-batch average out sd, but not bias.

A debiased method's name followed by "-nodes" counts all nodes of the graph as its
population, as the program released with the paper does.

With --ages the study is about the second convolution of the paper's model, which it
trains for --batches mini-batches with ladies-cv. The methods ladies-cv and vrgcn are
then measured with histories of each age: activations with the parameters
of so many mini-batches before. H has a dropout mask, the history has none, as in training. ladies-cv scales the
noise of the mask as over all neighbours: its error is from QPHW without a mask. With
--exact-input the first convolution has no error.`,
		Example: `  gcn study approx-error --data synth:arxiv
  gcn study approx-error --run runs/first --samples 512,1024,2048,4096 --methods ladies,ladies-debiased,ladies-debiased-nodes
  gcn study approx-error --data synth:demo --repeats 50 --json
  gcn study approx-error --data synth:arxiv --ages 0,10,50,200 --methods ladies-flat-debiased,ladies-cv`,
		RunE: e.do,
	}, e)
}

func (e *errorStudy) check() error {
	if e.Samples == nil {
		e.Samples = study.PaperSizes()
	}
	switch {
	case e.Methods != nil:
	case e.Ages != nil:
		e.Methods = contenderNames{"ladies-flat-debiased", "ladies-cv"}
	default:
		e.Methods = contenderNames{"fastgcn", "ladies", "ladies-flat", "ladies-debiased", "ladies-flat-debiased"}
	}
	for _, name := range e.Methods {
		if study.SamplesChange(name) && e.Ages == nil {
			return usagef("--methods %s: it samples the change since earlier activations: add --ages, such as --ages 0,10,50", name)
		}
	}
	return e.pilotOptions.check()
}

func (e *errorStudy) do(cmd *cobra.Command, _ []string) error {
	if err := e.check(); err != nil {
		return err
	}
	return e.study(cmd, "approx-error", func(s *subject) (_ study.Shown, err error) {
		p := s.data.Laplacian()
		what := study.ApproxError{
			Laplacian: p, Nodes: s.data.Split.Train, Sizes: e.Samples,
			Batch: e.Batch, Repeats: e.Repeats, Draws: e.Draws, Seed: e.Seed,
			Progress: everySeconds(cmd.ErrOrStderr(), "mini-batches"),
		}
		if n := len(e.Ages); n > 0 {
			// Without a mask, the activations of age 0 are the current ones.
			what.Product, what.Histories, err = e.products(cmd.Context(), s, &e.studyOptions, append(slices.Clip(e.Ages), 0))
			if err == nil {
				what.Undropped, what.Histories = what.Histories[n].Product, what.Histories[:n]
			}
		} else {
			what.Product, err = e.product(cmd.Context(), s, e.Layer)
		}
		if err != nil {
			return nil, err
		}
		what.Methods, err = study.Contenders(e.Methods, p, s.data.Split.Train)
		if err != nil {
			return nil, err
		}
		return what.Run(cmd.Context())
	})
}

// contenderNames are names that study.ContenderByName knows, separated by commas.
type contenderNames []string

// Values returns the words that are allowed.
func (contenderNames) Values() []string {
	var names []string
	for _, m := range samplers.Methods() {
		names = append(names, m.Name)
	}
	for _, name := range study.LayerWiseMethods() {
		if study.CountsPopulation(name) {
			names = append(names, name+study.NodesSuffix)
		}
	}
	return names
}
