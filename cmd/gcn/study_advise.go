package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

func newStudyAdviseCommand() *cobra.Command {
	var run string
	var depth, batch, most int
	var target float64
	var seed uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "advise [SPEC]",
		Short: "Recommend a method and sample sizes for a graph, with the reasons",
		Long: `Recommend a layer-wise method and sample sizes for a graph, in under a minute:
for each layer the smallest size whose error is at most --target times what it
estimates, and the method of least error there.

Without --run the input of every layer is taken to be like the features, and its
weight random.`,
		Example: `  gcn study advise synth:arxiv
  gcn study advise npy:mygraph --layers 3 --target 0.3
  gcn study advise --run runs/first --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("study advise takes one SPEC, got %q", args)
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&run, "run", "", "folder `DIR` of a training run, for its data and trained weights")
	fs.IntVar(&depth, "layers", 2, "graph convolutions (with --run: the model's)")
	fs.IntVar(&batch, "batch", 512, "training nodes per mini-batch")
	fs.Float64Var(&target, "target", 0.5, "error aimed at, over what is estimated")
	fs.IntVar(&most, "max-samples", 8192, "largest sample size to consider")
	fs.Uint64Var(&seed, "seed", 1, "seed of everything random")
	addJSONFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, c := range []struct {
			name         string
			value, least int
		}{{"layers", depth, 1}, {"batch", batch, 1}, {"max-samples", most, 1}} {
			if err := atLeast(c.name, c.value, c.least); err != nil {
				return err
			}
		}
		if !(target > 0) {
			return usagef("--target %v: want a positive number", target)
		}
		o := studyOptions{data: defaultData, run: run, seed: seed}
		if len(args) == 1 {
			o.data = args[0]
			if run != "" {
				return usagef("study advise takes a SPEC or --run, not both")
			}
		}
		s, err := o.open(cmd.Context(), fs)
		if err != nil {
			return err
		}
		a := study.Advise{Laplacian: s.data.Laplacian(), Nodes: s.data.Split.Train, Layers: depth, Batch: batch, Target: target, Most: most, Seed: seed}
		if s.model != nil {
			a.Layers = len(s.model.Convolutions)
			err = study.Products(cmd.Context(), s.model, a.Laplacian, s.data.Features, func(_ int, hw *graph.Features) error {
				a.Products = append(a.Products, hw)
				return nil
			})
			slices.Reverse(a.Products)
		} else {
			a.Products, err = randomProduct(s, seed)
		}
		if err != nil {
			return err
		}
		advice, err := a.Run(cmd.Context())
		if err != nil {
			return err
		}
		w := cmd.OutOrStdout()
		if asJSON {
			return printJSON(w, struct {
				Dataset string `json:"dataset"`
				Weights string `json:"weights"`
				*study.Advice
			}{s.spec, s.weights(), advice})
		}
		samples := intList(advice.Samples)
		t := newTable(false)
		t.row("dataset", s.spec)
		t.row("method", advice.Method)
		if len(samples) > 0 {
			t.row("samples", samples.String())
		}
		if err := t.print(w); err != nil {
			return err
		}
		fmt.Fprintf(w, "because\n  - %s\n", strings.Join(advice.Reasons, "\n  - "))
		command := "gcn train --data '" + s.spec + "' --method " + advice.Method
		if len(samples) > 0 {
			command += " --samples " + samples.String()
		} else {
			command += fmt.Sprintf(" --layers %d", a.Layers)
		}
		_, err = fmt.Fprintln(w, command)
		return err
	}
	return cmd
}

// randomProduct returns HW of the features and a random weight, of few columns:
// enough for norms to be right to some per cent.
func randomProduct(s *subject, seed uint64) ([]*graph.Features, error) {
	const columns = 64
	x := s.data.Features
	weight := make([]float32, x.Cols*columns)
	layers.GlorotUniform(rand.New(samplers.Stream(seed, 0, 0)), x.Cols, columns, weight, nil)
	hw, err := study.Product(x, weight)
	return []*graph.Features{hw}, err
}
