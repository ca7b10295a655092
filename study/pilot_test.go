package study

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
)

func openSynth(t *testing.T, spec string) *datasets.Data {
	t.Helper()
	data, err := datasets.Open(t.Context(), spec, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestPilotAges checks that the history of age t is the history of a run that ended t mini-batches
// earlier, and that age 0 without dropout is the activations themselves.
func TestPilotAges(t *testing.T) {
	data := openSynth(t, "synth:demo?nodes=600&edges=3000")
	pilot := Pilot{Data: data, Hidden: 8, Dropout: layers.NoDropout, Batch: 32, Samples: 16, Batches: 12, Seed: 3, Ages: []int{0, 5, 12}}
	hw, histories, err := pilot.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	difference := func(a, b []float32) (most float64) {
		for k := range a {
			most = max(most, math.Abs(float64(a[k]-b[k])))
		}
		return most
	}
	if d := difference(hw.Data, histories[0].Product.Data); d != 0 {
		t.Errorf("the history of age 0 differs by %v", d)
	}
	if five, twelve := difference(hw.Data, histories[1].Product.Data), difference(hw.Data, histories[2].Product.Data); !(0 < five && five < twelve) {
		t.Errorf("histories of age 5 and 12 differ by %v and %v from the activations, want more with age", five, twelve)
	}
	short := pilot
	short.Batches, short.Ages = 7, []int{0}
	d := &datasets.Data{Graph: data.Graph, Features: data.Features, Labels: data.Labels, Split: datasets.Split{Train: data.Split.Train}, Metric: data.Metric}
	if err := short.check(); err != nil {
		t.Fatal(err)
	}
	m, _, err := short.train(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	h, err := short.activations(t.Context(), m, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := pilot.check(); err != nil {
		t.Fatal(err)
	}
	long, past, err := pilot.train(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	setParameters(long, past[1])
	earlier, err := pilot.activations(t.Context(), long, d)
	if err != nil {
		t.Fatal(err)
	}
	if d := difference(h.Data, earlier.Data); d != 0 {
		t.Errorf("the activations 5 mini-batches before the end differ by %v from the activations of a run that ended there", d)
	}
	pilot.Dropout = 0 // the paper's
	masked, histories, err := pilot.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := difference(masked.Data, histories[0].Product.Data); d == 0 {
		t.Error("with dropout, H has no mask")
	}
}

// TestApproxErrorControl compares the error of ladies-cv with the error of the plain method
// on the change of the activations, which has the same samples.
func TestApproxErrorControl(t *testing.T) {
	p := randomLaplacian(t, 200, 900, true, 5)
	hw := randomRows(200, 4, 0, 6)
	near1 := randomRows(200, 4, 0, 7)
	for k := range near1.Data {
		near1.Data[k] = hw.Data[k] + 0.1*near1.Data[k]
	}
	s := ApproxError{
		Laplacian: p, Product: hw, Nodes: allNodes(150), Sizes: []int{2, 32}, Batch: 16, Repeats: 40, Seed: 2,
		Histories: []History{{Age: 3, Product: near1}, {Age: 9, Product: randomRows(200, 4, 0, 8)}},
	}
	for _, name := range []string{"ladies-flat-debiased", "ladies-cv", "vrgcn"} {
		c, err := ContenderByName(name, p, s.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		s.Methods = append(s.Methods, c)
	}
	table, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 10 {
		t.Fatalf("%d rows, want 2 sizes of one method and of two methods with two ages", len(table.Rows))
	}
	plain := ApproxError{Laplacian: p, Nodes: s.Nodes, Sizes: s.Sizes, Batch: 16, Repeats: 40, Seed: 2, Methods: s.Methods[:1]}
	plain.Product = randomRows(200, 4, 0, 6)
	for k, v := range near1.Data {
		plain.Product.Data[k] -= v
	}
	change, err := plain.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for k, size := range s.Sizes {
		near(t, "error of ladies-cv", table.Row("ladies-cv, age 3", size).Mean, change.Rows[k].Mean, 1e-6)
		row := table.Row("ladies-cv, age 9", size)
		if math.Abs(row.Bias2) > 5*row.Bias2SEM {
			t.Errorf("ladies-cv has bias² %v ± %v", row.Bias2, row.Bias2SEM)
		}
	}
	if young, old := table.Row("vrgcn, age 3", 2).Mean, table.Row("vrgcn, age 9", 2).Mean; !(0 < young && young < 0.2*old) {
		t.Errorf("vrgcn: error %v with a history near the activations, %v with another", young, old)
	}

	s.Histories = nil
	if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "needs a history") {
		t.Errorf("without a history: %v", err)
	}
	s.Histories = []History{{Product: randomRows(199, 4, 0, 1)}}
	if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "199 rows") {
		t.Errorf("with a history of another graph: %v", err)
	}
}

// TestApproxErrorOfRescaledNoise measures ladies-cv with noise in HW. If all candidates are
// drawn, its error with a fresh history is the noise over all neighbours; with fewer it is
// P diag(√β) times the noise.
func TestApproxErrorOfRescaledNoise(t *testing.T) {
	p := randomLaplacian(t, 200, 900, true, 5)
	undropped, noisy := randomRows(200, 4, 0, 6), randomRows(200, 4, 0, 6)
	noise := randomRows(200, 4, 0, 7)
	for k, v := range noise.Data {
		noisy.Data[k] += v
	}
	c, err := ContenderByName("ladies-cv", p, allNodes(150))
	if err != nil {
		t.Fatal(err)
	}
	s := ApproxError{
		Laplacian: p, Product: noisy, Undropped: undropped, Nodes: allNodes(150), Sizes: []int{16, 200}, Batch: 16, Repeats: 20, Seed: 2,
		Methods: []Contender{c}, Histories: []History{{Product: undropped}},
	}
	table, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	near(t, "error with all candidates", table.Row("ladies-cv, age 0", 200).Mean, table.Noise, 1e-6)
	few := table.Row("ladies-cv, age 0", 16)
	if !(few.Mean > table.Noise/2 && few.Mean < 2*table.Noise) {
		t.Errorf("error with 16 nodes is %v, of the noise over all neighbours %v", few.Mean, table.Noise)
	}
	s.Histories = []History{{Product: randomRows(200, 4, 0, 8)}} // the change has a variance of its own
	if table, err = s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	near(t, "error with all candidates and an old history", table.Row("ladies-cv, age 0", 200).Mean, table.Noise, 1e-5)
	if old := table.Row("ladies-cv, age 0", 16).Mean; !(old > 1.5*few.Mean) {
		t.Errorf("error %v with an old history, %v with a fresh one", old, few.Mean)
	}
	s.Undropped = randomRows(199, 4, 0, 1)
	if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "199 rows") {
		t.Errorf("without dropout, of another graph: %v", err)
	}
}

// TestPilotRefuses checks the errors of settings that cannot work.
func TestPilotRefuses(t *testing.T) {
	data := openSynth(t, "synth:demo?nodes=300&edges=900")
	for words, pilot := range map[string]Pilot{
		"needs data":   {},
		"age 11":       {Data: data, Batches: 10, Ages: []int{11}},
		"rate below 1": {Data: data, Dropout: 1},
	} {
		if _, _, err := pilot.Run(t.Context()); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("error %v, want one with %q", err, words)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := (Pilot{Data: data, Batches: 3}).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}
