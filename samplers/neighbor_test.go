package samplers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// scripted is a source that makes Uint32N(n) return ⌊t·n/60⌋, or t mod n if n is a
// power of two, with t the next of values. For n up to 6 the result is uniform if t
// is uniform on 0 … 59.
type scripted struct {
	values []uint64
	next   int
}

func (s *scripted) Uint64() uint64 {
	t := s.values[s.next]
	s.next++
	return (2*t+1)<<32/120<<32 | t
}

// TestPicksLaw checks, over all outcomes of the random numbers, that every set of k
// candidates has the same probability, and that the expectation of each candidate's weight is
// 1, to 1e-12.
func TestPicksLaw(t *testing.T) {
	for d := 1; d <= 6; d++ {
		for k := 1; k <= 3; k++ {
			mean, sets := enumeratePicks(d, k)
			for c, m := range mean {
				if math.Abs(m-1) > 1e-12 {
					t.Errorf("d=%d k=%d: E[β_%d] = %v, want 1", d, k, c, m)
				}
			}
			want := 1.0
			for i := range min(k, d) {
				want *= float64(i+1) / float64(d-i)
			}
			for set, p := range sets {
				if math.Abs(p-want) > 1e-12 {
					t.Errorf("d=%d k=%d: set %s has probability %v, want %v", d, k, set, p, want)
				}
			}
		}
	}
}

func enumeratePicks(d, k int) (mean []float64, sets map[string]float64) {
	mean, sets = make([]float64, d), map[string]float64{}
	outcomes := 1
	for range k {
		outcomes *= 60
	}
	var p Sample
	source := &scripted{values: make([]uint64, k)}
	rng := rand.New(source)
	for o := range outcomes {
		source.next = 0
		for i, rest := 0, o; i < k; i, rest = i+1, rest/60 {
			source.values[i] = uint64(rest % 60)
		}
		p.drawUniform(rng, d, k)
		for _, c := range p.Index {
			mean[c]++ // summed exactly
		}
		slices.Sort(p.Index)
		sets[fmt.Sprint(p.Index)]++
	}
	for c := range mean {
		mean[c] *= p.factor[0] / float64(outcomes)
	}
	for set := range sets {
		sets[set] /= float64(outcomes)
	}
	return mean, sets
}

// TestNeighborBlock checks every entry of blocks against the formula.
func TestNeighborBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 50).Draw(t, "nodes")
		adjacency := randomGraph(n, rapid.IntRange(0, 200).Draw(t, "edges"), rapid.Bool().Draw(t, "weighted"), rapid.Uint64().Draw(t, "seed"))
		p := graph.NewLaplacian(adjacency)
		if rapid.Bool().Draw(t, "row-stochastic") {
			p = graph.NewRowLaplacian(adjacency)
		}
		k := rapid.IntRange(1, 40).Draw(t, "k")
		replace := rapid.Bool().Draw(t, "replace")
		s := &Neighbor{Laplacian: p, Sizes: []int{k, 2}}
		if replace {
			s.Draw = WithReplacement{}
		}
		rng := rand.New(NewSource(rapid.Uint64().Draw(t, "stream"), 0, 0))
		seeds := seedNodes(n, rapid.IntRange(1, n).Draw(t, "seeds"), rng)
		var batch MiniBatch
		if err := Prepared(s).Sample(context.Background(), seeds, rng, &batch); err != nil {
			t.Fatal(err)
		}
		block := batch.Blocks[1]
		if err := block.Validate(n); err != nil {
			t.Fatal(err)
		}
		got, dense := scatter(block, n), p.Dense()
		for i, r := range seeds {
			candidates, drawn := adjacency.Degree(int(r)), 0.0
			factor := float64(candidates) / float64(k)
			if k >= candidates && !replace {
				factor = 1
			}
			for j := range n {
				entry, v := dense[int(r)*n+j], got[i*n+j]
				if int(r) == j {
					if math.Abs(v-entry) > 1e-6 {
						t.Fatalf("own term of node %d is %v, want %v", r, v, entry)
					}
					continue
				}
				if v == 0 {
					continue
				}
				times := v / (entry * factor) // the number of draws
				if math.Abs(times-math.Round(times)) > 1e-5 || !replace && times > 1.5 {
					t.Fatalf("entry (%d, %d) is %v, P's is %v: %v times %v", r, j, v, entry, times, factor)
				}
				drawn += math.Round(times)
			}
			want := k
			if !replace {
				want = min(k, candidates)
			}
			if candidates > 0 && int(drawn) != want {
				t.Fatalf("node %d has %v draws, want %d", r, drawn, want)
			}
		}
		if !slices.Equal(block.Src[:len(seeds)], seeds) {
			t.Fatal("the input does not begin with the output nodes")
		}
	})
}

// TestNeighborReplacementLaw compares the numbers of draws of a node's neighbours, with
// replacement, with the multinomial law of k independent uniform draws.
func TestNeighborReplacementLaw(t *testing.T) {
	const d, k, rounds = 4, 3, 20000
	b, err := graph.NewBuilder(d + 1)
	for v := int32(1); err == nil && v <= d; v++ {
		err = b.Add(0, v)
	}
	if err != nil {
		t.Fatal(err)
	}
	adjacency, _ := b.Build()
	p := graph.NewLaplacian(adjacency)
	s, dense, counts := Prepared(&Neighbor{Laplacian: p, Sizes: []int{k}, Draw: WithReplacement{}}), p.Dense(), map[[d]int]float64{}
	var batch MiniBatch
	for round := range uint64(rounds) {
		if err := s.Sample(context.Background(), []int32{0}, rand.New(NewSource(1, round, 0)), &batch); err != nil {
			t.Fatal(err)
		}
		var times [d]int
		for v, value := range scatter(batch.Blocks[0], d+1)[1:] {
			times[v] = int(math.Round(value / dense[v+1] * k / d))
		}
		counts[times]++
	}
	chi2, outcomes := 0.0, 0
	for o := range d * d * d { // a sequence of draws is a number in base d
		var times [d]int
		for _, v := range [k]int{o % d, o / d % d, o / d / d} {
			times[v]++
		}
		expected := 6.0 * rounds / (d * d * d)
		for _, c := range times {
			expected /= math.Gamma(float64(c + 1))
		}
		if seen, is := counts[times]; is {
			chi2 += (seen - expected) * (seen - expected) / expected
			outcomes++
			delete(counts, times)
		}
	}
	if limit := (distuv.ChiSquared{K: 19}).Quantile(1 - 1e-4); outcomes != 20 || len(counts) > 0 || chi2 > limit {
		t.Errorf("χ² = %.1f over %d of 20 outcomes, want at most %.1f; others: %v", chi2, outcomes, limit, counts)
	}
}

// TestNeighborExact checks that every form keeps P's entries if k is at least the
// number of candidates.
func TestNeighborExact(t *testing.T) {
	adjacency := randomGraph(60, 300, true, 5)
	p := graph.NewLaplacian(adjacency)
	dense := p.Dense()
	for _, s := range []*Neighbor{
		{},
		{Importance: LADIES{}},
		{Importance: LADIES{Flat: true}},
		{Importance: FastGCN{Flat: true}},
		{Importance: Uniform{}, Draw: Systematic{}},
	} {
		s.Laplacian, s.Sizes = p, []int{60}
		rng := rand.New(NewSource(1, 0, 0))
		seeds := seedNodes(60, 20, rng)
		var batch MiniBatch
		if err := Prepared(s).Sample(context.Background(), seeds, rng, &batch); err != nil {
			t.Fatal(err)
		}
		got := scatter(batch.Blocks[0], 60)
		for i, r := range seeds {
			for j := range 60 {
				if want := dense[int(r)*60+j]; math.Abs(got[i*60+j]-want) > 1e-6 {
					t.Fatalf("%T: entry (%d, %d) is %v, want %v", s.Importance, r, j, got[i*60+j], want)
				}
			}
		}
	}
}

// TestNeighborErrors checks the errors of Prepare.
func TestNeighborErrors(t *testing.T) {
	p := graph.NewLaplacian(randomGraph(5, 8, false, 1))
	for name, s := range map[string]*Neighbor{
		"no Laplacian":      {Sizes: []int{2}},
		"no sizes":          {Laplacian: p},
		"size 0":            {Laplacian: p, Sizes: []int{2, 0}},
		"weight and draw":   {Laplacian: p, Sizes: []int{2}, Draw: WithReplacement{}, Weight: Debiased{}},
		"row norms too few": {Laplacian: p, Sizes: []int{2}, Importance: LADIES{RowNorms: make([]float32, 3)}},
	} {
		var batch MiniBatch
		if err := cmp.Or(Prepare(s), s.Sample(context.Background(), []int32{0}, rand.New(NewSource(1, 0, 0)), &batch)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestNeighborZeroNorms checks that neighbours of norm 0 are left out.
func TestNeighborZeroNorms(t *testing.T) {
	p := graph.NewLaplacian(randomGraph(40, 150, false, 2))
	s := &Neighbor{Laplacian: p, Sizes: []int{3}, Importance: LADIES{RowNorms: make([]float32, 40)}}
	var batch MiniBatch
	if err := Prepared(s).Sample(context.Background(), []int32{0, 1, 2}, rand.New(NewSource(1, 0, 0)), &batch); err != nil {
		t.Fatal(err)
	}
	if got := batch.Blocks[0].Matrix.NNZ(); got != 3 {
		t.Errorf("%d entries, want the three nodes' own", got)
	}
}
