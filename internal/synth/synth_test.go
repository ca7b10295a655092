package synth

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/graph"
)

// model returns a model by its name.
func model(name string) *Model {
	for _, m := range Models() {
		if m.Name == name {
			return &m
		}
	}
	return nil
}

// drawn is everything that a source gives.
type drawn struct {
	graph    *graph.CSR
	features []float32
	labels   *graph.Labels
	split    [3][]int32
}

func draw(t *testing.T, s *Source) (d drawn) {
	t.Helper()
	b, err := graph.NewBuilder(s.Nodes)
	if err == nil {
		err = s.Edges(t.Context(), b.AddEdges)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.graph, _ = b.Build()
	if d.labels, d.split, err = s.Labels(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = s.Features(t.Context(), math.MaxInt, func(rows []float32) error {
		d.features = rows
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The pieces of a source are the whole.
func TestPieces(t *testing.T) {
	m := model("demo")
	m.Resize(2*256*chunkNodes/100 + 5) // several chunks, the last one short
	s := m.Source()
	want := draw(t, s)
	at := 0
	err := s.Features(t.Context(), 2*chunkNodes*m.Features, func(piece []float32) error {
		if len(piece) > 2*chunkNodes*m.Features || !slices.Equal(piece, want.features[at:at+len(piece)]) {
			t.Errorf("features from %d on differ", at)
		}
		at += len(piece)
		return nil
	})
	if err != nil || at != len(want.features) {
		t.Errorf("%v, %d of %d features", err, at, len(want.features))
	}
	b, err := graph.NewBuilder(m.Nodes)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[graph.Edge]bool{}
	err = s.Edges(t.Context(), func(edges []graph.Edge) error {
		for _, e := range edges {
			if e.V >= e.U || seen[e] {
				t.Errorf("edge %v is there twice, or not below the diagonal", e)
			}
			seen[e] = true
		}
		return b.AddEdges(edges)
	})
	if err != nil {
		t.Error(err)
	}
	if got, report := b.Build(); report.Given != m.Edges || report.Edges != m.Edges || !cmp.Equal(got, want.graph) {
		t.Errorf("%+v", report)
	}
	stop := errors.New("stop")
	if err := s.Edges(t.Context(), func([]graph.Edge) error { return stop }); err != stop {
		t.Errorf("error %v of yield is not returned", err)
	}
}

// Two data sets that differ only in noise have the same graph and labels. The features
// differ for that share of the communities, less those whose random group is their own.
func TestSynthNoise(t *testing.T) {
	const noise = 0.3
	m := model("demo")
	m.Noise = 0
	clean := m.Source()
	m.Noise = noise
	noisy := m.Source()
	a, b := draw(t, clean), draw(t, noisy)
	if !cmp.Equal(a.graph, b.graph) || !cmp.Equal(a.labels, b.labels) {
		t.Error("noise changes more than the features")
	}
	c, width := clean.c, clean.Model.Features
	plain, shown := clean.shownGroups(), noisy.shownGroups()
	differ, same, before := 0.0, 0.0, 0.0
	for k := range plain {
		if plain[k] != c.group[k] {
			t.Fatalf("without noise, community %d of group %d has the features of group %d", k, c.group[k], plain[k])
		}
		if plain[k] != shown[k] {
			differ++
		}
		for _, i := range c.members(k) {
			if equal := a.features[int(i)*width] == b.features[int(i)*width]; equal != (plain[k] == shown[k]) {
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

// Communities are sets of nodes of like degree. Each node is in one.
func TestSynthCommunities(t *testing.T) {
	m := model("demo").Source()
	c := m.c
	seen := make([]bool, m.Nodes)
	for k := range c.count() {
		members := c.members(k)
		for p, i := range members {
			if seen[i] || c.of[i] != int32(k) || p > 0 && members[p-1] >= i {
				t.Fatalf("community %d has the nodes %v; node %d is in community %d", k, members, i, c.of[i])
			}
			seen[i] = true
		}
		first := c.degrees(int(c.start[k]))
		if want := int(1.5 + m.Inside*first/m.Density); len(members) > want || int(c.start[k]) < m.Nodes*9/10 && len(members) != want {
			t.Errorf("community %d from place %d, degree %v, has %d nodes, want %d", k, c.start[k], first, len(members), want)
		}
	}
	if int(c.start[c.count()]) != m.Nodes {
		t.Errorf("the communities have %d places, want %d", c.start[c.count()], m.Nodes)
	}
}

// The degrees of the graph follow the expected ones.
func TestSynthDegrees(t *testing.T) {
	m := model("demo").Source()
	d, c := draw(t, m), m.c
	var squares, degrees float64
	for p := 0; p < m.Nodes; p += 100 { // means of 100 nodes of like degree
		var got, want float64
		for k := p; k < p+100; k++ {
			got += float64(d.graph.Degree(int(c.member[k]))) / 100
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
	if testing.Short() {
		t.Skip("the race detector, which runs short tests, allocates memory too")
	}
	for _, c := range []struct {
		name            string
		nodes, features int
	}{{"products", 50000, 100}, {"mag", 50000, 2}, {"proteins", 5000, 8}} {
		m := model(c.name)
		m.Resize(c.nodes)
		m.Features = c.features
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		draw(t, m.Source())
		runtime.ReadMemStats(&after)
		const slack = 1 << 20 // generators and goroutines
		if got, want := int64(after.TotalAlloc-before.TotalAlloc), m.Bytes()+slack; got > want {
			t.Errorf("%s allocates %d bytes, %d were checked", c.name, got, want)
		}
	}
	m := model("papers100M")
	if m.Features, m.Edges = 1<<16, 1<<61; m.Bytes() != -1 {
		t.Errorf("more than an int64 holds: %d bytes", m.Bytes())
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
		if least := c.law.quantile(0, c.n, scale); least < c.law.Floor || least > c.law.Floor+scale/float64(c.n) {
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
