package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/run"
)

// TestConvert converts data to a store, and to another one. Training gives the same bits on all
// three.
func TestConvert(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GCN_DATA", t.TempDir())
	done := object(t, succeed(t, "datasets", "convert", smallData, "small.store", "--json"))
	if done["spec"] != "store:small.store" || done["nodes"] != 600.0 {
		t.Errorf("convert says %v", done)
	}
	succeed(t, "datasets", "convert", "store:small.store", "again.store")
	succeed(t, "datasets", "verify", "store:small.store")
	if valid := object(t, succeed(t, "datasets", "verify", "store:again.store", "--json"))["valid"]; valid != true {
		t.Errorf("verify says %v", valid)
	}
	var scores []any
	for k, spec := range []string{smallData, "store:small.store", "store:again.store"} {
		r := object(t, succeed(t, "train", "--data", spec, "--max-batches", "20", "--batch", "64", "--samples", "64,64",
			"--hidden", "16", "--out", "run"+string(rune('0'+k)), "--json"))
		scores = append(scores, r["test"])
	}
	if scores[0] != scores[1] || scores[0] != scores[2] {
		t.Errorf("test scores %v differ", scores)
	}

	succeed(t, "datasets", "convert", "store:small.store", "half.store", "--features", "float16")
	if info := object(t, succeed(t, "datasets", "info", "store:half.store", "--json")); info["precision"] != "float16" {
		t.Errorf("info says %v", info)
	}
	succeed(t, "train", "--data", "store:half.store", "--max-batches", "20", "--batch", "64", "--samples", "64,64", "--hidden", "16", "--out", "half")

	b, err := os.ReadFile("small.store")
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile("bad.store", b, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", "store:bad.store"}, {"info", "store:bad.store"}, {"convert", smallData, "."}} {
		if out := gcn(t, append([]string{"datasets"}, args...)...); out.code != exitFailed || strings.Count(out.stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, %q", args, out.code, out.stderr)
		}
	}
	for _, args := range [][]string{{"convert", smallData}, {"convert", "nowhere:x", "y"}, {"convert", smallData, "y", "--features", "float8"}, {"verify"}, {"fetch"}, {"fetch", "corra"}, {"info", "cora?nodes=3"}} {
		if out := gcn(t, append([]string{"datasets"}, args...)...); out.code != exitUsage {
			t.Errorf("%q: exit %d, %q", args, out.code, out.stderr)
		}
	}
}

// TestConvertInPieces converts without holding the data in memory.
func TestConvertInPieces(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GCN_DATA", t.TempDir())
	const papers = "synth:papers100M?nodes=2000&features=4"
	succeed(t, "datasets", "convert", papers, "papers.store", "--features", "float16")
	out := succeed(t, "datasets", "convert", papers, "again.store", "--features", "float16", "--memory", "0.5GiB", "--scratch", "scratch")
	if !strings.Contains(out.stderr, "collecting the edges") || !strings.Contains(out.stdout, "store:again.store") {
		t.Errorf("convert says %q and %q", out.stdout, out.stderr)
	}
	for _, spec := range []string{"store:papers.store", "store:again.store"} {
		if info := object(t, succeed(t, "datasets", "info", spec, "--json")); info["edges"] != 29096.0 || info["unlabelled"] != 1972.0 {
			t.Errorf("%s: info says %v", spec, info)
		}
	}
	for _, args := range [][]string{
		{"store:papers.store?seed=2&split=60/20/20", "x", "--memory", "1GiB"}, {papers, "x", "--memory", "1MB"},
		{"store:papers.store", "folder/", "--features", "float16"},
	} {
		if out := gcn(t, append([]string{"datasets", "convert"}, args...)...); out.code != exitFailed || strings.Count(out.stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, %q", args, out.code, out.stderr)
		}
	}
	for _, text := range []string{"", "8", "500MB", "8GiB", "2TiB", "1.5kB", "2KiB", "2KB"} {
		var v run.Bytes
		if err := v.Set(text); (err != nil) != (text == "") || v != map[string]run.Bytes{"8": 8, "500MB": 5e8, "8GiB": 8 << 30, "2TiB": 2 << 40, "1.5kB": 1500, "2KiB": 2048, "2KB": 2000}[text] {
			t.Errorf("%q: %d, %v", text, v, err)
		}
	}
	for _, text := range []string{"GiB", "-1GB", "0", "NaN", "1e30", "8 GiBs"} {
		if out := gcn(t, "datasets", "convert", papers, "x", "--memory", text); out.code != exitUsage {
			t.Errorf("--memory %s: exit %d, %q", text, out.code, out.stderr)
		}
	}
}

// TestFetch checks that a named data set is downloaded on first use, with a
// message, and never with --offline.
func TestFetch(t *testing.T) {
	files := filepath.Join("..", "..", "..", "shared", "data", "cora-planetoid")
	if _, err := os.Stat(files); err != nil {
		t.Skipf("%s is not there", files)
	}
	var requests int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		http.ServeFile(w, r, filepath.Join(files, filepath.Base(r.URL.Path)))
	}))
	defer server.Close()
	cache := t.TempDir()
	out := gcn(t, "datasets", "info", "cora", "--cache", cache, "--mirror", server.URL, "--offline")
	if out.code != exitFailed || requests > 0 {
		t.Errorf("offline: exit %d, %d requests", out.code, requests)
	}
	out = succeed(t, "datasets", "info", "cora", "--cache", cache, "--mirror", server.URL, "--json")
	if info := object(t, out); info["nodes"] != 2708.0 || info["edges"] != 5278.0 || info["name"] != "cora" {
		t.Errorf("info says %v", info)
	}
	if requests != 8 || !strings.Contains(out.stderr, "downloading "+server.URL+"/cora/ind.cora.x") {
		t.Errorf("%d requests, standard error %q", requests, out.stderr)
	}
	done := object(t, succeed(t, "datasets", "fetch", "cora", "--cache", cache, "--offline", "--json"))
	if done["spec"] != "cora" || done["nodes"] != 2708.0 || requests != 8 {
		t.Errorf("fetch again says %v after %d requests", done, requests)
	}
	if again := succeed(t, "datasets", "fetch", "cora", "--cache", cache, "--offline").stdout; !strings.Contains(again, "5278") {
		t.Errorf("fetch again says %q", again)
	}
	for _, mirror := range []string{"foo", "ftp://example.org", "http://", "//example.org/x", "https:/x"} {
		fail(t, exitUsage, []string{"--mirror " + mirror, "want an address"}, "datasets", "fetch", "cora", "--cache", cache, "--mirror", mirror)
	}
}
