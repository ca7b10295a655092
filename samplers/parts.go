package samplers

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
)

// Parts names the choices of a layer-wise or node-wise method, as on the command line.
// The zero value is the method ladies-debiased, and with NodeWise the method neighbor.
type Parts struct {
	NodeWise     bool   // each row draws for itself: see Neighbor
	Importance   string // one of ImportanceNames; "" means ladies, or node-wise uniform
	Flat         bool   // norms instead of their squares
	Neighborhood bool   // with fastgcn: only columns that are not zero on the rows are candidates
	Draw         string // one of DrawNames; "" means wrs
	Weight       string // one of WeightNames; "" means DefaultWeight of the draw
	AllNodes     bool   // with debiased: its Population is the number of nodes of the graph

	IncludeRows   bool // see LayerWise
	NormalizeRows bool // see LayerWise

	Control string // one of ControlNames; "" means none
}

// named is a part with its name on the command line.
type named[T any] struct {
	name string
	part T
}

var (
	importances = []named[Importance]{{"ladies", LADIES{}}, {"fastgcn", FastGCN{}}, {"uniform", Uniform{}}}
	draws       = []named[Draw]{{"wrs", WithoutReplacement{}}, {"replacement", WithReplacement{}}, {"poisson", Poisson{}}, {"systematic", Systematic{}}}
	weights     = []named[Weight]{
		{"debiased", Debiased{}}, {"naive", Naive{}}, {"horvitz-thompson", HorvitzThompson{}},
		{"rank", Rank{}}, {"sum-and-sample", SumAndSample{}}, {"rao-blackwell", RaoBlackwellised{}},
	}
	controls = []named[Control]{{"none", ControlNone}, {"refresh", ControlRefresh}, {"rolling", ControlRolling}}
)

func names[T any](all []named[T]) []string {
	var known []string
	for _, n := range all {
		known = append(known, n.name)
	}
	return known
}

// find returns the named part. The error lists the known names.
func find[T any](kind, name string, all []named[T]) (part T, err error) {
	for _, n := range all {
		if n.name == name {
			return n.part, nil
		}
	}
	return part, unknownPart(kind, name, names(all))
}

func unknownPart(kind, name string, known []string) error {
	return fmt.Errorf("samplers: unknown %s %q; known: %s", kind, name, strings.Join(known, ", "))
}

// ImportanceNames returns the names that ParseImportance knows.
func ImportanceNames() []string { return names(importances) }

// DrawNames returns the names that ParseDraw knows.
func DrawNames() []string { return names(draws) }

// WeightNames returns the names that ParseWeight knows.
func WeightNames() []string { return names(weights) }

// ParseImportance returns the named importance. The error lists the known names if
// the name is unknown, or names an option that does not go with it.
func ParseImportance(name string, flat, neighborhood bool) (Importance, error) {
	importance, err := find("importance", name, importances)
	switch {
	case neighborhood && name != "fastgcn":
		return nil, fmt.Errorf("samplers: the candidates of importance %q are the neighborhood already; the option is for fastgcn", name)
	case name == "ladies":
		return LADIES{Flat: flat}, nil
	case name == "fastgcn":
		return FastGCN{Flat: flat, Neighborhood: neighborhood}, nil
	case flat && err == nil:
		return nil, fmt.Errorf("samplers: importance %q has no norms to flatten", name)
	}
	return importance, err
}

// ParseDraw returns the named draw. The error lists the known names.
func ParseDraw(name string) (Draw, error) { return find("draw", name, draws) }

// ParseWeight returns the named weight. The error lists the known names.
func ParseWeight(name string) (Weight, error) { return find("weight", name, weights) }

// FromParts returns the sampler made of the named parts, prepared. It uses all fields of config
// but Features; a node-wise sampler uses the Laplacian, Layers and Sizes, and refuses full
// DropoutNoise. The error names an unknown name, an option that node-wise samplers do not have, a
// weight that does not go with the draw, or a wrong setting of the config.
func FromParts(parts Parts, config Config) (Sampler, error) {
	sizes, err := config.layerSizes()
	if err != nil {
		return nil, err
	}
	importance, draw, weight, err := parts.parse(config.Laplacian)
	if err != nil {
		return nil, err
	}
	if parts.NodeWise {
		if parts.Neighborhood || parts.AllNodes || parts.IncludeRows || parts.NormalizeRows || parts.Control != "" {
			return nil, errors.New("samplers: the options neighborhood, population, include-rows, normalize-rows and control are for layer-wise methods")
		}
		return config.finish("neighbor", &Neighbor{Laplacian: config.Laplacian, Sizes: sizes, Importance: importance, Draw: draw, Weight: weight})
	}
	control, err := ParseControl(parts.Control)
	if err != nil {
		return nil, err
	}
	return config.finish("this method", &LayerWise{
		Laplacian: config.Laplacian, Sizes: sizes, Importance: importance, Draw: draw, Weight: weight,
		IncludeRows: parts.IncludeRows, KeepSelf: config.KeepSelf, NormalizeRows: parts.NormalizeRows,
		Control: control, Train: config.Train, ExactInput: config.ExactInput,
	})
}

// parse returns the named importance, draw and weight. A weight without a name is nil.
func (p *Parts) parse(laplacian *graph.Laplacian) (i Importance, d Draw, w Weight, err error) {
	name := "ladies"
	if p.NodeWise {
		name = "uniform"
	}
	if i, err = ParseImportance(cmp.Or(p.Importance, name), p.Flat, p.Neighborhood); err != nil {
		return nil, nil, nil, err
	}
	if d, err = ParseDraw(cmp.Or(p.Draw, "wrs")); err != nil {
		return nil, nil, nil, err
	}
	if p.Weight != "" {
		w, err = ParseWeight(p.Weight)
	}
	if p.AllNodes && laplacian != nil {
		if w != (Debiased{}) {
			return nil, nil, nil, fmt.Errorf("samplers: the population is for debiased weights, got %q", p.Weight)
		}
		w = Debiased{Population: laplacian.Nodes()}
	}
	return i, d, w, err
}
