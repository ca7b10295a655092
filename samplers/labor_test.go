package samplers_test

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/samplers/samplertest"
	"pgregory.net/rapid"
)

// laborReference computes p[i][t], the probability that row i keeps node t, from the
// formulas, with dense matrices and bisection.
func laborReference(p *graph.Laplacian, rows []int32, k int) [][]float64 {
	n := p.Nodes()
	dense := p.Dense()
	candidate := func(r int32, t int) bool {
		return dense[int(r)*n+t] != 0 && t != int(r)
	}
	solve := func(r int32) float64 {
		d, squares := 0, 0.0
		for t := range n {
			if candidate(r, t) {
				d++
				squares += dense[int(r)*n+t] * dense[int(r)*n+t]
			}
		}
		if d <= k {
			return math.Inf(1)
		}
		variance := func(c float64) (sum float64) {
			for t := range n {
				if candidate(r, t) {
					sum += dense[int(r)*n+t] * dense[int(r)*n+t] / min(1, c)
				}
			}
			return sum
		}
		low, high := 1e-12, 1e12
		for range 200 {
			middle := math.Sqrt(low * high)
			if variance(middle) > float64(d)/float64(k)*squares {
				low = middle
			} else {
				high = middle
			}
		}
		return high
	}
	keep := make([][]float64, len(rows))
	for i, r := range rows {
		keep[i] = make([]float64, n)
		scale := solve(r)
		for t := range n {
			if candidate(r, t) {
				keep[i][t] = min(1, scale)
			}
		}
	}
	return keep
}

// TestLaborEntries compares every entry of a block with P[i][t]/p[i][t], and checks
// that rows use the same random numbers, and that self-loops and the entries of
// rows with few neighbours are kept.
func TestLaborEntries(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(rt, "nodes")
		adjacency := samplertest.RandomGraph(t, n, rapid.IntRange(0, 200).Draw(rt, "edges"), rapid.Bool().Draw(rt, "weighted"), rapid.Uint64().Draw(rt, "graph"))
		p := graph.NewLaplacian(adjacency)
		if rapid.Bool().Draw(rt, "row-stochastic") {
			p = graph.NewRowLaplacian(adjacency)
		}
		k := rapid.IntRange(1, 6).Draw(rt, "k")
		rng := rand.New(samplers.NewSource(rapid.Uint64().Draw(rt, "stream"), 0, 0))
		var rows []int32
		for _, i := range rng.Perm(n)[:1+rng.IntN(n)] {
			rows = append(rows, int32(i))
		}
		s := &samplers.Labor{Laplacian: p, Sizes: []int{k}}
		var batch samplers.MiniBatch
		if err := samplers.Prepared(s).Sample(context.Background(), rows, rng, &batch); err != nil {
			rt.Fatal(err)
		}
		block := batch.Blocks[0]
		if err := block.Validate(n); err != nil {
			rt.Fatal(err)
		}
		keep := laborReference(p, rows, k)
		if !slices.Equal(block.Src[:len(rows)], rows) {
			rt.Fatalf("inputs %v do not begin with the rows %v", block.Src, rows)
		}
		kept := make([][]bool, len(rows))
		for i, r := range rows {
			kept[i] = make([]bool, n)
			for e, c := range block.Matrix.Row(i) {
				t := block.Src[c]
				kept[i][t] = true
				want := float64(p.At(int(r), int(t)))
				if t != r {
					want /= keep[i][t]
				}
				if got := float64(block.Matrix.RowValues(i)[e]); math.Abs(got-want) > 1e-6*want {
					rt.Fatalf("P̃[%d][%d] = %v, want %v", r, t, got, want)
				}
			}
			for t := range n {
				if self := t == int(r); !kept[i][t] && (self || keep[i][t] == 1) {
					rt.Fatalf("row %d left node %d out, which it keeps for certain", r, t)
				}
			}
		}
		for t := range n {
			for i := range rows {
				for j := range rows {
					// A row of higher p keeps t if a row of lower p does, up to rounding.
					if t != int(rows[i]) && t != int(rows[j]) && kept[i][t] && !kept[j][t] && keep[j][t] > keep[i][t]*(1+1e-9) {
						rt.Fatalf("node %d: kept by a row with p = %v, not by one with p = %v", t, keep[i][t], keep[j][t])
					}
				}
			}
		}
	})
}

// TestLaborSizes checks that rows keep k neighbours on average under LABOR-0, that
// the number of input nodes is lower than with independent rows.
func TestLaborSizes(t *testing.T) {
	const n, k, batches = 2000, 4, 300
	p := graph.NewLaplacian(samplertest.RandomGraph(t, n, 20000, false, 6))
	rng := rand.New(samplers.NewSource(2, 0, 0))
	var rows []int32
	for _, i := range rng.Perm(n)[:256] {
		rows = append(rows, int32(i))
	}
	measure := func(s *samplers.Labor) (inputs, entries float64) {
		s.Laplacian, s.Sizes = p, []int{k}
		var batch samplers.MiniBatch
		for range batches {
			if err := samplers.Prepared(s).Sample(context.Background(), rows, rng, &batch); err != nil {
				t.Fatal(err)
			}
			inputs += float64(len(batch.Inputs()))
			entries += float64(batch.Blocks[0].Matrix.NNZ()) - float64(len(rows))
		}
		return inputs / batches, entries / batches
	}
	wantEntries, independent := 0.0, 0.0
	miss := make([]float64, n)
	for t := range miss {
		miss[t] = 1
	}
	for _, r := range rows {
		d := p.Adjacency.Degree(int(r))
		wantEntries += float64(min(k, d))
		for _, t := range p.Adjacency.Row(int(r)) {
			miss[t] *= 1 - min(1, float64(k)/float64(d))
		}
		miss[r] = 0
	}
	for _, m := range miss {
		independent += 1 - m
	}
	inputs0, entries0 := measure(&samplers.Labor{})
	t.Logf("inputs: independent rows %.0f, LABOR-0 %.0f", independent, inputs0)
	if math.Abs(entries0-wantEntries) > 0.02*wantEntries {
		t.Errorf("LABOR-0 keeps %.1f entries, want %.1f", entries0, wantEntries)
	}
	if !(inputs0 < 0.99*independent) {
		t.Errorf("inputs do not decrease")
	}
}

func TestLaborErrors(t *testing.T) {
	p := graph.NewLaplacian(samplertest.RandomGraph(t, 10, 20, false, 1))
	for name, s := range map[string]*samplers.Labor{
		"no Laplacian": {Sizes: []int{1}},
		"no sizes":     {Laplacian: p},
		"size 0":       {Laplacian: p, Sizes: []int{2, 0}},
	} {
		var batch samplers.MiniBatch
		if err := cmp.Or(samplers.Prepare(s), s.Sample(context.Background(), []int32{0}, rand.New(samplers.NewSource(1, 0, 0)), &batch)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
