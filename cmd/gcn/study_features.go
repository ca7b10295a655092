package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// featuresStudy is one execution of "gcn study features".
type featuresStudy struct {
	data   string
	out    string
	runs   int
	seed   uint64
	asJSON bool
}

func newStudyFeaturesCommand() *cobra.Command {
	f := new(featuresStudy)
	cmd := &cobra.Command{
		Use:   "features",
		Short: "Measure how well the features predict the labels without the graph",
		Long: `Train the paper's model on the data without edges, by the paper's protocol. The
model is then a perceptron with two hidden layers of 256 and a classifier. The
difference from the score of gcn train is the graph's part in it.`,
		Example: `  gcn study features
  gcn study features --data synth:arxiv --runs 3 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := atLeast("runs", f.runs, 1); err != nil {
				return err
			}
			return f.do(cmd)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.data, "data", defaultData, "data `SPEC`; see gcn datasets list")
	fs.IntVar(&f.runs, "runs", 1, "training runs, with seeds seed, seed+1, …")
	fs.Uint64Var(&f.seed, "seed", 1, "first seed")
	fs.StringVar(&f.out, "out", "", "folder `DIR` for the CSV and JSON files (default: one under studies/)")
	addJSONFlag(cmd, &f.asJSON)
	complete(cmd, "data", dataSpecs)
	return cmd
}

func (f *featuresStudy) do(cmd *cobra.Command) error {
	data, err := openData(cmd.Context(), f.data)
	if err != nil {
		return err
	}
	t, err := study.FeaturesAlone{Data: data, Runs: f.runs, Options: train.Options{Seed: f.seed}}.Run(cmd.Context())
	if err != nil {
		return err
	}
	dir := f.out
	if dir == "" {
		dir = filepath.Join("studies", specSlug(f.data))
	}
	if err := study.Save(dir, "features", t); err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if f.asJSON {
		return printJSON(w, struct {
			Dataset string `json:"dataset"`
			*study.FeaturesTable
			Saved string `json:"saved"`
		}{f.data, t, filepath.Join(dir, "features")})
	}
	if err := f.print(w, t); err != nil {
		return err
	}
	return printLine(w, "saved in %s.{csv,json}", filepath.Join(dir, "features"))
}

func (f *featuresStudy) print(w io.Writer, t *study.FeaturesTable) error {
	table := newTable(true)
	table.row("seed", "best valid", "test "+t.Metric, "batches", "")
	for _, r := range t.Rows {
		table.row(r.Seed, fmt.Sprintf("%.4f", r.BestValid), fmt.Sprintf("%.4f", r.Test), r.Batches, "")
	}
	if err := table.print(w); err != nil {
		return err
	}
	if len(t.Rows) == 1 {
		return nil
	}
	return printLine(w, "mean %.4f ± %.4f (standard deviation of the runs)", t.TestMean, t.TestStd)
}
