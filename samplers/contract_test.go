package samplers_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
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
			return dropping{s}
		})
	}
}

// dropping is a sampler with edge dropout.
type dropping struct{ samplers.Sampler }

func (d dropping) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *samplers.MiniBatch) error {
	err := d.Sampler.Sample(ctx, seeds, rng, batch)
	if err == nil {
		err = batch.DropEdges(0.4, rng)
	}
	return err
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
	for _, importance := range slices.Sorted(maps.Keys(samplers.Importances(false))) {
		for _, drawName := range slices.Sorted(maps.Keys(samplers.Draws())) {
			for _, weightName := range slices.Sorted(maps.Keys(samplers.Weights())) {
				if samplers.Weights()[weightName].Check(samplers.Draws()[drawName]) != nil {
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
	Importance, Draw, Weight                       string
	Control                                        samplers.Control
	NodeWise                                       bool
	Flat, Neighborhood, IncludeRows, NormalizeRows bool
	FullDropoutNoise                               bool
}

// sampler returns the sampler of the parts.
func (p partNames) sampler(c samplers.Config) (samplers.Sampler, error) {
	base := "ladies"
	if p.NodeWise {
		base = "uniform"
	}
	importance, draw, weight := samplers.Importances(p.Flat)[cmp.Or(p.Importance, base)], samplers.Draws()[p.Draw], samplers.Weights()[p.Weight]
	if p.Neighborhood {
		importance = samplers.FastGCN{Flat: p.Flat, Neighborhood: true}
	}
	if p.NodeWise {
		return samplers.Configure(&samplers.Neighbor{Importance: importance, Draw: draw, Weight: weight}, c)
	}
	return samplers.Configure(&samplers.LayerWise{
		Importance: importance, Draw: draw, Weight: weight, Control: p.Control, FullDropoutNoise: p.FullDropoutNoise, IncludeRows: p.IncludeRows, NormalizeRows: p.NormalizeRows,
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
