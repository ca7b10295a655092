package datasets

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
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
			if c.large && os.Getenv("GCN_TEST_LARGE") == "" {
				t.Skip("takes up to a minute; set GCN_TEST_LARGE=1")
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
		got, err := EdgeHomophily(t.Context(), d)
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

// Two data sets that differ only in noise have the same graph and labels. The features
// differ for that share of the communities, less those whose random group is their own.
func TestSynthNoise(t *testing.T) {
	const noise = 0.3
	clean, noisy := synth(t, "synth:demo?noise=0"), synth(t, fmt.Sprintf("synth:demo?noise=%v", noise))
	a, b := open(t, "synth:demo?noise=0"), open(t, fmt.Sprintf("synth:demo?noise=%v", noise))
	if !cmp.Equal(a.Graph, b.Graph) || !cmp.Equal(a.Labels, b.Labels) {
		t.Error("noise changes more than the features")
	}
	c := clean.drawCommunities()
	plain, shown := clean.shownGroups(c), noisy.shownGroups(c)
	differ, same, before := 0.0, 0.0, 0.0
	for k := range plain {
		if plain[k] != c.group[k] {
			t.Fatalf("without noise, community %d of group %d has the features of group %d", k, c.group[k], plain[k])
		}
		if plain[k] != shown[k] {
			differ++
		}
		for _, i := range c.members(k) {
			if equal := a.Features.Data[int(i)*a.Features.Cols] == b.Features.Data[int(i)*b.Features.Cols]; equal != (plain[k] == shown[k]) {
				t.Fatalf("node %d of community %d: equal features: %v", i, k, equal)
			}
		}
	}
	for _, sum := range clean.zipf() {
		same += (sum - before) * (sum - before)
		before = sum
	}
	n := float64(len(plain))
	if want := noise * (1 - same); math.Abs(differ/n-want) > 4*math.Sqrt(want/n) {
		t.Errorf("%.3f of the communities changed, want %.3f", differ/n, want)
	}
}

// synth returns the model of a SPEC.
func synth(t *testing.T, spec string) *synthModel {
	t.Helper()
	parsed, err := parseSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	m, err := synthFromSpec(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Communities are sets of nodes of like degree. Each node is in one.
func TestSynthCommunities(t *testing.T) {
	m := synth(t, "synth:demo")
	c := m.drawCommunities()
	seen := make([]bool, m.nodes)
	for k := range c.count() {
		members := c.members(k)
		for p, i := range members {
			if seen[i] || c.of[i] != int32(k) || p > 0 && members[p-1] >= i {
				t.Fatalf("community %d has the nodes %v; node %d is in community %d", k, members, i, c.of[i])
			}
			seen[i] = true
		}
		first := c.degrees(int(c.start[k]))
		if want := int(1.5 + m.inside*first/m.density); len(members) > want || int(c.start[k]) < m.nodes*9/10 && len(members) != want {
			t.Errorf("community %d from place %d, degree %v, has %d nodes, want %d", k, c.start[k], first, len(members), want)
		}
	}
	if int(c.start[c.count()]) != m.nodes {
		t.Errorf("the communities have %d places, want %d", c.start[c.count()], m.nodes)
	}
}

// The degrees of the graph follow the expected ones.
func TestSynthDegrees(t *testing.T) {
	m, d := synth(t, "synth:demo"), open(t, "synth:demo")
	c := m.drawCommunities()
	var squares, degrees float64
	for p := 0; p < m.nodes; p += 100 { // means of 100 nodes of like degree
		var got, want float64
		for k := p; k < p+100; k++ {
			got += float64(d.Graph.Degree(int(c.member[k]))) / 100
			want += c.degrees(k) / 100
		}
		squares += (got - want) * (got - want) / want
		degrees++
	}
	// A degree has about the variance of a Poisson variable. Sizes of communities are
	// rounded, which is a small systematic error.
	if got := 100 * squares / degrees; got > 3 {
		t.Errorf("mean square of the standardised error is %.2f, want about 1", got)
	}
}

// Generating allocates no more memory than was checked before.
func TestSynthMemory(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates memory too")
	}
	for _, spec := range []string{"synth:products?nodes=50000", "synth:mag?nodes=50000&features=2", "synth:proteins?nodes=5000"} {
		m := synth(t, spec)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := m.generate(t.Context()); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		const slack = 1 << 20 // generators and goroutines
		if got, want := int64(after.TotalAlloc-before.TotalAlloc), m.bytes(int64(m.nodes))+slack; got > want {
			t.Errorf("%s allocates %d bytes, %d were checked", spec, got, want)
		}
	}
}

func TestDegreeLaw(t *testing.T) {
	for _, c := range []struct {
		law  degreeLaw
		n    int
		mean float64
	}{{degreeLaw{1, 1.77}, 169_343, 13.8}, {degreeLaw{1, 130}, 132_534, 597}, {degreeLaw{2, 2.5}, 100, 9}} {
		scale := c.law.scaleFor(c.n, c.mean)
		var sum float64
		for r := range c.n {
			sum += c.law.quantile(r, c.n, scale)
		}
		if got := sum / float64(c.n); math.Abs(got/c.mean-1) > 1e-3 {
			t.Errorf("%+v: mean %v, want %v", c.law, got, c.mean)
		}
		if least := c.law.quantile(0, c.n, scale); least < c.law.floor || least > c.law.floor+scale/float64(c.n) {
			t.Errorf("%+v: smallest degree %v", c.law, least)
		}
	}
}

func TestRunningSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Float64Range(0.001, 100), 1, 60).Draw(t, "weights")
		s := newRunningSum(len(weights), func(k int) float64 { return weights[k] })
		x := rapid.Float64Range(0, s.before[len(weights)]).Draw(t, "x")
		want := 0
		for want+1 < len(weights) && s.before[want+1] <= x {
			want++
		}
		if got := s.at(x, len(weights)); got != want {
			t.Fatalf("position %v is in entry %d, want %d of %v", x, got, want, s.before)
		}
	})
}

func TestFillFree(t *testing.T) {
	row := []int32{1, 3, 4, 0, 0, 0}
	fillFree(row, 3)
	if want := []int32{0, 1, 2, 3, 4, 5}; !cmp.Equal(row, want) {
		t.Errorf("got %v, want %v", row, want)
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
