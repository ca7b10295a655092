package score

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
)

// slowCorrectSmooth is correct and smooth with one setting, by dense matrices in float64.
// sure is false where a scale is so near 1000 that rounding decides.
func slowCorrectSmooth(p []float32, d *datasets.Data, iterations int, alpha1, alpha2, scale float64) (g []float64, sure bool) {
	n, c := d.Nodes(), d.Labels.Classes
	s, degree := make([]float64, n*n), make([]float64, n)
	for i := range n {
		for k, j := range d.Graph.Row(i) {
			w := 1.0
			if v := d.Graph.RowValues(i); v != nil {
				w = float64(v[k])
			}
			s[i*n+int(j)] = w
			degree[i] += w
		}
	}
	for i := range n {
		for j := range n {
			if s[i*n+j] != 0 {
				s[i*n+j] /= math.Sqrt(degree[i] * degree[j])
			}
		}
	}
	times := func(x []float64) []float64 {
		y := make([]float64, n*c)
		for i := range n {
			for j := range n {
				for k := range c {
					y[i*c+k] += s[i*n+j] * x[j*c+k]
				}
			}
		}
		return y
	}
	train := make([]int, n)
	e0, sigma, labelled := make([]float64, n*c), 0.0, 0.0
	for i := range train {
		train[i] = -1
	}
	for _, v := range d.Split.Train {
		if y := int(d.Labels.Class[v]); y >= 0 {
			train[v] = y
			labelled++
			for k := range c {
				e0[int(v)*c+k] = -float64(p[int(v)*c+k])
				if k == y {
					e0[int(v)*c+k]++
				}
				sigma += math.Abs(e0[int(v)*c+k])
			}
		}
	}
	sigma /= labelled
	e := slices.Clone(e0)
	for range iterations {
		next := times(e)
		for x := range next {
			next[x] = (1-alpha1)*e0[x] + alpha1*next[x]
			if scale == 0 {
				next[x] = math.Max(-1, math.Min(1, next[x]))
			} else if train[x/c] >= 0 {
				next[x] = e0[x]
			}
		}
		e = next
	}
	g0 := make([]float64, n*c)
	sure = true
	for i := range n {
		factor := scale
		if scale == 0 {
			norm := 0.0
			for k := range c {
				norm += math.Abs(e[i*c+k])
			}
			factor = sigma / norm
			sure = sure && !(math.Abs(factor-1000) < 10)
			if math.IsNaN(factor) || factor > 1000 {
				factor = 1
			}
		}
		for k := range c {
			g0[i*c+k] = float64(p[i*c+k]) + factor*e[i*c+k]
			if train[i] >= 0 {
				g0[i*c+k] = 0
				if k == train[i] {
					g0[i*c+k] = 1
				}
			}
		}
	}
	g = slices.Clone(g0)
	for range iterations {
		next := times(g)
		for x := range next {
			next[x] = math.Max(0, math.Min(1, (1-alpha2)*g0[x]+alpha2*next[x]))
		}
		g = next
	}
	for i := range n {
		sum := 0.0
		for k := range c {
			sum += g[i*c+k]
		}
		sure = sure && !(sum > 0 && sum < 1e-2)
		for k := range c {
			if g[i*c+k] /= sum; sum == 0 {
				g[i*c+k] = float64(p[i*c+k])
			}
		}
	}
	return g, sure
}

func TestCorrectAndSmoothReference(t *testing.T) {
	var compared int
	rapid.Check(t, func(t *rapid.T) {
		n, classes := rapid.IntRange(2, 12).Draw(t, "nodes"), rapid.IntRange(1, 4).Draw(t, "classes")
		b, err := graph.NewBuilder(n)
		if err != nil {
			t.Fatal(err)
		}
		node := rapid.Int32Range(0, int32(n-1))
		weights := rapid.SampledFrom([][]float32{{1}, {1, 0.5, 3}}).Draw(t, "weights")
		for range rapid.IntRange(0, 25).Draw(t, "edges") {
			if err := b.AddWeighted(node.Draw(t, "u"), node.Draw(t, "v"), rapid.SampledFrom(weights).Draw(t, "weight")); err != nil {
				t.Fatal(err)
			}
		}
		a, _ := b.Build()
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		d, p := randomPredictions(a, classes, random)
		alpha := rapid.SampledFrom([]float64{0, 0.3, 0.9, 1})
		alpha1, alpha2 := alpha.Draw(t, "alpha1"), alpha.Draw(t, "alpha2")
		scale, iterations := rapid.SampledFrom([]float64{0, 0.7, 2}).Draw(t, "scale"), rapid.IntRange(1, 6).Draw(t, "iterations")
		want, sure := slowCorrectSmooth(p, d, iterations, alpha1, alpha2, scale)
		if !sure {
			return
		}
		compared++
		before := slices.Clone(p)
		got, chosen, err := CorrectAndSmooth(context.Background(), p, d, CorrectSmoothOptions{
			iterations: iterations, correctAlphas: []float64{alpha1}, smoothAlphas: []float64{alpha2}, factors: []float64{scale},
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(p, before) {
			t.Fatal("the model's probabilities changed")
		}
		if float64(chosen.CorrectAlpha) != alpha1 || float64(chosen.SmoothAlpha) != alpha2 || float64(chosen.Scale) != scale {
			t.Fatalf("chosen %+v", chosen)
		}
		for x := range want {
			if math.Abs(float64(got[x])-want[x]) > 2e-4 {
				t.Fatalf("node %d, class %d: %v, want %v", x/classes, x%classes, got[x], want[x])
			}
		}
	})
	if compared == 0 {
		t.Error("no graph was compared")
	}
}

// randomPredictions returns random classes, probabilities and a split of a graph: at least
// one node trains, and one validates.
func randomPredictions(a *graph.CSR, classes int, random *rand.Rand) (*datasets.Data, []float32) {
	n := a.Rows
	d := &datasets.Data{
		Graph: a, Features: &graph.Features{Rows: n, Cols: 1},
		Labels: &graph.Labels{Classes: classes, Class: make([]int32, n)}, Metric: datasets.Accuracy,
	}
	for i, v := range random.Perm(n) {
		d.Labels.Class[v] = random.Int32N(int32(classes))
		switch {
		case i%3 == 0:
			d.Split.Train = append(d.Split.Train, int32(v))
			if i > 0 && random.IntN(4) == 0 {
				d.Labels.Class[v] = -1
			}
		case i%3 == 1:
			d.Split.Valid = append(d.Split.Valid, int32(v))
		default:
			d.Split.Test = append(d.Split.Test, int32(v))
		}
	}
	p := make([]float32, n*classes)
	for x := range p {
		p[x] = random.Float32() * 4
	}
	softmax(p, classes)
	return d, p
}

// weakPredictions is synth:demo with probabilities that are little better than chance.
func weakPredictions(t *testing.T) (*datasets.Data, []float32) {
	t.Helper()
	d, err := datasets.Open(t.Context(), "synth:demo?nodes=2000&edges=12000", datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	p := make([]float32, d.Nodes()*d.Labels.Classes)
	for x := range p {
		p[x] = float32(random.NormFloat64())
		if int(d.Labels.Class[x/d.Labels.Classes]) == x%d.Labels.Classes {
			p[x]++
		}
	}
	softmax(p, d.Labels.Classes)
	return d, p
}

// Weak probabilities gain on the test nodes. The choice is the first best α₁ and scale without
// smoothing, then the first best α₂ with these, and the same for any number of cores.
func TestCorrectAndSmoothChoice(t *testing.T) {
	d, p := weakPredictions(t)
	last, total := 0, 0
	got, chosen, err := CorrectAndSmooth(t.Context(), p, d, CorrectSmoothOptions{iterations: 10, Progress: func(done, of int) { last, total = done, of }})
	if err != nil {
		t.Fatal(err)
	}
	if last != total || total != 19 {
		t.Errorf("progress ends with %d of %d", last, total)
	}
	score := func(p []float32, nodes []int32) float64 {
		var rows []float32
		for _, v := range nodes {
			rows = append(rows, p[int(v)*d.Labels.Classes:int(v+1)*d.Labels.Classes]...)
		}
		s, err := Of(d.Metric, rows, d.Labels, nodes)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if before, after := score(p, d.Split.Test), score(got, d.Split.Test); after < before+0.2 {
		t.Errorf("test accuracy %.3f, the model alone %.3f", after, before)
	}
	if float64(chosen.ModelValid) != score(p, d.Split.Valid) || float64(chosen.Valid) != score(got, d.Split.Valid) {
		t.Errorf("chosen %+v, the scores are %v and %v", chosen, score(p, d.Split.Valid), score(got, d.Split.Valid))
	}
	defaults := CorrectSmoothOptions{}.withDefaults()
	best := CorrectSmooth{Valid: -1}
	try := func(alpha1, scale, alpha2 float64) {
		_, one, err := CorrectAndSmooth(t.Context(), p, d, CorrectSmoothOptions{
			iterations: 10, correctAlphas: []float64{alpha1}, smoothAlphas: []float64{alpha2}, factors: []float64{scale},
		})
		if err != nil {
			t.Fatal(err)
		}
		if one.Valid > best.Valid {
			best = *one
		}
		if alpha1 == 0 && alpha2 == 0 && one.Valid != one.ModelValid {
			t.Errorf("alphas of 0 change the score: %+v", one)
		}
	}
	for _, alpha1 := range defaults.correctAlphas {
		for _, scale := range defaults.factors {
			try(alpha1, scale, 0)
		}
	}
	corrected := best
	for _, alpha2 := range defaults.smoothAlphas {
		try(float64(corrected.CorrectAlpha), float64(corrected.Scale), alpha2)
	}
	if *chosen != best {
		t.Errorf("chosen %+v, the first best is %+v", *chosen, best)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, cores := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(cores)
		again, _, err := CorrectAndSmooth(t.Context(), p, d, CorrectSmoothOptions{iterations: 10})
		if err != nil || !slices.Equal(again, got) {
			t.Errorf("%d cores: other bits, %v", cores, err)
		}
	}
}

// Labels outside the training and validation nodes change nothing. Labels of validation
// nodes change the choice alone.
func TestCorrectAndSmoothReadsNoTestLabels(t *testing.T) {
	d, p := weakPredictions(t)
	run := func(o CorrectSmoothOptions) []float32 {
		got, _, err := CorrectAndSmooth(t.Context(), p, d, o)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	tuned, one := CorrectSmoothOptions{iterations: 5}, CorrectSmoothOptions{
		iterations: 5, correctAlphas: []float64{0.8}, smoothAlphas: []float64{0.8}, factors: []float64{0},
	}
	wantTuned, wantOne := run(tuned), run(one)
	known := map[int32]bool{}
	for _, v := range slices.Concat(d.Split.Train, d.Split.Valid) {
		known[v] = true
	}
	for v := range d.Labels.Class {
		if !known[int32(v)] {
			d.Labels.Class[v] = (d.Labels.Class[v] + 1) % int32(d.Labels.Classes)
		}
	}
	if !slices.Equal(run(tuned), wantTuned) {
		t.Error("labels of test nodes change the result")
	}
	for _, v := range d.Split.Valid {
		d.Labels.Class[v] = (d.Labels.Class[v] + 1) % int32(d.Labels.Classes)
	}
	if !slices.Equal(run(one), wantOne) {
		t.Error("labels of validation nodes change the result of one setting")
	}
	d.Labels.Class[d.Split.Train[0]] = (d.Labels.Class[d.Split.Train[0]] + 1) % int32(d.Labels.Classes)
	if slices.Equal(run(one), wantOne) {
		t.Error("the label of a training node changes nothing")
	}
}

func TestCorrectAndSmoothErrors(t *testing.T) {
	a := &graph.CSR{Rows: 3, Cols: 3, Ptr: []int64{0, 1, 2, 2}, Idx: []int32{1, 0}}
	for want, change := range map[string]func(d *datasets.Data, p []float32, o *CorrectSmoothOptions){
		"binary tasks": func(d *datasets.Data, p []float32, o *CorrectSmoothOptions) {
			d.Labels = &graph.Labels{Tasks: 2, Multi: make([]float32, 6)}
		},
		"undirected":              func(d *datasets.Data, p []float32, o *CorrectSmoothOptions) { d.Directed = true },
		"labelled training nodes": func(d *datasets.Data, p []float32, o *CorrectSmoothOptions) { d.Split.Train = nil },
		"on validation nodes":     func(d *datasets.Data, p []float32, o *CorrectSmoothOptions) { d.Split.Valid = nil },
		"outside [0, 3)":          func(d *datasets.Data, p []float32, o *CorrectSmoothOptions) { d.Split.Valid[0] = 3 },
		"outside [0, 1]":          func(d *datasets.Data, p []float32, o *CorrectSmoothOptions) { p[1] = nan32 },
	} {
		d, p := randomPredictions(a, 2, rand.New(rand.NewPCG(1, 1)))
		var o CorrectSmoothOptions
		change(d, p, &o)
		if _, _, err := CorrectAndSmooth(t.Context(), p, d, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %q", err, want)
		}
	}
	d, p := randomPredictions(a, 2, rand.New(rand.NewPCG(1, 1)))
	if _, _, err := CorrectAndSmooth(t.Context(), p[:5], d, CorrectSmoothOptions{}); err == nil {
		t.Error("5 probabilities for 3 nodes and 2 classes: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := CorrectAndSmooth(ctx, p, d, CorrectSmoothOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	propagations := 0
	_, _, err := CorrectAndSmooth(ctx, p, d, CorrectSmoothOptions{correctAlphas: []float64{0.95}, smoothAlphas: []float64{0}, factors: []float64{0}, Progress: func(int, int) {
		propagations++
		cancel()
	}})
	if !errors.Is(err, context.Canceled) || propagations != 1 {
		t.Errorf("cancelled after the first propagation: %v after %d", err, propagations)
	}
}

// With both alphas 0 the rows of labelled training nodes become their labels, and the others
// stay the model's, up to the rounding of their sums.
func TestCorrectAndSmoothWithoutAlphas(t *testing.T) {
	const n = 40
	ring := &graph.CSR{Rows: n, Cols: n, Ptr: []int64{0}}
	for i := range int32(n) {
		ring.Idx = append(ring.Idx, min((i+1)%n, (i+n-1)%n), max((i+1)%n, (i+n-1)%n))
		ring.Ptr = append(ring.Ptr, int64(len(ring.Idx)))
	}
	d, _ := randomPredictions(ring, 3, rand.New(rand.NewPCG(1, 1)))
	d.Labels.Class[d.Split.Train[0]] = -1
	probabilities := slices.Repeat([]float32{0.5, 0.25, 0.25}, d.Nodes())
	out, _, err := CorrectAndSmooth(t.Context(), probabilities, d, CorrectSmoothOptions{correctAlphas: []float64{0}, smoothAlphas: []float64{0}, factors: []float64{0}})
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(probabilities)
	for _, v := range d.Split.Train {
		if d.Labels.Class[v] < 0 {
			continue
		}
		row := want[3*v : 3*v+3]
		clear(row)
		row[d.Labels.Class[v]] = 1
	}
	if !slices.Equal(out, want) {
		t.Errorf("rows %v, want %v", out, want)
	}
}
