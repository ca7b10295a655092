package samplers

import (
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
)

type withText struct{ Hidden int }

func (withText) String() string { return "my own" }

type part struct{ Rate float64 }

type withoutText struct {
	Graph *part // data
	Sizes []int
	Part  any
	Flag  bool
	Same  part
	note  string
}

// TestText has the texts that are in config.json of saved runs: with another text
// they could not be resumed.
func TestText(t *testing.T) {
	p := &graph.Laplacian{}
	for _, c := range []struct {
		part any
		want string
	}{
		{&LayerWise{}, "LayerWise{}"},
		{
			&LayerWise{Laplacian: p, Sizes: []int{512, 1024}, Importance: LADIES{Flat: true}, Draw: WithoutReplacement{}, Weight: Naive{}},
			"LayerWise{Sizes:[512 1024] Importance:LADIES{Flat:true} Draw:WithoutReplacement{} Weight:Naive{}}",
		},
		{
			&LayerWise{Sizes: []int{3}, Importance: LADIES{RowNorms: make([]float32, 20)}, Draw: WithoutReplacement{Keys: true}, Weight: Debiased{Population: 7}, IncludeRows: true, KeepSelf: true, NormalizeRows: true},
			"LayerWise{Sizes:[3] Importance:LADIES{RowNorms:8e2318e6} Draw:WithoutReplacement{Keys:true} Weight:Debiased{Population:7} IncludeRows:true KeepSelf:true NormalizeRows:true}",
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
			&Neighbor{Laplacian: p, Sizes: []int{2}, Importance: Uniform{}, Draw: Systematic{}, Weight: Rank{}},
			"Neighbor{Sizes:[2] Importance:Uniform{} Draw:Systematic{} Weight:Rank{}}",
		},
		{&Neighbor{Sizes: []int{2}, Draw: Poisson{}, Weight: SumAndSample{}}, "Neighbor{Sizes:[2] Draw:Poisson{} Weight:SumAndSample{}}"},
		{&Neighbor{Sizes: []int{2}, Weight: RaoBlackwellised{}}, "Neighbor{Sizes:[2] Weight:RaoBlackwellised{}}"},
		{&Neighbor{Laplacian: p, Sizes: []int{2, 3}, Control: ControlRolling}, "Neighbor{Sizes:[2 3] Control:rolling}"},
		{&ASGCN{Laplacian: p, Sizes: []int{2, 3}}, "ASGCN{Sizes:[2 3]}"},
		{LADIES{RowNorms: []float32{1, 2}}, "LADIES{RowNorms:2e3fa576}"},
		{LADIES{RowNorms: []float32{2, 1}}, "LADIES{RowNorms:b0343256}"},
		{&Labor{Laplacian: p, Sizes: []int{2}}, "Labor{Sizes:[2]}"},
		{&Full{Laplacian: p, Depth: 3}, "Full{Depth:3}"},
		{&Subgraph{Laplacian: p, Train: []int32{1, 2}, Depth: 2, Units: RandomWalks{Length: 1}}, "Subgraph{Depth:2 Units:RandomWalks{Length:1}}"},
		{&Subgraph{Laplacian: p, Train: []int32{1, 2}, Depth: 2, Units: IndependentNodes{}}, "Subgraph{Depth:2 Units:IndependentNodes{}}"},
		{&Subgraph{Depth: 2, Units: RandomNodes{}}, "Subgraph{Depth:2 Units:RandomNodes{}}"},
		{&Subgraph{Depth: 2, Units: RandomWalks{Length: 3, Presampled: 9}}, "Subgraph{Depth:2 Units:RandomWalks{Length:3 Presampled:9}}"},
		{withText{3}, "my own"},
		{&withText{3}, "my own"},
		{(*withText)(nil), "_"},
		{nil, "_"},
		{withoutText{}, "withoutText{}"},
		{&withoutText{&part{}, []int{512, 1024}, part{}, true, part{0.5}, "x"}, "withoutText{Sizes:[512 1024] Part:part{} Flag:true Same:part{Rate:0.5}}"},
		{withoutText{Part: &withText{}}, "withoutText{Part:my own}"},
		{withoutText{Part: func() {}}, "withoutText{Part:_}"},
	} {
		if got := Text(c.part); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
