package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/samplers"
)

func newMethodsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "methods",
		Short:   "List the sampling methods, with a description and a source for each",
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
	Sizes   string `json:"sizes"` // the quantity that --samples counts; "" if the method has no sample size
	Default bool   `json:"default,omitempty"`
}

func methodRows() []methodRow {
	var rows []methodRow
	for _, m := range samplers.Methods() {
		rows = append(rows, methodRow{m.Name, m.Summary, m.Source, m.Sizes, m.Name == defaultMethod})
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

// checkMethod returns a usage error that lists the methods, unless name is one.
func checkMethod(flag, name string) error { return oneOf(flag, name, methodNames()) }

// methodNamed returns the method of that name, or a method without parts if there
// is none.
func methodNamed(name string) samplers.Method {
	for _, m := range samplers.Methods() {
		if m.Name == name {
			return m
		}
	}
	return samplers.Method{}
}

// methodText is a method with its sample sizes, for tables.
func methodText(method string, samples intList) string {
	if len(samples) == 0 {
		return method
	}
	return method + ", samples " + samples.String()
}

// newSampler builds the sampler that the options name, with edge dropout.
func (o *trainOptions) newSampler(data *datasets.Data) (samplers.Sampler, error) {
	s, err := o.newMethod(data)
	if err != nil || o.EdgeDropout == 0 {
		return s, err
	}
	dropped := &samplers.DropEdges{Sampler: s, Rate: o.EdgeDropout}
	return dropped, samplers.Prepare(dropped)
}

// newMethod builds the sampler that the options name.
func (o *trainOptions) newMethod(data *datasets.Data) (samplers.Sampler, error) {
	config := samplers.Config{
		Laplacian: data.Laplacian(), Train: data.Split.Train, Features: data.Features, Layers: o.sampledLayers(), Sizes: o.Samples,
		ExactInput: o.ExactInput, KeepSelf: o.Conv == convGAT || o.ownRows(), DropoutNoise: o.DropoutNoise,
	}
	if !o.namesParts() {
		return samplers.ByName(o.Method, config)
	}
	parts := samplers.Parts{
		Importance: o.Importance, Flat: o.Flat, Neighborhood: o.Neighborhood, Draw: o.Draw, Weight: o.weightName(),
		IncludeRows: o.IncludeRows, NormalizeRows: o.NormalizeRows, Control: o.Control,
	}
	if o.nodeWise() {
		return samplers.NeighborFromParts(parts, config)
	}
	sampler, err := samplers.FromParts(parts, config)
	if err != nil {
		return nil, err
	}
	if o.Population == populationNodes {
		sampler = &samplers.LayerWise{
			Laplacian: sampler.Laplacian, Sizes: sampler.Sizes, Importance: sampler.Importance, Draw: sampler.Draw,
			Weight:      samplers.Debiased{Population: data.Nodes()},
			IncludeRows: sampler.IncludeRows, KeepSelf: sampler.KeepSelf, NormalizeRows: sampler.NormalizeRows,
			Control: sampler.Control, Train: sampler.Train, ExactInput: sampler.ExactInput, FullDropoutNoise: sampler.FullDropoutNoise,
		}
	}
	return sampler, nil
}

// fillDropoutNoise sets the method's own noise of dropout if the option is not given. It
// returns an error if the model excludes full noise.
func (o *trainOptions) fillDropoutNoise() error {
	excludes := ""
	switch {
	case o.Conv == convGAT:
		excludes = "--conv gat"
	case o.ownRows():
		excludes = o.ownRowsOption()
	case o.PreNorm:
		excludes = "--pre-norm"
	}
	method := methodNamed(o.Method)
	switch full := o.DropoutNoise == samplers.DropoutNoiseFull; {
	case full && excludes != "":
		return usagef("--dropout-noise full excludes %s: other parts of the model read the output of the same dropout", excludes)
	case full && o.namesParts() && !o.nodeWise() && o.biasedOption() != "":
		return usagef("--dropout-noise full excludes %s: the variance is as over all neighbours only if the weights are unbiased", o.biasedOption())
	case full && (!o.namesParts() || o.nodeWise()) && !method.TakesFullDropoutNoise():
		return usagef("--dropout-noise full is for layer-wise methods with unbiased weights, such as %s, not for --method %s", defaultMethod, o.Method)
	case excludes != "":
		o.DropoutNoise = "" // the method then has none of its own
	case o.DropoutNoise == "" && !o.namesParts() && method.FullDropoutNoise():
		o.DropoutNoise = samplers.DropoutNoiseFull
	}
	return nil
}

// mostHistoryBytes is the size of P·X and of the histories above which the default method is
// the paper's, which keeps neither. It is a number, not a part of the memory, so that a command
// line trains the same model on every machine. ogbn-products with 256 hidden units takes 3.5 GB.
const mostHistoryBytes = 4 << 30

// excludesHistories returns the first option with which the model keeps no histories, or "".
func (o *trainOptions) excludesHistories() string {
	switch {
	case o.Conv == convGAT:
		return "--conv gat"
	case o.Layers == 1:
		return "--layers 1"
	case o.InputLayer:
		return "--input-layer"
	case o.PreNorm:
		return "--pre-norm"
	case o.InputDropout > 0:
		return "--input-dropout"
	case o.EdgeDropout > 0:
		return "--edge-dropout"
	case o.LabelInputs > 0:
		return "--label-inputs"
	}
	return ""
}

// chooseMethod takes the paper's method, if none was given and the model keeps no histories for
// the default one. It returns the option to blame, or "".
func (o *trainOptions) chooseMethod(fs *pflag.FlagSet) string {
	if option := o.excludesHistories(); option != "" && o.methodIsDefault(fs) {
		o.Method = paperMethod
		return option
	}
	return ""
}

// methodIsDefault reports whether no method, no part of one and no option of its histories was given.
func (o *trainOptions) methodIsDefault(fs *pflag.FlagSet) bool {
	return !o.namesParts() && !slices.ContainsFunc([]string{"method", "control-every", "control-half", controlLinear}, fs.Changed)
}

// leaveHistories takes the paper's method, if none was given and the default one would keep
// more than the given number of bytes of P·X and of histories.
func (j *trainJob) leaveHistories(data *datasets.Data, most int64) error {
	bytes := 4 * int64(data.Nodes()) * int64(data.Features.Cols+(j.Layers-1)*j.Hidden)
	if j.Method != defaultMethod || bytes <= most || !j.methodIsDefault(j.fs) {
		return nil
	}
	j.say("%s would keep %s of P·X and histories of activations, so the method is %s; --method %s takes it all the same",
		defaultMethod, megabytes(bytes), paperMethod, defaultMethod)
	j.Method, j.ExactInput = paperMethod, j.fs.Changed("exact-input") && j.ExactInput
	if !j.fs.Changed("dropout-noise") {
		j.DropoutNoise = ""
	}
	if !j.ExactInput { // the input is sampled, too
		if len(j.unused) == 0 {
			j.unused = j.Samples[len(j.Samples)-1:]
		}
		j.Samples, j.unused = slices.Concat(j.Samples, j.unused), nil
	}
	return j.fillOwnParts(j.fs)
}

// fillOwnParts sets the method's own noise of dropout and linear control where the options are
// not given.
func (o *trainOptions) fillOwnParts(fs *pflag.FlagSet) error {
	if err := o.fillDropoutNoise(); err != nil {
		return err
	}
	return o.fillControlLinear(fs)
}

// fillControlLinear sets the method's own linear control if the option is not given. It
// returns an error if it is given and the other options exclude it.
func (o *trainOptions) fillControlLinear(fs *pflag.FlagSet) error {
	own := !o.namesParts() && methodNamed(o.Method).LinearControl
	switch excludes := o.excludesLinearControl(); {
	case !fs.Changed(controlLinear):
		o.ControlLinear = own && excludes == ""
	case o.ControlLinear && excludes != "":
		return usagef("--%s: %s", controlLinear, excludes)
	}
	return nil
}

// controlLinear is the option of the linear control.
const controlLinear = "control-linear"

// excludesLinearControl says which option excludes the linear control, or returns "".
func (o *trainOptions) excludesLinearControl() string {
	switch {
	case !o.refreshes() || !o.ExactInput:
		return "it needs --control refresh with --exact-input, or ladies-cv or mvs, which have both"
	case o.Layers != 2:
		return fmt.Sprintf("it is for two layers, not for --layers %d: above a sampled layer the propagated input is not known", o.Layers)
	}
	if option, why := o.gcnOptions().ExcludesLinearControl(); option != "" {
		return fmt.Sprintf("--%s excludes it: %s", flagOf(option), why)
	}
	return ""
}

// flagOf returns the flag of an option in Go: layer-norm for LayerNorm.
func flagOf(option string) string {
	var flag strings.Builder
	for k, r := range option {
		if k > 0 && unicode.IsUpper(r) {
			flag.WriteByte('-')
		}
		flag.WriteRune(unicode.ToLower(r))
	}
	return flag.String()
}

// checkEffects refuses options of a new run that change nothing, or that do the same as another
// option.
func (o *trainOptions) checkEffects() error {
	dropped := o.InputDropout > 0 && !o.InputLayer || o.Dropout > 0 && (o.Layers > 1 || len(o.Samples) > 1 || o.InputLayer)
	own := !o.namesParts() && methodNamed(o.Method).FullDropoutNoise()
	normed := o.LayerNorm || o.BatchNorm
	switch {
	case o.DropoutNoise == samplers.DropoutNoiseFull && !own && !dropped:
		return usagef("--dropout-noise full has no effect: no sampled layer reads the output of a dropout; take --dropout above 0 and 2 layers or more")
	case o.OwnState && !o.PreNorm:
		return usagef("--own-state without --pre-norm is --hidden-residual linear: take that option, or add --pre-norm")
	case o.PreNorm && !normed && !o.Residual && o.HiddenResidual == noPart && !o.FeedForward:
		return usagef("--pre-norm has no effect without a norm and a residual connection: add --layer-norm, --batch-norm or --hidden-residual")
	}
	return nil
}

// methodName returns the method's name, with the linear control if that is not the method's own.
func (o *trainOptions) methodName() string {
	name, own := o.samplingOptions.methodName(), !o.namesParts() && methodNamed(o.Method).LinearControl
	switch {
	case o.ControlLinear && !own:
		name += "-linear"
	case own && !o.ControlLinear && o.excludesLinearControl() == "":
		name += "-without-linear"
	}
	return name
}
