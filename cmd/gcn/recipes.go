package main

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// recipeFiles holds the shipped recipes, in the format of --config.
//
//go:embed recipes/*.json
var recipeFiles embed.FS

// recipe is a published setting of a model and its training. A recipe names no data.
type recipe struct {
	Name    string          `json:"name"`
	Source  string          `json:"source"`
	Differs string          `json:"differs"` // from the source
	Options json.RawMessage `json:"options"` // the file
}

// recipes returns the shipped recipes.
func recipes() []recipe {
	const (
		tuned = "Luo et al. 2024, arXiv:2406.08993, and its program, "
		ogb   = "Hu et al. 2020, arXiv:2005.00687, and OGB's program, GCN for ogbn-arxiv"
		sage  = "; SAGE's mean over the neighbours is the normalised Laplacian here"
	)
	const own = "searched here by validation scores on tolokers (Platonov et al. 2023, arXiv:2302.11640), see docs/recipes.md"
	list := []recipe{
		{Name: "paper", Source: "Chen et al., TMLR 2023: the paper's experiments, and its program",
			Differs: "docs/paper.md lists the differences; the paper also trains with other methods and samples"},
		{Name: "ogb-arxiv-gcn", Source: ogb,
			Differs: "BatchNorm's moments are of the nodes that the training nodes read, there of all; a score every 10 updates"},
		{Name: "ogb-arxiv-gcn-sampled", Source: ogb,
			Differs: "500 updates as there, but from sampled mini-batches, not full ones; layer norm in place of BatchNorm, whose moments would be of the drawn nodes; a score every 10 updates"},
		{Name: "tuned-arxiv-gcn", Source: tuned + "GCN for ogbn-arxiv",
			Differs: "2000 updates as there, but from sampled mini-batches, not full ones; layer norm in place of BatchNorm, as the one before; no dropout of the features in the first residual; a score every 20 updates"},
		{Name: "tuned-arxiv-sage", Source: tuned + "SAGE for ogbn-arxiv",
			Differs: "as tuned-arxiv-gcn; one linear map of a node's own row in place of two" + sage},
		{Name: "tuned-products-gcn", Source: tuned + "GCN for ogbn-products",
			Differs: "3000 updates as there, but from sampled mini-batches, not from 10 random parts; no layer norm between the input layer and the first convolution; a score every 100 updates"},
		{Name: "tuned-products-sage", Source: tuned + "SAGE for ogbn-products",
			Differs: "as tuned-products-gcn, with 10,000 updates" + sage},
		{Name: "heterophilous-gcn", Source: "Platonov et al. 2023, arXiv:2302.11640, and its program, 5 layers (there at most 5, by validation)",
			Differs: "dropout after each activation, there before it; a score every 10 steps"},
		{Name: "heterophilous-tuned-gcn", Source: own,
			Differs: "from the recipe before: 64 hidden units, not 512; ReLU, one linear map a layer, layer norm after the propagation, residual connections from the features; no input layer; 300 steps at 0.01, not 1000 at 0.00003"},
		{Name: "heterophilous-tuned-ladies-cv", Source: own,
			Differs: "as the recipe before, with 1024 nodes sampled in each layer, control variates, and 800 mini-batches of 1024"},
		{Name: "kipf-gcn", Source: "Kipf & Welling 2017, arXiv:1609.02907, and its program; take features with normalize=row",
			Differs: "L2 on the weights of both layers and the biases, there on the first layer's weights; 300 updates, there at most 200; the best of the validation accuracies of every 5 updates, there stopped early by the validation loss"},
	}
	for k := range list {
		list[k].Options, _ = recipeFiles.ReadFile("recipes/" + list[k].Name + ".json") // TestRecipes reads each
	}
	return list
}

func recipeNames() []string {
	var names []string
	for _, r := range recipes() {
		names = append(names, r.Name)
	}
	return names
}

// readRecipe reads a shipped recipe, or a file of options.
func readRecipe(ctx context.Context, name string) (*config, error) {
	for _, r := range recipes() {
		if r.Name == name {
			values, err := parseConfig(r.Options)
			return &config{"recipe " + name, values}, err
		}
	}
	if _, err := os.Stat(name); err != nil && filepath.Ext(name) != ".json" {
		return nil, fmt.Errorf("%w; or name a JSON file of options", oneOf("recipe", name, recipeNames()))
	}
	return readConfig(ctx, name)
}

// applyRecipe gives the options that are neither on the command line nor in --config the
// values of --recipe, and prints these. It returns nil without --recipe.
func (j *trainJob) applyRecipe(ctx context.Context, inFiles ...string) (*config, error) {
	if j.Recipe == "" {
		return nil, nil
	}
	r, err := readRecipe(ctx, j.Recipe)
	if err != nil {
		return nil, err
	}
	j.keepMethod(r)
	sets := r.missing(j.fs)
	if err := r.apply(j.fs, inFiles...); err != nil {
		return nil, err
	}
	j.say("recipe %s sets %s", escape(j.Recipe, ""), escape(optionsText(sets), ""))
	return r, nil
}

// keepMethod removes the file's method if the options name parts of one, its samples if the
// options name a method that counts its samples otherwise, and its interval of refreshes if
// they name a method without.
func (j *trainJob) keepMethod(r *config) {
	method := defaultMethod
	for _, v := range r.values {
		if v.flag == "method" {
			method = v.text
		}
	}
	parts := j.namesParts()
	other := j.fs.Changed("method")
	recount := other && methodNamed(j.Method).Sizes != methodNamed(method).Sizes
	r.values = slices.DeleteFunc(r.values, func(v configValue) bool {
		return v.flag == "method" && parts || v.flag == "samples" && recount || v.flag == "control-every" && (parts || other) && !j.refreshes()
	})
}

// missing returns the options of the file that are not set in fs.
func (c *config) missing(fs *pflag.FlagSet) []configValue {
	var values []configValue
	for _, v := range c.values {
		if flag := fs.Lookup(v.flag); flag != nil && !flag.Changed && !slices.Contains(derivedFields, v.name) {
			values = append(values, v)
		}
	}
	return values
}

// optionsText returns options as they are on a command line.
func optionsText(values []configValue) string {
	var words []string
	for _, v := range values {
		if v.text == "true" {
			words = append(words, "--"+v.flag)
		} else {
			words = append(words, "--"+v.flag, shellWord(v.text))
		}
	}
	if len(words) == 0 {
		return "no option that is not set already"
	}
	return strings.Join(words, " ")
}

func newRecipesCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "recipes",
		Short:   "List the settings of gcn train --recipe, with their sources and options",
		Example: "  gcn recipes\n  gcn train --recipe tuned-arxiv-gcn --data ogbn-arxiv",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"recipes": recipes()})
			}
			t := newTable(false)
			for _, r := range recipes() {
				values, err := parseConfig(r.Options)
				if err != nil {
					return err
				}
				t.row(r.Name, r.Source)
				t.row("", "differs: "+r.Differs)
				t.row("", optionsText(values))
			}
			return t.print(cmd.OutOrStdout())
		},
	}
	addJSONFlag(cmd, &asJSON)
	return cmd
}
