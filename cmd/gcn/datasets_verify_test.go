package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestVerifyTwin(t *testing.T) {
	if testing.Short() {
		t.Skip("generates 169,343 nodes")
	}
	out := succeed(t, "datasets", "verify", "synth:arxiv").stdout
	for _, want := range []string{"valid", "169343", "mean degree", "arXiv:2005.00687"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "original") {
		t.Errorf("there is a verdict about a twin:\n%s", out)
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
