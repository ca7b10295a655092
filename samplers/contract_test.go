package samplers_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/samplers/samplertest"
)

// TestContract runs the contract over every named method.
func TestContract(t *testing.T) {
	for _, m := range samplers.Methods() {
		samplertest.Run(t, m.Name, func(p *graph.Laplacian, train []int32) samplers.Sampler {
			s, err := samplers.ByName(m.Name, samplers.Config{Laplacian: p, Train: train, Layers: 2, Sizes: []int{5, 7}})
			if p.Directed && (m.Name == "cluster" || strings.HasPrefix(m.Name, "saint-")) {
				if err == nil || !strings.Contains(err.Error(), "needs an undirected graph") {
					t.Errorf("a directed graph: %v", err)
				}
				return nil
			}
			if err != nil {
				t.Fatal(err)
			}
			return s
		})
	}
}

// TestContractDropEdges runs it over methods with edge dropout.
func TestContractDropEdges(t *testing.T) {
	for _, name := range []string{"full", "ladies", "labor", "saint-node"} {
		samplertest.Run(t, name, func(p *graph.Laplacian, train []int32) samplers.Sampler {
			s, err := samplers.ByName(name, samplers.Config{Laplacian: p, Train: train, Layers: 2, Sizes: []int{5, 7}})
			if err != nil {
				return nil // a directed graph
			}
			return &samplers.DropEdges{Sampler: s, Rate: 0.4}
		})
	}
}

// TestContractParts runs it over every combination of parts that go together,
// and over options.
func TestContractParts(t *testing.T) {
	for _, parts := range allParts() {
		samplertest.Run(t, partsName(parts), func(p *graph.Laplacian, _ []int32) samplers.Sampler {
			return fromParts(t, p, parts, 5, 7)
		})
	}
}

// TestContractKeepSelf runs it over samplers that keep a row's own term, together with
// the other option that adds rows.
func TestContractKeepSelf(t *testing.T) {
	for _, includes := range []bool{false, true} {
		samplertest.Run(t, fmt.Sprint("rows included: ", includes), func(p *graph.Laplacian, _ []int32) samplers.Sampler {
			return &samplers.LayerWise{Laplacian: p, Sizes: []int{5, 7}, Importance: samplers.FastGCN{}, IncludeRows: includes, KeepSelf: true}
		})
	}
}

// TestContractFullDropoutNoise runs it over a local and a global draw with the option.
func TestContractFullDropoutNoise(t *testing.T) {
	for name, importance := range map[string]samplers.Importance{"ladies": samplers.LADIES{}, "fastgcn": samplers.FastGCN{}} {
		samplertest.Run(t, name, func(p *graph.Laplacian, _ []int32) samplers.Sampler {
			return &samplers.LayerWise{Laplacian: p, Sizes: []int{5, 7}, Importance: importance, FullDropoutNoise: true}
		})
	}
}

// allParts returns all combinations of parts that go together. Their options differ
// so that every option occurs.
func allParts() []partNames {
	var all []partNames
	for _, importance := range samplers.ImportanceNames() {
		for _, drawName := range samplers.DrawNames() {
			for _, weightName := range samplers.WeightNames() {
				draw, _ := samplers.ParseDraw(drawName)
				weight, _ := samplers.ParseWeight(weightName)
				if weight.Check(draw) != nil {
					continue
				}
				k := len(all)
				all = append(all, partNames{
					Importance: importance, Draw: drawName, Weight: weightName,
					Flat:          importance != "uniform" && k%2 == 0,
					Neighborhood:  importance == "fastgcn" && k%3 == 0,
					IncludeRows:   k%5 == 0,
					NormalizeRows: k%7 == 0,
				})
			}
		}
	}
	return all
}

func partsName(p partNames) string {
	name := cmp.Or(p.Importance, "ladies") + " " + cmp.Or(p.Draw, "wrs") + " " + cmp.Or(p.Weight, "default")
	for _, option := range []struct {
		name string
		on   bool
	}{{" flat", p.Flat}, {" neighborhood", p.Neighborhood}, {" rows", p.IncludeRows}, {" normalized", p.NormalizeRows}} {
		if option.on {
			name += option.name
		}
	}
	return name
}

// partNames has the parts of a sampler as the command names them. "" means the default.
type partNames struct {
	Importance, Draw, Weight, Control              string
	NodeWise                                       bool
	Flat, Neighborhood, IncludeRows, NormalizeRows bool
}

// sampler returns the sampler of the parts.
func (p partNames) sampler(c samplers.Config) (samplers.Sampler, error) {
	base := "ladies"
	if p.NodeWise {
		base = "uniform"
	}
	importance, err := samplers.ParseImportance(cmp.Or(p.Importance, base), p.Flat, p.Neighborhood)
	draw, drawErr := samplers.ParseDraw(cmp.Or(p.Draw, "wrs"))
	weight, weightErr := samplers.ParseWeight(cmp.Or(p.Weight, "debiased"))
	if p.Weight == "" {
		weight = nil
	}
	control, controlErr := samplers.ParseControl(p.Control)
	if err := cmp.Or(err, drawErr, weightErr, controlErr); err != nil {
		return nil, err
	}
	if p.NodeWise {
		return samplers.Configure(&samplers.Neighbor{Importance: importance, Draw: draw, Weight: weight}, c)
	}
	return samplers.Configure(&samplers.LayerWise{
		Importance: importance, Draw: draw, Weight: weight, Control: control, IncludeRows: p.IncludeRows, NormalizeRows: p.NormalizeRows,
	}, c)
}

func fromParts(t testing.TB, p *graph.Laplacian, parts partNames, sizes ...int) samplers.Sampler {
	t.Helper()
	s, err := parts.sampler(samplers.Config{Laplacian: p, Layers: len(sizes), Sizes: sizes})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
