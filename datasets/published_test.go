package datasets

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/longtest"
	"github.com/gcn-layerwise/gcn/internal/synth"
)

// The paper's summary of its data sets prints the split in per cent, and the number
// of edges beside the mean degree.
func TestPublishedFiguresAgree(t *testing.T) {
	split := map[string][3]float64{
		"Reddit": {66, 10, 24}, "ogbn-arxiv": {54, 18, 28}, "ogbn-mag": {85, 9, 6},
		"ogbn-proteins": {65, 16, 19}, "ogbn-products": {8, 2, 90},
	}
	for _, p := range published()[:5] {
		nodes := p.Figures["nodes"].Value
		parts := [3]float64{p.Figures["training nodes"].Value, p.Figures["validation nodes"].Value, p.Figures["test nodes"].Value}
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
		if mean := 2 * p.Figures["edges"].Value / nodes; math.Abs(mean-p.Figures["mean degree"].Value) > 0.1 {
			t.Errorf("%s: %v edges make a mean degree of %.2f, published %v", p.Name, p.Figures["edges"].Value, mean, p.Figures["mean degree"].Value)
		}
		if p.Figures["classes"].Known() == p.Figures["binary tasks"].Known() {
			t.Errorf("%s: classes %v, tasks %v: want one of them", p.Name, p.Figures["classes"], p.Figures["binary tasks"])
		}
		if !slices.Contains(Names(), p.Original) {
			t.Errorf("%s: no data set is called %s", p.Name, p.Original)
		}
	}
}

func TestTwinsHaveThePublishedCounts(t *testing.T) {
	models := make(map[string]synth.Model)
	for _, m := range synth.Models() {
		models["synth:"+m.Name] = m
	}
	for _, p := range published()[:5] {
		m, ok := models[p.Twin]
		if !ok {
			t.Errorf("%s: no generated data set is called %s", p.Name, p.Twin)
			continue
		}
		got := []float64{float64(m.Nodes), float64(m.Edges), float64(m.Features), float64(m.Classes), float64(m.Train), float64(m.Valid)}
		want := []float64{p.Figures["nodes"].Value, p.Figures["edges"].Value, p.Figures["features"].Value, p.Figures["classes"].Value + p.Figures["binary tasks"].Value, p.Figures["training nodes"].Value, p.Figures["validation nodes"].Value}
		if !slices.Equal(got, want) || Metric(m.Metric) != p.Metric {
			t.Errorf("%s has nodes, edges, features, classes, training and validation nodes %v and %s; published %v and %s", p.Twin, got, m.Metric, want, p.Metric)
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

func TestFindPublished(t *testing.T) {
	for spec, want := range map[string]string{
		"ogbn-arxiv": "ogbn-arxiv", "ogbn-papers100M": "ogbn-papers100M", "synth:papers100M": "", "ogbn-mag?normalize=row": "ogbn-mag", "reddit-saint": "Reddit", "reddit": "Reddit with all edges",
		"synth:arxiv": "ogbn-arxiv twin", "synth:products?seed=3": "ogbn-products twin",
		"synth:arxiv?nodes=500": "", "synth:arxiv?homophily=0.2": "", "synth:demo": "", "cora": "", "ogb:ogbn-arxiv": "", ":": "",
	} {
		got := ""
		if p, twin := FindPublished(spec); p != nil {
			got = p.Name
			if twin {
				got += " twin"
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
}

// TestCompare compares a small data set with figures of its own, and with these figures
// changed one by one.
func TestCompare(t *testing.T) {
	d := made(t, 60, 4)
	info := Describe(d)
	figure := func(v float64) Figure { return Figure{v, 1e-9, "made"} }
	p := Published{Figures: map[string]Figure{
		"nodes": figure(60), "edges": figure(float64(info.Edges)), "features": figure(float64(info.Features)), "classes": figure(float64(info.Classes)),
		"training nodes": figure(float64(info.Split.Train)), "validation nodes": figure(float64(info.Split.Valid)), "test nodes": figure(float64(info.Split.Test)),
		"mean degree": figure(info.Degree.Mean), "largest degree": figure(float64(info.Degree.Max)),
	}}
	differing := func() (names string) {
		all := p.Compare(d)
		if len(all) != 9 {
			t.Fatalf("%d figures", len(all))
		}
		for _, c := range all {
			if !c.Agrees {
				names += c.Name
			}
		}
		return names
	}
	if names := differing(); names != "" {
		t.Errorf("%s: differ from the same figures", names)
	}
	for name, f := range p.Figures {
		p.Figures[name] = figure(f.Value + 0.01)
		if names := differing(); names != name {
			t.Errorf("with other %s, these differ: %q", name, names)
		}
		p.Figures[name] = f
	}

	// The edges that the source lists agree too.
	p.Figures["edges"], d.Report.Given = figure(1000), 1000
	if names := differing(); names != "" {
		t.Errorf("%s: differ, with the source's number of edges", names)
	}
}

// TestCompareArxiv compares OGB's own labels and split of ogbn-arxiv with the published
// figures. The edges and features are made here.
func TestCompareArxiv(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 169,343 nodes")
	}
	dir := filepath.Join(t.TempDir(), "ogbn_arxiv")
	source := filepath.Join(filepath.FromSlash(shared), "ogbn-arxiv-partial", "ogbn_arxiv")
	if _, err := os.Stat(source); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"raw/node-label", "raw/num-node-list", "split/time/train", "split/time/valid", "split/time/test"} {
		content, err := os.ReadFile(filepath.Join(source, name+".csv.gz"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name+".csv.gz"), content)
	}
	const nodes, edges = 169_343, 1_166_243
	var lines strings.Builder
	for k := range edges { // a circulant graph: every node has its next neighbours
		i, step := k%nodes, 1+k/nodes
		fmt.Fprintf(&lines, "%d,%d\n", i, (i+step)%nodes)
	}
	write(t, filepath.Join(dir, "raw/edge.csv.gz"), zipped(t, lines.String()))
	write(t, filepath.Join(dir, "raw/node-feat.csv.gz"), zipped(t, strings.Repeat("0,1\n", nodes)))

	d := open(t, "ogb:"+dir)
	p, _ := FindPublished("ogbn-arxiv")
	all := p.Compare(d)
	// No two of these edges join the same nodes, as some of the original's do.
	differ := []string{"features", "mean degree", "largest degree"}
	for _, c := range all {
		if c.Agrees == slices.Contains(differ, c.Name) {
			t.Errorf("%s: found %v, published %v", c.Name, c.Found, c.Published)
		}
	}
}

// TestTwinsAgree compares the counts, degrees, clustering and homophily of the generated
// twins with the published figures: each within 5 %.
func TestTwinsAgree(t *testing.T) {
	for _, p := range published()[:5] {
		t.Run(p.Twin, func(t *testing.T) {
			if p.Twin != "synth:arxiv" {
				longtest.Skip(t)
			}
			d := open(t, p.Twin)
			all := p.Compare(d)
			homophily, err := edgeHomophily(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			local, _, err := clustering(t.Context(), d.Graph, 10_000)
			if err != nil {
				t.Fatal(err)
			}
			for name, found := range map[string]float64{"clustering": local, "homophily": homophily} {
				if figure := p.Figures[name]; figure.Known() {
					all = append(all, Comparison{Name: name, Published: figure.Value, Found: found})
				}
			}
			for _, c := range all {
				if math.Abs(c.Found/c.Published-1) > 0.05 {
					t.Errorf("%s is %v, published %v", c.Name, c.Found, c.Published)
				}
			}
		})
	}
}
