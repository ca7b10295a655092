package run

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// Plan is checked settings. Its own fields are the values in use, where these follow from
// other options; those of Settings are as given.
type Plan struct {
	Settings

	Method            Method
	Default           bool   // no method was given
	Because           string // the option with which the default method is PaperMethod
	Schedule          train.Schedule
	Samples           Sizes // a number for each sampled layer; empty: the method takes none
	Layers            int
	ExactInput        bool
	ClassifierDropout float64
	Seeds             string
	Linear            bool // the linear part of the control

	GPU   *ops.Device        // of Open; nil: the CPU
	Exact *layers.ExactInput // of Propagate; nil: none
}

const (
	gat      = "gat"
	none     = "none"
	equation = "equation"
	uniform  = "uniform" // of seeds, and a base of layer-wise methods beside ladies and fastgcn
)

const defaultSamples = 512 // a layer

// Plan checks the settings, without a look at data or devices. An error names the option. With
// Samples auto the plan has no samples, and stands for the advice on them.
func (s Settings) Plan() (*Plan, error) {
	p := &Plan{Settings: s, Default: s.Method == ""}
	for _, step := range []func() error{p.checkValues, p.take, p.checkOpponents, p.checkRules, p.takeSamples} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// checkValues checks the values that no flag or file has set, such as values from Go, and the
// options that the tags name beside others.
func (p *Plan) checkValues() error {
	for _, o := range Options(&p.Settings) {
		if err := o.Set(o.String()); err != nil && !o.isDefault() {
			return p.refuse(o.Name, " %s: %w", o.String(), err)
		}
	}
	return Check(&p.Settings)
}

// take sets the values in use that follow from the method and from other options.
func (p *Plan) take() (err error) {
	name := cmp.Or(p.Settings.Method, DefaultMethod)
	if p.Default {
		for _, o := range p.opponents() {
			p.Because, name = o.onLine(), PaperMethod
		}
		if p.Settings.Samples.Auto() { // until the advice
			p.Because, name = "", PaperMethod
		}
	}
	if p.Method, err = ParseMethod(name); err != nil {
		return p.refuse("method", " %w", err)
	}
	if p.Schedule, err = ParseSchedule(p.Settings.Schedule); err != nil {
		return p.refuse("schedule", " %w", err)
	}
	p.ExactInput = p.Settings.ExactInput || p.Method.ExactInput
	p.Layers = cmp.Or(p.Settings.Layers, max(len(p.Settings.Samples), 2))
	if p.Model != equation {
		p.ClassifierDropout = p.Settings.ClassifierDropout
	}
	if p.Seeds = cmp.Or(p.Settings.Seeds, uniform); p.Method.GradientSeeds {
		p.Seeds = cmp.Or(p.Settings.Seeds, "gradient")
	}
	fits := p.Layers == 2 && p.modelOptions().CheckLinearControl() == nil
	p.Linear = p.Method.Linear == "1" || p.Method.Linear == "" && p.Method.LinearControl && fits
	return nil
}

// Limit returns the largest number of updates, math.MaxInt without a limit. It does not count
// epochs of one pass, whose length depends on the data.
func (s *Settings) Limit() int {
	limit := cmp.Or(max(s.MaxBatches, 0), math.MaxInt)
	if s.Epochs > 0 && s.BatchesPerEpoch > 0 && s.Epochs <= math.MaxInt/s.BatchesPerEpoch {
		limit = min(limit, (s.Epochs*s.BatchesPerEpoch-1)/s.Micro+1)
	}
	return limit
}

// opponents returns the given options that exact input or a control variate excludes. Those that
// others need are last.
func (s *Settings) opponents() []Option {
	return slices.DeleteFunc(Options(s), func(o Option) bool {
		when := o.tag("when")
		return o.tag("exact")+o.tag("control") == "" || o.isDefault() || when != "" && when != o.String()
	})
}

// checkOpponents refuses an option that the method's exact input or control variate excludes.
func (p *Plan) checkOpponents() error {
	exact, than := "--exact-input", ""
	if p.Method.ExactInput {
		exact, than = "exact input", ": use another method than "+p.Method.String()
	}
	for _, o := range slices.Backward(p.opponents()) {
		switch {
		case p.Method.Controlled() && o.tag("control") != "":
			return p.refuse(o.Name, "%s excludes control variates: %s: use another method than %s", o.value(), o.tag("control"), p.Method.String())
		case p.ExactInput && o.tag("exact") != "":
			return p.refuse(o.Name, "%s excludes %s: %s%s", o.value(), exact, o.tag("exact"), than)
		}
	}
	return nil
}

// first returns the first of some options that does not have its default, as on the command line,
// or "".
func (s *Settings) first(options ...string) string {
	for _, name := range options {
		if o, _ := find(s, name); !o.isDefault() {
			return o.onLine()
		}
	}
	return ""
}

// checkRules checks the options beside one another and beside the method.
func (p *Plan) checkRules() error {
	m, name := &p.Method, p.Method.String()
	important := p.Seeds != uniform
	seeds, chosen, uniformly := "seeds", p.Seeds, "--seeds uniform"
	if m.GradientSeeds {
		seeds, chosen, uniformly = "method", m.Name, "--method ladies-cv"
	}
	learned := p.first("micro", "conv", "edge_dropout", "own_state", "hidden_residual")
	sized := slices.DeleteFunc(study.LayerWiseMethods(), study.SamplesChange)
	for _, rule := range []struct {
		refused     bool
		option, why string
	}{
		{p.Epochs == 0 && p.MaxBatches == 0 && p.Patience == 0, "max_batches", ", --epochs and --patience are all 0: training would not end"},
		{p.Seed > math.MaxUint64-uint64(p.Runs-1), "seed", fmt.Sprintf(" %d leaves no room for %d runs", p.Seed, p.Runs)},
		{p.Schedule.Cosine && p.MaxBatches == 0 && p.Epochs == 0, "schedule", " cosine ends at the last mini-batch: it needs --max-batches or --epochs; without a limit, take --schedule none"},
		{p.Settings.Samples.Auto() && !p.Default && !slices.Contains(sized, name), "samples",
			fmt.Sprintf(" auto chooses for layer-wise methods without keys, not for %s: leave out --method, or take one of %s", name, strings.Join(sized, ", "))},

		{m.GradientSeeds && !important, "seeds", " uniform: --method " + m.Name + " draws mini-batches by importance: want gradient or loss; for uniform ones use --method ladies-cv"},
		{important && p.Micro > 1, seeds, fmt.Sprintf(" %s does not go with --micro %d: the next mini-batch needs the scores of this one, which another rank may have; take %s, or --micro 1", chosen, p.Micro, uniformly)},
		{important && m.OwnOutputs(), "seeds", fmt.Sprintf(" %s does not go with --method %s, whose sampler draws output nodes of its own: use --seeds uniform, or another method", p.Seeds, name)},
		{important && p.BatchesPerEpoch == 0, seeds, " " + chosen + " does not go with --batches-per-epoch 0, where each training node is in one mini-batch of an epoch"},

		{p.Model == equation && p.Given("classifier_dropout") && p.Settings.ClassifierDropout > 0, "classifier_dropout", fmt.Sprintf(" %v: --model equation has no classifier: want 0", p.Settings.ClassifierDropout)},
		{p.Conv == gat && p.Hidden%p.Heads != 0, "hidden", fmt.Sprintf(" %d: want a multiple of --heads %d", p.Hidden, p.Heads)},
		{p.Partition == "all" && p.EvalEvery == 0, "partition", " all excludes --eval-every auto, the default: one rank alone cannot count the operations of an evaluation; say a number of updates"},

		{p.Given("exact_input") && m.ExactInput && !p.Settings.ExactInput, "exact_input", "=false: --method " + name + " has exact input; use another method, such as " + PaperMethod},
		{m.Learned() && learned != "", "method", fmt.Sprintf(" %s excludes %s: its sampler learns from each mini-batch, which may then have other entries of P, or which another rank may have; take another method, such as %s", name, learned, PaperMethod)},
		{m.Controlled() && !m.Refreshed() && p.Micro > 1 && p.Layers > 1, "method", fmt.Sprintf(" %s does not go with --micro %d: the next mini-batch needs the histories of this one, which another rank may have; take --method ladies-cv, or --micro 1", name, p.Micro)},
		{m.Control != "" && m.Controlled() && !p.ExactInput && p.Layers == 1, "method", " " + name + " with --layers 1: the only layer reads features, so there are no activations to keep"},
		{m.Half && p.Device != "cpu", "method", fmt.Sprintf(" %s: half=1 is for the CPU: leave it out with --device %s", name, p.Device)},
		{m.Linear == "1" && !p.ExactInput, "method", " " + name + ": linear=1 needs --exact-input, which ladies-cv and mvs have"},
		{m.Linear == "1" && p.Layers != 2, "method", fmt.Sprintf(" %s: linear=1 is for two layers, not for --layers %d: above a sampled layer the propagated input is not known", name, p.Layers)},
	} {
		if rule.refused {
			return p.refuse(rule.option, "%s", rule.why)
		}
	}
	if wrong, excluded := errors.AsType[*layers.OptionError](p.modelOptions().CheckLinearControl()); excluded && p.Linear {
		return p.refuse(nameInFile(wrong.Option), ": %s", wrong.Reason)
	}
	return nil
}

// SampledLayers returns the number of layers that the sampler draws.
func (p *Plan) SampledLayers() int {
	if p.ExactInput {
		return p.Layers - 1
	}
	return p.Layers
}

// takeSamples makes Samples one number for each sampled layer, or empty for a method without
// sample sizes.
func (p *Plan) takeSamples() error {
	given, n := p.Settings.Samples, p.SampledLayers()
	switch {
	case given.Auto() || p.Method.Sizes == "":
	case len(given) == n || p.ExactInput && len(given) == p.Layers: // the last is for the input, which is not sampled
		p.Samples = given[:n]
	case len(given) <= 1:
		p.Samples = slices.Repeat(slices.Concat(given, p.Method.Default, Sizes{defaultSamples})[:1], n)
	default:
		return p.refuse("samples", " %s has %d numbers; %d layers need %d: one number for each, but for an exact input", given, len(given), p.Layers, n)
	}
	if p.Method.Weight == "rao-blackwell" && slices.Max(p.Samples) > samplers.MostUnordered {
		return p.refuse("samples", " %s: weight=rao-blackwell takes at most %d", p.Samples, samplers.MostUnordered)
	}
	return nil
}

// Saved returns the settings as config.json holds them: with the values that were chosen.
func (p *Plan) Saved() Settings {
	s := p.Settings
	s.Method, s.Layers, s.Schedule, s.ClassifierDropout = p.Method.String(), p.Layers, p.Schedule.String(), p.ClassifierDropout
	if !s.Samples.Auto() {
		s.Samples = p.Samples
	}
	return s
}
