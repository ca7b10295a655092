package datasets

import (
	"math"
	"slices"
	"testing"
)

// The paper's summary of its data sets prints the split in per cent, and the number
// of edges beside the mean degree.
func TestPublishedFiguresAgree(t *testing.T) {
	split := map[string][3]float64{
		"Reddit": {66, 10, 24}, "ogbn-arxiv": {54, 18, 28}, "ogbn-mag": {85, 9, 6},
		"ogbn-proteins": {65, 16, 19}, "ogbn-products": {8, 2, 90},
	}
	for _, p := range PublishedFigures() {
		nodes := p.Nodes.Value
		parts := [3]float64{p.Train.Value, p.Valid.Value, p.Test.Value}
		if sum := parts[0] + parts[1] + parts[2]; sum != nodes {
			t.Errorf("%s: the split has %v of %v nodes", p.Name, sum, nodes)
		}
		for k, percent := range split[p.Name] {
			// The paper's numbers add up to 100, so it does not always round to the nearest.
			if got := 100 * parts[k] / nodes; math.Abs(got-percent) > 1 {
				t.Errorf("%s: part %d of the split has %.2f %%, the paper prints %v", p.Name, k, got, percent)
			}
		}
		// ogbn-arxiv lists some edges in both directions: 13.77 counts them twice.
		if mean := 2 * p.Edges.Value / nodes; math.Abs(mean-p.MeanDegree.Value) > 0.1 {
			t.Errorf("%s: %v edges make a mean degree of %.2f, published %v", p.Name, p.Edges.Value, mean, p.MeanDegree.Value)
		}
		if p.Classes.Known() == p.Tasks.Known() {
			t.Errorf("%s: classes %v, tasks %v: want one of them", p.Name, p.Classes, p.Tasks)
		}
		if !slices.Contains(Names(), p.Original) {
			t.Errorf("%s: no data set is called %s", p.Name, p.Original)
		}
	}
}

func TestTwinsHaveThePublishedCounts(t *testing.T) {
	models := make(map[string]synthModel)
	for _, m := range synthModels() {
		models["synth:"+m.name] = m
	}
	for _, p := range PublishedFigures() {
		m, ok := models[p.Twin]
		if !ok {
			t.Errorf("%s: no generated data set is called %s", p.Name, p.Twin)
			continue
		}
		got := []float64{float64(m.nodes), float64(m.edges), float64(m.features), float64(m.classes), float64(m.train), float64(m.valid)}
		want := []float64{p.Nodes.Value, p.Edges.Value, p.Features.Value, p.Classes.Value + p.Tasks.Value, p.Train.Value, p.Valid.Value}
		if !slices.Equal(got, want) || m.metric != p.Metric {
			t.Errorf("%s has nodes, edges, features, classes, training and validation nodes %v and %s; published %v and %s", p.Twin, got, m.metric, want, p.Metric)
		}
	}
}

func TestFigureAgrees(t *testing.T) {
	for _, c := range []struct {
		figure Figure
		v      float64
		want   bool
	}{
		{Figure{13.7, 0.05, "s"}, 13.674, true},
		{Figure{13.7, 0.05, "s"}, 13.75, true},
		{Figure{13.7, 0.05, "s"}, 13.76, false},
		{Figure{13.7, 0.05, "s"}, 13.64, false},
		{Figure{40, 0, "s"}, 40, true},
		{Figure{40, 0, "s"}, 41, false},
		{Figure{}, 3, true},
		{Figure{13.7, 0.05, "s"}, math.NaN(), false},
	} {
		if got := c.figure.Agrees(c.v); got != c.want {
			t.Errorf("%v agrees with %v: %v, want %v", c.figure, c.v, got, c.want)
		}
	}
}
