package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
)

func TestVerifyTwin(t *testing.T) {
	if testing.Short() {
		t.Skip("generates 169,343 nodes")
	}
	out := succeed(t, "datasets", "verify", "synth:arxiv").stdout
	for _, want := range []string{"valid", "169,343", "mean degree", "arXiv:2005.00687"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "this is the original") {
		t.Errorf("a twin is the original:\n%s", out)
	}
	// Another data set under the name of an original.
	cache := t.TempDir()
	t.Setenv("GCN_DATA", cache)
	succeed(t, "datasets", "convert", smallData, filepath.Join(cache, "ogbn-arxiv.safetensors"))
	fail(t, exitFailed, []string{"ogbn-arxiv", "not the original", "nodes, edges"}, "datasets", "verify", "ogbn-arxiv")
	m := object(t, gcn(t, "datasets", "verify", "ogbn-arxiv", "--json"))
	if m["original"] != false || m["valid"] != true || len(m["published"].([]any)) != 9 {
		t.Errorf("another data set: %v", m)
	}
	if m := object(t, succeed(t, "datasets", "verify", smallData, "--json")); m["published"] != nil || m["original"] != nil {
		t.Errorf("a data set without published figures: %v", m)
	}
}

func TestVerdict(t *testing.T) {
	original := true
	v := &verification{Spec: "ogbn-arxiv", Name: "ogbn-arxiv", Valid: true, Original: &original, Published: []datasets.Comparison{
		{Name: "nodes", Published: 169_343, Found: 169_343, Agrees: true, Source: "OGB"},
		{Name: "mean degree", Published: 0.655, Found: 0.65512, Agrees: true, Source: "OGB"},
	}}
	text := func() string {
		var b strings.Builder
		v.print(&b)
		return b.String()
	}
	if got := text(); !strings.HasSuffix(got, "this is the original ogbn-arxiv\n") || !strings.Contains(got, "0.6551") {
		t.Errorf("the original:\n%s", got)
	}
	v.Published[0].Agrees, original = false, false
	if got := text(); strings.Contains(got, "this is") || strings.Count(got, "differs") != 1 {
		t.Errorf("not the original:\n%s", got)
	}
	if got := v.differ(); !slices.Equal(got, []string{"nodes"}) {
		t.Errorf("not the original: %v", got)
	}
}
