package samplers

import (
	"fmt"
	"strings"
)

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
