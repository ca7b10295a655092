package notebook

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
	"github.com/gcn-layerwise/gcn/train"
)

// small opens a generated graph of 400 nodes.
func small(t testing.TB) *datasets.Data {
	t.Helper()
	data, err := datasets.Open(context.Background(), "synth:demo?nodes=400&edges=2000", datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// model builds a GCN of two layers over it.
func model(t testing.TB, data *datasets.Data) (train.Model, *layers.GCN) {
	t.Helper()
	sampler, err := samplers.ByName("ladies-flat-debiased", samplers.Config{Laplacian: data.Laplacian(), Layers: 2, Sizes: []int{64}})
	if err != nil {
		t.Fatal(err)
	}
	batch := layers.NewBatch(G.NewGraph(), sampler)
	gcn, err := layers.NewGCN(batch, data.Features, data.Labels, layers.GCNOptions{Hidden: 16, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return gcn, gcn
}

// wellFormed checks that text is XML with the given element outermost.
func wellFormed(t *testing.T, text, element string) {
	t.Helper()
	if !strings.HasPrefix(text, "<"+element) {
		t.Errorf("does not begin with <%s: %.60s", element, text)
	}
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("not XML: %v\n%s", err, text)
		}
	}
}

func TestChart(t *testing.T) {
	chart := Draw(&figure.Figure{Panels: []figure.Panel{{
		Title: "panel", X: "x", Y: "y", Lines: []figure.Series{{Name: "a & b", X: []float64{1, 2}, Y: []float64{3, 4}}},
	}}})
	wellFormed(t, chart.SVG(), "svg")
	if !strings.Contains(chart.SVG(), "a &amp; b") || !strings.Contains(chart.SVG(), "max-width:100%") {
		t.Error("the chart lacks its legend or its width")
	}
	// Narrow charts keep their size. Wide charts are scaled to the page.
	one := regexp.MustCompile(`^<svg width="([0-9]+)" height="([0-9]+)".* viewBox="0 0 ([0-9.]+) ([0-9.]+)"`)
	for panels := 1; panels <= 3; panels++ {
		wide := Draw(&figure.Figure{Panels: make([]figure.Panel, panels)})
		var width, height, across, down float64
		match := one.FindStringSubmatch(wide.SVG())
		if match == nil {
			t.Fatalf("no size in %.200s", wide.SVG())
		}
		for k, v := range []*float64{&width, &height, &across, &down} {
			*v, _ = strconv.ParseFloat(match[k+1], 64)
		}
		if want := min(across*4/3, 760); math.Abs(width-want) > 1 || math.Abs(width/height-across/down) > 0.02 {
			t.Errorf("%d panels: %v×%v for %v×%v points", panels, width, height, across, down)
		}
	}
	if got := chart.String(); got != "chart: panel" {
		t.Errorf("String() = %q", got)
	}
	// The picture of a figure that cannot be drawn is its error.
	bad := Draw(&figure.Figure{Panels: []figure.Panel{{Title: "<bad>", Lines: []figure.Series{{X: []float64{1}}}}}})
	wellFormed(t, bad.SVG(), "svg")
	if !strings.Contains(bad.SVG(), "&lt;bad&gt;") || !strings.Contains(bad.SVG(), "1 x, 0 y") {
		t.Errorf("no error in %s", bad.SVG())
	}
}

func TestSheet(t *testing.T) {
	s := NewSheet("a <title>", "name", "count", "value").
		Add("x&y", 3, 0.123456).
		Add("z", 12, study.Spread{N: 4, Mean: 0.71234, SEM: 0.0123}).
		Add("w", nil, math.NaN()).
		Add("short")
	wellFormed(t, s.HTML(), "table")
	for _, part := range []string{
		"a &lt;title&gt;", "x&amp;y", `<td style="text-align:right">12</td>`, `<td style="text-align:left">z</td>`,
		"0.1235", "0.712 ± 0.012", "–",
	} {
		if !strings.Contains(s.HTML(), part) {
			t.Errorf("no %q in %s", part, s.HTML())
		}
	}
	if len(s.rows) != 4 || s.rows[1][1] != "12" || s.rows[3][2] != "" {
		t.Errorf("rows %q", s.rows)
	}
	if plain := NewSheet("", "", "").Add("batches", 3); plain.String() != "batches  3\n" || strings.Contains(plain.HTML(), "<th") {
		t.Errorf("a table without a header:\n%s\n%s", plain, plain.HTML())
	}
	want := "a <title>\nname   count  value\nx&y    3      0.1235\n"
	if got := s.String(); !strings.HasPrefix(got, want) {
		t.Errorf("String() begins\n%q, want\n%q", got, want)
	}
}

func TestComparison(t *testing.T) {
	run := func(test float64, valid ...float64) *train.Result {
		h := &train.Result{Batches: 10 * len(valid), Test: test, TrainMS: 1.26}
		for k, v := range valid {
			h.Evaluations = append(h.Evaluations, train.Evaluation{Batch: 10 * (k + 1), Valid: v, Loss: 1})
			h.Best = max(h.Best, v)
		}
		return h
	}
	c := &Comparison{Title: "two methods", Metric: "accuracy"}
	c.Add("b", run(0.5, 0.25, 0.75, 0.5))
	c.Add("a", run(0.25, 0.5))
	c.Add("b", run(0.75, 0.75, 0.25))
	if got := c.Test("b"); got.N != 2 || got.Mean != 0.625 || math.Abs(got.SEM-0.125) > 1e-12 {
		t.Errorf("test %+v", got)
	}
	if got := c.Valid("b"); got.Mean != 0.75 || got.SEM != 0 {
		t.Errorf("validation %+v", got)
	}
	s := c.Sheet()
	if got := []string{s.rows[0][0], s.rows[0][1], s.rows[0][3], s.rows[0][4], s.rows[0][5], s.rows[1][0]}; !reflect.DeepEqual(got, []string{"b", "2", "0.62 ± 0.12", "25", "1.26", "a"}) {
		t.Errorf("cells %q", got)
	}
	// The mean curve ends with the shortest run.
	if got := c.Chart().figure.Panels[0].Lines[0]; !reflect.DeepEqual(got.X, []float64{10, 20}) || !reflect.DeepEqual(got.Y, []float64{0.5, 0.5}) || got.Error[0] != 0.25 {
		t.Errorf("mean curve %+v", got)
	}
	wellFormed(t, c.Chart().SVG(), "svg")
}

func TestMust(t *testing.T) {
	Must(nil)
	failed := errors.New("failed")
	defer func() {
		if got := recover(); got != failed {
			t.Errorf("recovered %v", got)
		}
	}()
	Must(failed)
}
