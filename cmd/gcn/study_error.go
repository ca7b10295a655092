package main

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

// errorStudy is one execution of "gcn study approx-error".
type errorStudy struct {
	studyOptions
	pilotOptions
	fs             *pflag.FlagSet
	methods        wordList
	sizes          intList
	repeats, draws int
}

func newStudyErrorCommand() *cobra.Command {
	e := &errorStudy{
		methods: wordList{"fastgcn", "ladies", "ladies-flat", "ladies-debiased", "ladies-flat-debiased"},
		sizes:   study.PaperSizes(),
	}
	cmd := &cobra.Command{
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
		Args: noArguments,
		RunE: checked(e.check, e.do),
	}
	e.studyOptions.flags(cmd, true)
	fs := cmd.Flags()
	fs.Var(&e.methods, "methods", "sampling methods")
	fs.Var(&e.sizes, "samples", "sample sizes, one point of the curves for each")
	fs.IntVar(&e.repeats, "repeats", 200, "mini-batches")
	fs.IntVar(&e.draws, "draws", 2, "draws from each mini-batch; two are enough to separate bias and variance")
	e.pilotOptions.flags(cmd)
	e.fs = fs
	complete(cmd, "methods", contenderNames)
	return cmd
}

func (e *errorStudy) check() error {
	e.pilots = e.given()
	if err := cmp.Or(e.studyOptions.check(), e.pilotOptions.check(e.fs, &e.studyOptions)); err != nil {
		return err
	}
	if e.given() && !e.fs.Changed("methods") {
		e.methods = wordList{"ladies-flat-debiased", "ladies-cv"}
	}
	if err := checkContenders(e.methods); err != nil {
		return err
	}
	for _, name := range e.methods {
		if study.SamplesChange(name) && !e.given() {
			return usagef("--methods %s: it samples the change since earlier activations: add --ages, such as --ages 0,10,50", name)
		}
	}
	return cmp.Or(e.sizes.check(), atLeast("repeats", e.repeats, 2), atLeast("draws", e.draws, 2))
}

func (e *errorStudy) do(cmd *cobra.Command, _ []string) error {
	s, err := e.open(cmd.Context(), cmd.Flags())
	if err != nil {
		return err
	}
	var hw *graph.Features
	var undropped *graph.Features
	var histories []study.History
	if e.given() {
		// Without a mask, the activations of age 0 are the current ones.
		given := e.ages
		e.ages = append(slices.Clip(given), 0)
		hw, histories, err = e.products(cmd.Context(), s, &e.studyOptions)
		e.ages = given
		if err == nil {
			undropped, histories = histories[len(given)].Product, histories[:len(given)]
		}
	} else {
		hw, err = e.product(cmd.Context(), s)
	}
	if err != nil {
		return err
	}
	p, train := s.data.Laplacian(), s.data.Split.Train
	methods, err := study.Contenders(e.methods, p, train)
	if err != nil {
		return err
	}
	t, err := study.ApproxError{
		Laplacian: p, Product: hw, Nodes: train, Methods: methods, Sizes: e.sizes,
		Batch: e.batch, Repeats: e.repeats, Draws: e.draws, Seed: e.seed, Histories: histories, Undropped: undropped,
		Progress: everySeconds(cmd.ErrOrStderr(), "mini-batches"),
	}.Run(cmd.Context())
	if err != nil {
		return err
	}
	return e.finish(cmd, s, "approx-error", t)
}

// contenderNames lists the names that study.ContenderByName knows.
func contenderNames() []string {
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

// checkContenders returns a usage error of --methods unless all names are known.
func checkContenders(names []string) error {
	for _, name := range names {
		if err := oneOf("methods", name, contenderNames()); err != nil {
			return err
		}
	}
	return nil
}
