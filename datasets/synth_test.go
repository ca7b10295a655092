package datasets

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/internal/longtest"
)

func TestSynthCounts(t *testing.T) {
	for _, c := range []struct {
		spec               string
		nodes, features    int
		edges              int64
		classes, tasks     int
		train, valid, test int
		metric             Metric
		large              bool
	}{
		{"synth:demo", 20_000, 64, 150_000, 10, 0, 10_000, 4_000, 6_000, Accuracy, false},
		{"synth:arxiv", 169_343, 128, 1_166_243, 40, 0, 90_941, 29_799, 48_603, Accuracy, false},
		{"synth:reddit?features=2", 232_965, 2, 11_606_919, 41, 0, 153_431, 23_831, 55_703, MicroF1, true},
		{"synth:proteins", 132_534, 8, 39_561_252, 0, 112, 86_619, 21_236, 24_679, ROCAUC, true},
		{"synth:mag?features=2", 736_389, 2, 5_396_336, 349, 0, 629_571, 64_879, 41_939, Accuracy, true},
		{"synth:products?features=2", 2_449_029, 2, 61_859_140, 47, 0, 196_615, 39_323, 2_213_091, Accuracy, true},
		{"synth:demo?nodes=1000&edges=499500&features=3&classes=4", 1000, 3, 499_500, 4, 0, 500, 200, 300, Accuracy, false}, // complete
		{"synth:reddit?nodes=5000", 5_000, 602, 249_113, 41, 0, 3293, 511, 1196, MicroF1, false},
		{"synth:mag?nodes=10000&features=2", 10_000, 2, 73_281, 349, 0, 8549, 881, 570, Accuracy, false},
		{"synth:products?nodes=10000&features=2", 10_000, 2, 252_586, 47, 0, 803, 161, 9036, Accuracy, false},
		{"synth:proteins?nodes=500", 500, 8, 124_750, 0, 112, 327, 80, 93, ROCAUC, false},
		{"synth:papers100M?nodes=200&features=2", 200, 2, 2910, 172, 0, 2, 0, 1, Accuracy, false}, // few labels
		{"synth:demo?nodes=1&edges=0", 1, 64, 0, 10, 0, 1, 0, 0, Accuracy, false},
		{"synth:demo?nodes=2&homophily=1", 2, 64, 1, 10, 0, 1, 0, 1, Accuracy, false},
	} {
		t.Run(c.spec, func(t *testing.T) {
			if c.large {
				longtest.Skip(t)
			}
			d := open(t, c.spec)
			if err := d.Validate(); err != nil { // symmetric, no loops, no repeats
				t.Fatal(err)
			}
			got := Describe(d)
			if got.Nodes != c.nodes || got.Edges != c.edges || got.Features != c.features || got.Classes != c.classes || got.Tasks != c.tasks || got.Metric != c.metric {
				t.Errorf("got %+v", got)
			}
			if want := (SplitSizes{c.train, c.valid, c.test}); got.Split != want {
				t.Errorf("split %+v, want %+v", got.Split, want)
			}
		})
	}
}

// fingerprint hashes everything in a data set.
func fingerprint(d *Data) uint64 {
	h := fnv.New64a()
	for _, part := range []any{d.Graph.Ptr, d.Graph.Idx, d.Features.Data, d.Labels.Class, d.Labels.Multi, d.Split.Train, d.Split.Valid, d.Split.Test} {
		if err := binary.Write(h, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	return h.Sum64()
}

func TestSynthSameForAnyCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, spec := range []string{"synth:demo", "synth:proteins?nodes=5000&edges=100000"} {
		var want uint64
		for _, procs := range []int{1, 2, 7} {
			runtime.GOMAXPROCS(procs)
			got := fingerprint(open(t, spec))
			if procs == 1 {
				want = got
			} else if got != want {
				t.Errorf("%s differs between 1 and %d processors", spec, procs)
			}
		}
		if fingerprint(open(t, withKey(spec, "seed=2"))) == want {
			t.Errorf("%s: seeds 1 and 2 give the same data", spec)
		}
	}
}

func withKey(spec, pair string) string {
	for _, c := range spec {
		if c == '?' {
			return spec + "&" + pair
		}
	}
	return spec + "?" + pair
}

// Any feasible number of edges comes out exactly, on graphs of any density.
func TestSynthExactEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 80).Draw(t, "nodes")
		edges := rapid.IntRange(0, n*(n-1)/2).Draw(t, "edges")
		spec := fmt.Sprintf("synth:demo?nodes=%d&edges=%d&classes=%d&features=1&seed=%d&homophily=%v", n, edges,
			rapid.IntRange(1, 20).Draw(t, "classes"), rapid.Uint64().Draw(t, "seed"), rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "homophily"))
		d, err := Open(t.Context(), spec, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d.Edges() != int64(edges) {
			t.Fatalf("%s: %d edges", spec, d.Edges())
		}
	})
}

// The share of edges within a class is the requested one, or that by chance if it is
// larger.
func TestSynthHomophily(t *testing.T) {
	for _, want := range []float64{0, 0.3, 0.6, 0.9} {
		d := open(t, fmt.Sprintf("synth:demo?homophily=%v", want))
		got, err := edgeHomophily(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		var chance float64
		mass := make([]float64, d.Labels.Classes)
		for i := range d.Nodes() {
			mass[d.Labels.Class[i]] += float64(d.Graph.Degree(i))
		}
		for _, m := range mass {
			chance += m * m / float64(d.Graph.NNZ()) / float64(d.Graph.NNZ())
		}
		if expected := max(want, chance); math.Abs(got-expected) > 0.02 {
			t.Errorf("homophily %v: %.3f of the edges are within a class, want %.3f", want, got, expected)
		}
	}
}

func BenchmarkSynth(b *testing.B) {
	for _, spec := range []string{"synth:demo", "synth:arxiv"} {
		b.Run(spec, func(b *testing.B) {
			for b.Loop() {
				open(b, spec)
			}
		})
	}
}
