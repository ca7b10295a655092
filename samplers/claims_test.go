package samplers_test

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/samplers/samplertest"
)

// estimates returns the last column of docs/methods.md's table of methods.
func estimates(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../docs/methods.md")
	if err != nil {
		t.Fatal(err)
	}
	estimate := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|.*\\| (.*?) \\|$").FindAllStringSubmatch(string(page), -1) {
		for _, name := range strings.Split(row[1], ", ") {
			estimate[strings.Trim(name, "`")] = row[2]
		}
	}
	return estimate
}

// TestClaims compares docs/methods.md's column on the estimate of each method with the
// mean of its estimates. Methods that draw their own output nodes have tests of
// their own.
func TestClaims(t *testing.T) {
	if testing.Short() || samplers.RaceDetector {
		t.Skip("40,000 batches a method; the contract runs concurrently under the race detector")
	}
	const nodes, width, batches = 300, 2, 40000
	p := graph.NewLaplacian(samplertest.RandomGraph(t, nodes, 1500, true, 4))
	rng := rand.New(samplers.NewSource(9, 0, 0))
	h := make([]float64, nodes*width)
	for i := range h {
		h[i] = 1 + rng.NormFloat64()
	}
	seeds := []int32{3, 50, 120, 121, 200, 299}
	said := estimates(t)
	for _, m := range samplers.Methods() {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			kind := regexp.MustCompile(`^\w*`).FindString(said[m.Name])
			s, err := samplers.ByName(m.Name, samplers.Config{Laplacian: p, Layers: 1, Sizes: sizesOf(m, 120)})
			if err != nil {
				t.Fatal(err)
			}
			var batch samplers.MiniBatch
			if err := samplers.Prepared(s).Sample(context.Background(), seeds, rand.New(samplers.NewSource(1, 0, 0)), &batch); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(batch.Outputs(), seeds) {
				t.Skip("it draws its own output nodes")
			}
			r, err := samplertest.Simulate(s, p, seeds, h, width, batches, 21)
			if err != nil {
				t.Fatal(err)
			}
			worst, bound := r.Worst(), r.Bound()
			switch kind {
			case "unbiased", "exact":
				if !(worst <= bound) {
					t.Errorf("docs/methods.md says %q, but the mean of P̃H is %.1f standard errors from PH, want at most %.2f", said[m.Name], worst, bound)
				}
			case "biased":
				if worst < 2*bound {
					t.Errorf("docs/methods.md says %q, but the mean of P̃H is within %.1f standard errors of PH", said[m.Name], worst)
				}
			default:
				t.Errorf("docs/methods.md says %q, want exact, unbiased or biased", said[m.Name])
			}
		})
	}
}

// sizesOf returns n nodes a layer, or 3 neighbours a node, or none.
func sizesOf(m samplers.Method, n int) []int {
	switch {
	case m.Sizes == "":
		return nil
	case strings.HasPrefix(m.Sizes, "neighbours"):
		return []int{3}
	}
	return []int{n}
}

// TestSizesAreOfTheirLayer checks that the first size belongs to the layer next to
// the output: one sample there gives a block of fewer entries than many.
func TestSizesAreOfTheirLayer(t *testing.T) {
	p := graph.NewLaplacian(samplertest.RandomGraph(t, 300, 3000, false, 4))
	seeds := []int32{1, 2, 3, 4, 5, 6, 7, 8}
	for _, m := range samplers.Methods() {
		if m.Sizes == "" {
			continue
		}
		var entries [2]int
		for k, sizes := range [][]int{{1, 200}, {200, 1}} {
			s, err := samplers.ByName(m.Name, samplers.Config{Laplacian: p, Layers: 2, Sizes: sizes})
			if err != nil {
				t.Fatal(err)
			}
			var batch samplers.MiniBatch
			if err := samplers.Prepared(s).Sample(context.Background(), seeds, rand.New(samplers.NewSource(1, 0, 0)), &batch); err != nil {
				t.Fatal(err)
			}
			entries[k] = len(batch.Blocks[1].Matrix.Idx)
		}
		if entries[0] >= entries[1] {
			t.Errorf("%s: the block next to the output has %d entries for sizes 1,200 and %d for 200,1, want fewer", m.Name, entries[0], entries[1])
		}
	}
}

// TestSizesAreMet counts the entries of a row of 400 neighbours, all of them
// candidates: a layer draws as many nodes as its size says, and a node that many
// neighbours beside itself.
func TestSizesAreMet(t *testing.T) {
	const leaves, size, batches = 400, 20, 2000
	b, err := graph.NewBuilder(leaves + 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(leaves) {
		if err := b.Add(0, i+1); err != nil {
			t.Fatal(err)
		}
	}
	adjacency, _ := b.Build()
	p := graph.NewLaplacian(adjacency)
	for _, m := range samplers.Methods() {
		if m.Sizes == "" {
			continue
		}
		s, err := samplers.ByName(m.Name, samplers.Config{Laplacian: p, Layers: 2, Sizes: []int{size}})
		if err != nil {
			t.Fatal(err)
		}
		var batch samplers.MiniBatch
		entries, want := 0.0, float64(size)
		if strings.HasPrefix(m.Sizes, "neighbours") {
			want++ // the node itself
		}
		for k := range batches {
			if err := samplers.Prepared(s).Sample(context.Background(), []int32{0}, rand.New(samplers.NewSource(1, 0, uint64(k))), &batch); err != nil {
				t.Fatal(err)
			}
			entries += float64(len(batch.Blocks[1].Matrix.Idx)) / batches
		}
		if math.Abs(entries-want) > 0.5 {
			t.Errorf("%s, size %d: %.2f entries a row, want %.0f", m.Name, size, entries, want)
		}
	}
}

// TestMethodsRefuse checks that each method refuses settings that it cannot use. If it has
// nominal sizes, there is one for each layer and one for the outputs.
func TestMethodsRefuse(t *testing.T) {
	p := graph.NewLaplacian(samplertest.RandomGraph(t, 30, 60, false, 4))
	for _, m := range samplers.Methods() {
		for what, c := range map[string]samplers.Config{
			"no Laplacian": {Layers: 2, Sizes: sizesOf(m, 5)},
			"no layers":    {Laplacian: p, Sizes: sizesOf(m, 5)},
			"size 0":       {Laplacian: p, Layers: 2, Sizes: []int{5, 0}},
			"size −1":      {Laplacian: p, Layers: 2, Sizes: []int{-1, 5}},
		} {
			if strings.HasPrefix(what, "size") && m.Sizes == "" {
				continue
			}
			if _, err := samplers.ByName(m.Name, c); err == nil {
				t.Errorf("%s takes %s", m.Name, what)
			}
		}
		s, err := samplers.ByName(m.Name, samplers.Config{Laplacian: p, Layers: 2, Sizes: sizesOf(m, 5)})
		if err != nil {
			t.Fatal(err)
		}
		sized, ok := s.(interface{ NominalSizes() []int })
		if !ok {
			continue
		}
		sizes := sized.NominalSizes()
		if len(sizes) != 3 || slices.Min(sizes) < 1 {
			t.Errorf("%s: nominal sizes %v of 2 layers, want three, from 1 up", m.Name, sizes)
		}
	}
}

// TestEverySamplerHasAMethod checks that every type with a method Sample is in the
// table of methods.
func TestEverySamplerHasAMethod(t *testing.T) {
	table, err := os.ReadFile("methods.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func \(\w+ \*?([A-Z]\w*)\) Sample\(`).FindAllStringSubmatch(string(text), -1) {
			if !strings.HasSuffix(file, "_test.go") && !strings.Contains(string(table), "&"+m[1]+"{") {
				t.Errorf("%s: sampler %s has no entry in the table of methods.go", file, m[1])
			}
		}
	}
}
