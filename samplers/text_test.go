package samplers

import (
	"fmt"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
)

// TestText has the texts that are in config.json of saved runs: with another text
// they could not be resumed.
func TestText(t *testing.T) {
	p := &graph.Laplacian{}
	for _, c := range []struct {
		part fmt.Stringer
		want string
	}{
		{&LayerWise{}, "LayerWise{}"},
		{
			&LayerWise{Laplacian: p, Sizes: []int{512, 1024}, Importance: LADIES{Flat: true}, Draw: WithoutReplacement{}, Weight: Naive{}},
			"LayerWise{Sizes:[512 1024] Importance:LADIES{Flat:true} Draw:WithoutReplacement{} Weight:Naive{}}",
		},
		{
			&LayerWise{Sizes: []int{3}, Importance: LADIES{RowNorms: make([]float32, 20)}, Draw: WithoutReplacement{Keys: true}, Weight: Debiased{Population: 7}, IncludeRows: true, KeepSelf: true, NormalizeRows: true},
			"LayerWise{Sizes:[3] Importance:LADIES{RowNorms:[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 … 20]} Draw:WithoutReplacement{Keys:true} Weight:Debiased{Population:7} IncludeRows:true KeepSelf:true NormalizeRows:true}",
		},
		{
			&LayerWise{Sizes: []int{3}, Control: ControlRefresh, ExactInput: true, FullDropoutNoise: true},
			"LayerWise{Sizes:[3] Control:refresh ExactInput:true FullDropoutNoise:true}",
		},
		{
			&LayerWise{Sizes: []int{3}, Importance: FastGCN{Flat: true, Neighborhood: true}, Draw: WithReplacement{}, Weight: HorvitzThompson{}},
			"LayerWise{Sizes:[3] Importance:FastGCN{Flat:true Neighborhood:true} Draw:WithReplacement{} Weight:HorvitzThompson{}}",
		},
		{
			&Neighbor{Laplacian: p, Sizes: []int{2}, Importance: Uniform{}, Draw: Systematic{}, Weight: Rank{}, DrawSelf: true},
			"Neighbor{Sizes:[2] Importance:Uniform{} Draw:Systematic{} Weight:Rank{} DrawSelf:true}",
		},
		{&Neighbor{Sizes: []int{2}, Draw: Poisson{}, Weight: SumAndSample{}}, "Neighbor{Sizes:[2] Draw:Poisson{} Weight:SumAndSample{}}"},
		{&Neighbor{Sizes: []int{2}, Weight: RaoBlackwellised{}}, "Neighbor{Sizes:[2] Weight:RaoBlackwellised{}}"},
		{&VRGCN{Laplacian: p, Sizes: []int{2, 3}}, "VRGCN{Sizes:[2 3]}"},
		{&ASGCN{Laplacian: p, Sizes: []int{2, 3}}, "ASGCN{Sizes:[2 3]}"},
		{&Labor{Laplacian: p, Sizes: []int{2}, Iterations: -1, DrawSelf: true, SelfNormalize: true}, "Labor{Sizes:[2] Iterations:-1 DrawSelf:true SelfNormalize:true}"},
		{&Full{Laplacian: p, Depth: 3}, "Full{Depth:3}"},
		{&SAINT{Laplacian: p, Train: []int32{1, 2}, Depth: 2, Units: RandomEdges{}, NormalizeRows: true}, "SAINT{Train:[1 2] Depth:2 Units:RandomEdges{} NormalizeRows:true}"},
		{&NormalizedSAINT{Laplacian: p, Train: []int32{1, 2}, Depth: 2}, "NormalizedSAINT{Train:[1 2] Depth:2}"},
		{&SAINT{Depth: 2, Units: RandomNodes{}}, "SAINT{Depth:2 Units:RandomNodes{}}"},
		{&SAINT{Depth: 2, Units: RandomWalks{Length: 3, Presampled: 9, Seed: 1}}, "SAINT{Depth:2 Units:RandomWalks{Length:3 Presampled:9 Seed:1}}"},
	} {
		if got := c.part.String(); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
