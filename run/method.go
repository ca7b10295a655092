package run

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

// Keys are the keys of a method, in the grammar of a data SPEC: ladies?flat=1&draw=poisson.
// group lists the first words of the names of methods that have a key, or a whole name, as ladies-cv.
type Keys struct {
	Importance   string `json:"importance" group:"neighbor" choice:"uniform|ladies|fastgcn" help:"probabilities of a node's neighbours"`
	Flat         bool   `json:"flat" group:"ladies|fastgcn|uniform|neighbor" help:"probabilities in proportion to the norms of columns instead of their squares"`
	Neighborhood bool   `json:"neighborhood" group:"fastgcn|ladies|uniform" help:"fastgcn: draw only from the neighbours of the layer's nodes"`
	Draw         string `json:"draw" group:"ladies|fastgcn|uniform|neighbor" choice:"wrs|replacement|poisson|systematic" help:"wrs (weighted, without replacement), replacement, poisson or systematic"`
	Weight       string `json:"weight" group:"ladies|fastgcn|uniform|neighbor" choice:"debiased|naive|horvitz-thompson|rank|sum-and-sample|rao-blackwell" help:"debiased, naive, horvitz-thompson, rank, sum-and-sample or rao-blackwell (default: the method's own; unbiased ones for another draw)"`
	Population   string `json:"population" group:"ladies|fastgcn|uniform" choice:"candidates|nodes" help:"n of the debiased weights: candidates, or nodes as in the paper's program"`
	Rows         bool   `json:"rows" group:"ladies|fastgcn|uniform" help:"add a layer's own nodes to the nodes drawn, as LADIES' program does"`
	Normalize    bool   `json:"normalize" group:"ladies|fastgcn|uniform" help:"rescale each sampled row of the Laplacian to the sum of the whole row"`
	Control      string `json:"control" group:"ladies|fastgcn|uniform" choice:"none|refresh|rolling" help:"control variate: none, refresh (activations of every so many mini-batches) or rolling (each node's last ones)"`
	Every        int    `json:"every" group:"ladies-cv|mvs|ladies|fastgcn|uniform" default:"50" range:"[1," help:"mini-batches between two refreshes of kept activations; more while the schedule's step size is small"`
	Half         bool   `json:"half" group:"ladies-cv|mvs|ladies|fastgcn|uniform" help:"kept activations in float16: half the memory; on the CPU"`
	Linear       string `json:"linear" group:"ladies-cv|mvs|ladies|fastgcn|uniform" choice:"0|1" help:"the linear part of the control exactly, with exact input and two layers (default: 1 for ladies-cv where it applies)"`
}

// Method is a sampling method, with a sampler of the parts in its keys.
type Method struct {
	samplers.Method
	Keys // as given
}

// The method that is taken where none is given, and where the model keeps no histories.
const (
	DefaultMethod = "ladies-cv"
	PaperMethod   = "ladies-flat-debiased"
)

// MethodNames returns the names of the methods.
func MethodNames() []string {
	var names []string
	for _, m := range samplers.Methods() {
		names = append(names, m.Name)
	}
	return names
}

// ParseMethod reads NAME or NAME?KEY=VALUE&….
func ParseMethod(text string) (Method, error) {
	name, query, _ := strings.Cut(text, "?")
	base := name
	if name == uniform {
		base = "ladies"
	}
	names := MethodNames()
	k := slices.Index(names, base)
	if k < 0 {
		return Method{}, fmt.Errorf("no method %q%s; there are: %s", name, DidYouMean(name, names), strings.Join(names, ", "))
	}
	m := Method{Method: samplers.Methods()[k]}
	m.Name = name
	group, _, _ := strings.Cut(name, "-")
	if m.Refreshed() {
		group = name
	}
	err := parseKeys(&m.Keys, name, query, group)
	if err == nil && m.String() != base && !m.Refreshed() {
		err = m.takeParts()
	}
	return m, err
}

// parseKeys gives keys their defaults, and the values of a query, whose keys the group must have.
func parseKeys(keys any, name, query, group string) error {
	setDefaults(keys)
	given, err := url.ParseQuery(query)
	if err != nil {
		return err
	}
	var names []string
	for _, o := range Options(keys) {
		if !slices.Contains(strings.Split(o.Group, "|"), group) {
			continue
		}
		key := o.Flag()
		names = append(names, key)
		for k, value := range given[key] {
			if k > 0 {
				return fmt.Errorf("the key %q is given twice", key)
			}
			if err := o.Set(value); err != nil {
				return fmt.Errorf("%s=%s: %w", key, value, err)
			}
		}
		delete(given, key)
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		return fmt.Errorf("%s takes no keys but [%s], got %q%s", name, strings.Join(names, ", "), key, DidYouMean(key, names))
	}
	return nil
}

// takeParts gives the method a sampler of its keys' parts, and of its name's parts for the others.
func (m *Method) takeParts() error {
	base, variant, _ := strings.Cut(strings.Replace(m.Name, "neighbor-", "ladies-", 1), "-")
	if base == "neighbor" {
		base = uniform
	}
	name, flat := cmp.Or(m.Importance, base), m.Flat || strings.HasPrefix(variant, "flat")
	importance, draw := samplers.Importances(flat)[name], samplers.Draws()[cmp.Or(m.Draw, "wrs")]
	layerWise, is := m.Sampler.(*samplers.LayerWise)
	var own samplers.Weight
	if is && draw == (samplers.WithoutReplacement{}) {
		own = layerWise.Weight
	}
	weight := cmp.Or(samplers.Weights()[m.Weight], own, samplers.DefaultWeight(draw))
	switch err := weight.Check(draw); {
	case m.Neighborhood && name != "fastgcn":
		return fmt.Errorf("the candidates of importance %q are the neighborhood already; the option is for fastgcn", name)
	case flat && name == uniform:
		return fmt.Errorf("importance %q has no norms to flatten", name)
	case err != nil:
		return err
	case m.Population == "nodes" && weight != (samplers.Debiased{}):
		return fmt.Errorf("population=nodes goes with weight=debiased only")
	}
	if m.Neighborhood {
		importance = samplers.FastGCN{Flat: flat, Neighborhood: true}
	}
	if m.Population == "nodes" {
		weight = samplers.Debiased{Population: samplers.AllNodes}
	}
	if s, is := m.Sampler.(*samplers.Neighbor); is {
		s.Importance, s.Draw, s.Weight = importance, draw, weight
		return nil
	}
	layerWise.Importance, layerWise.Draw, layerWise.Weight = importance, draw, weight
	layerWise.IncludeRows, layerWise.NormalizeRows = m.Rows, m.Normalize
	if m.Control != none {
		layerWise.Control = samplers.Control(m.Control)
	}
	switch by := layerWise.BiasedPart(); {
	case m.Controlled() && by != "":
		return fmt.Errorf("%s is biased by %s, and the control would keep the bias on the change of the activations", m.String(), by)
	case !m.Refreshed() && (m.Every != 50 || m.Half || m.Linear != ""):
		return fmt.Errorf("every, half and linear are for control=refresh and the methods ladies-cv and mvs")
	}
	return nil
}

// String returns the method as --method has it, with the keys that do not have their defaults.
func (m *Method) String() string {
	text := m.Name
	for _, o := range Options(&m.Keys) {
		if !o.isDefault() {
			text += "&" + o.Flag() + "=" + strings.Replace(o.String(), "true", "1", 1)
		}
	}
	return strings.Replace(text, "&", "?", 1)
}

// ScheduleKeys are the keys of a schedule: cosine?warm-up=100.
type ScheduleKeys struct {
	WarmUp int `json:"warm_up" group:"cosine|none" default:"100" range:"[0," help:"mini-batches in which the step size grows to --lr; of cosine at most half of the run"`
}

// ParseSchedule reads NAME or NAME?KEY=VALUE&….
func ParseSchedule(text string) (s train.Schedule, err error) {
	var keys ScheduleKeys
	name, query, _ := strings.Cut(text, "?")
	names := []string{"none", "cosine"}
	if !slices.Contains(names, name) {
		return s, fmt.Errorf("no schedule %q%s; there are: %s", name, DidYouMean(name, names), strings.Join(names, ", "))
	}
	err = parseKeys(&keys, name, query, name)
	return train.Schedule{Cosine: name == "cosine", WarmUp: keys.WarmUp}, err
}
