package main

import (
	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/samplers"
)

func newMethodsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "methods",
		Short:   "List the sampling methods, with a sentence and the source each",
		Example: "  gcn methods",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"methods": methodRows()})
			}
			t := newTable(false)
			for _, m := range samplers.Methods() {
				name := m.Name
				if name == defaultMethod {
					name += " (default)"
				}
				t.row(name, m.Summary)
				t.row("", m.Source)
			}
			return t.print(cmd.OutOrStdout())
		},
	}
	addJSONFlag(cmd, &asJSON)
	return cmd
}

type methodRow struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Source  string `json:"source"`
	Default bool   `json:"default,omitempty"`
}

func methodRows() []methodRow {
	var rows []methodRow
	for _, m := range samplers.Methods() {
		rows = append(rows, methodRow{m.Name, m.Summary, m.Source, m.Name == defaultMethod})
	}
	return rows
}

func methodNames() []string {
	var names []string
	for _, m := range samplers.Methods() {
		names = append(names, m.Name)
	}
	return names
}

// checkMethod is a usage error of the given flag that lists the methods, unless
// name is one.
func checkMethod(flag, name string) error { return oneOf(flag, name, methodNames()) }

// usesSamples tells whether a method has a use for --samples.
func usesSamples(name string) bool {
	for _, m := range samplers.Methods() {
		if m.Name == name {
			return m.Sizes != ""
		}
	}
	return true
}

// usedSamples returns the sample sizes that the method uses: none where it has
// no use for them.
func (o *samplingOptions) usedSamples() intList {
	if usesSamples(o.Method) {
		return o.Samples
	}
	return intList{}
}

// methodText is a method with its sample sizes, for tables.
func methodText(method string, samples intList) string {
	if len(samples) == 0 {
		return method
	}
	return method + ", samples " + samples.String()
}

// newSampler builds the sampler that the options name, one size a layer, and
// returns what to call it: a method's name, or its parts where no method has
// them.
func (o *samplingOptions) newSampler(data *datasets.Data, sizes []int) (samplers.Sampler, string, error) {
	base, err := samplers.ByName(o.Method, samplers.Config{
		Laplacian: data.Laplacian(), Train: data.Split.Train, Layers: len(sizes), Sizes: sizes,
	})
	if err != nil || !o.namesParts() {
		return base, o.Method, err
	}
	method, ok := base.(*samplers.LayerWise)
	if !ok {
		return nil, "", usagef("--method %s has no parts to replace: leave out --importance, --flat, --draw, --weight and --population", o.Method)
	}
	parts, err := o.parts(method, data.Nodes())
	if err != nil {
		return nil, "", err
	}
	sampler := &samplers.LayerWise{
		Laplacian: method.Laplacian, Sizes: method.Sizes,
		Importance: parts.importance, Draw: parts.draw, Weight: parts.weight,
	}
	if err := sampler.Validate(); err != nil {
		return nil, "", usageError{err}
	}
	return sampler, parts.name(), nil
}

// samplingParts are the three parts of a layer-wise method.
type samplingParts struct {
	importance samplers.Importance
	draw       samplers.Draw
	weight     samplers.Weight
}

// namesParts tells whether any part of the method is replaced.
func (o *samplingOptions) namesParts() bool {
	return o.Importance != "" || o.Flat != "" || o.Draw != "" || o.Weight != "" || o.Population == populationNodes
}

// parts puts the parts that were named in the place of the method's.
func (o *samplingOptions) parts(method *samplers.LayerWise, nodes int) (samplingParts, error) {
	p := samplingParts{method.Importance, method.Draw, method.Weight}
	family, flat := importanceName(p.importance)
	if o.Importance != "" {
		family = o.Importance
	}
	if o.Flat != "" {
		flat = o.Flat == "true"
	}
	switch family {
	case "fastgcn":
		p.importance = samplers.FastGCN{Flat: flat}
	case "ladies":
		p.importance = samplers.LADIES{Flat: flat}
	}
	switch o.Draw {
	case "wrs":
		p.draw = samplers.WithoutReplacement{}
	case "replacement":
		p.draw = samplers.WithReplacement{}
		if o.Weight == "" {
			p.weight = samplers.Naive{} // unbiased with replacement; debiased weights are for wrs
		}
	}
	switch o.Weight {
	case "naive":
		p.weight = samplers.Naive{}
	case "debiased":
		p.weight = samplers.Debiased{}
	}
	if o.Population == populationNodes {
		if _, debiased := p.weight.(samplers.Debiased); !debiased {
			return p, usagef("--population is for debiased weights only")
		}
		p.weight = samplers.Debiased{Population: nodes}
	}
	return p, nil
}

func importanceName(i samplers.Importance) (family string, flat bool) {
	switch i := i.(type) {
	case samplers.FastGCN:
		return "fastgcn", i.Flat
	case samplers.LADIES:
		return "ladies", i.Flat
	}
	return "", false
}

// name returns the name of the method that has these parts, or one made of
// them.
func (p samplingParts) name() string {
	name, flat := importanceName(p.importance)
	if flat {
		name += "-flat"
	}
	if _, replacement := p.draw.(samplers.WithReplacement); replacement {
		name += "-replacement"
	}
	if debiased, ok := p.weight.(samplers.Debiased); ok {
		name += "-debiased"
		if debiased.Population > 0 {
			name += "-nodes"
		}
	}
	return name
}
