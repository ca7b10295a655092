package samplers

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Parts names the choices of a layer-wise or node-wise method, as on the command line.
// The zero value is the method ladies-debiased, or node-wise the method neighbor.
type Parts struct {
	Importance   string // one of ImportanceNames; "" means ladies, or node-wise uniform
	Flat         bool   // norms instead of their squares
	Neighborhood bool   // with fastgcn: only columns that are not zero on the rows are candidates
	Draw         string // one of DrawNames; "" means wrs
	Weight       string // one of WeightNames; "" means DefaultWeight of the draw

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

// FromParts returns the layer-wise sampler made of the named parts. It uses all fields
// of config but Features. The error names an unknown name, a weight that does not go with
// the draw, or a wrong setting of the config.
func FromParts(parts Parts, config Config) (*LayerWise, error) {
	sizes, err := config.layerSizes()
	if err != nil {
		return nil, err
	}
	s := &LayerWise{
		Laplacian: config.Laplacian, Sizes: sizes,
		IncludeRows: parts.IncludeRows, KeepSelf: config.KeepSelf, NormalizeRows: parts.NormalizeRows,
		Train: config.Train, ExactInput: config.ExactInput,
	}
	if s.Control, err = ParseControl(parts.Control); err != nil {
		return nil, err
	}
	if s.Importance, s.Draw, s.Weight, err = parts.parse("ladies"); err != nil {
		return nil, err
	}
	if err := config.setDropoutNoise("this method", s); err != nil {
		return nil, err
	}
	if err := s.Prepare(); err != nil {
		return nil, err
	}
	return s, nil
}

// NeighborFromParts returns the node-wise sampler made of the named parts: each row
// draws for itself. It uses the config's Laplacian, Layers and Sizes, and refuses full
// DropoutNoise. The error also names an option that only layer-wise methods have:
// Neighborhood, IncludeRows, NormalizeRows or Control.
func NeighborFromParts(parts Parts, config Config) (*Neighbor, error) {
	if parts.Neighborhood || parts.IncludeRows || parts.NormalizeRows || parts.Control != "" {
		return nil, errors.New("samplers: the options neighborhood, include-rows, normalize-rows and control are for layer-wise methods")
	}
	sizes, err := config.layerSizes()
	if err != nil {
		return nil, err
	}
	s := &Neighbor{Laplacian: config.Laplacian, Sizes: sizes}
	if s.Importance, s.Draw, s.Weight, err = parts.parse("uniform"); err != nil {
		return nil, err
	}
	if err := config.setDropoutNoise("neighbor", s); err != nil {
		return nil, err
	}
	if err := s.Prepare(); err != nil {
		return nil, err
	}
	return s, nil
}

// parse returns the named importance, draw and weight. A weight without a name is
// nil. importance is the name that "" stands for.
func (p *Parts) parse(importance string) (i Importance, d Draw, w Weight, err error) {
	if i, err = ParseImportance(cmp.Or(p.Importance, importance), p.Flat, p.Neighborhood); err != nil {
		return nil, nil, nil, err
	}
	if d, err = ParseDraw(cmp.Or(p.Draw, "wrs")); err != nil {
		return nil, nil, nil, err
	}
	if p.Weight != "" {
		w, err = ParseWeight(p.Weight)
	}
	return i, d, w, err
}
