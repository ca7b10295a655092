package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAttention(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, more := range map[string][]string{
		"program":  {"--heads", "4"},
		"equation": {"--model", "equation", "--output-heads", "2", "--method", "neighbor", "--samples", "3"},
	} {
		flags := append(append(trainArgs("-q", "--conv", "gat", "--attention-dropout", "0.2", "--input-dropout", "0.1", "--lr", "0.01"), more...), "--max-batches")
		whole, parts := name, name+"-parts"
		m := object(t, succeed(t, append(flags, "40", "--out", whole, "--json")...))
		if score := m["test"].(float64); !(score > 0.3 && score <= 1) { // 4 classes
			t.Errorf("%s: test score %v", name, score)
		}
		succeed(t, append(flags, "20", "--out", parts)...)
		succeed(t, "train", "--out", parts, "--resume", "-q", "--max-batches", "40")
		if !bytes.Equal(weightsOf(t, whole), weightsOf(t, parts)) {
			t.Errorf("%s: resumed to other weights", name)
		}
		if e := object(t, succeed(t, "eval", "--run", whole, "--json")); e["score"] != m["test"] {
			t.Errorf("%s: eval gives %v, train %v", name, e, m["test"])
		}
		succeed(t, "predict", "--run", whole, "--out", name+".npy")
		succeed(t, "study", "norms", "--run", whole, "--out", name+"-norms")
		succeed(t, "train", "--config", whole+"/config.json", "--out", name+"-config", "-q")
	}
	config := string(readFile(t, "program/config.json"))
	for _, want := range []string{`"conv": "gat"`, `"heads": 4`, `"attention_dropout": 0.2`, `"input_dropout": 0.1`, "conv1.source"} {
		if !strings.Contains(config, want) {
			t.Errorf("config.json has no %s: %s", want, config)
		}
	}
	fail(t, exitFailed, []string{"program", "heads was 4 and is now 8"}, "train", "--out", "program", "--resume", "--heads", "8", "-q")
	fail(t, exitUsage, []string{"than vrgcn", "history"}, trainArgs("-q", "--conv", "gat", "--method", "vrgcn", "--samples", "2")...)
	succeed(t, "bench", "train", "--conv", "gat", "--data", smallData, "--samples", "32", "--batch", "32", "--batches", "60", "--hidden", "16")
	succeed(t, "bench", "infer", "--conv", "gat", "--data", smallData, "--hidden", "16", "--repetitions", "1")
}

func TestAttentionUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, line := range []struct{ args, want string }{
		{"--conv transformer", "--conv,gcn or gat"},
		{"--heads 4", "--heads,--conv gat"},
		{"--attention-dropout 0.1", "--attention-dropout,--conv gat"},
		{"--conv gat --heads 0", "--heads 0"},
		{"--conv gat --hidden 20", "--hidden 20,--heads 8"},
		{"--conv gat --output-heads 2", "--output-heads,equation"},
		{"--conv gat --attention-dropout 1", "--attention-dropout 1"},
		{"--conv gat --method ladies-cv", "than ladies-cv,--conv gat,another method"},
		{"--conv gat --method vrgcn --model equation", "than vrgcn,--conv gat,another method"},
		{"--conv gat --method ladies-debiased?control=rolling", "control=rolling,--conv gat"},
		{"--conv gat --bias-after", "--bias-after,--conv gcn"},
		{"--input-dropout 1", "--input-dropout 1"},
	} {
		fail(t, exitUsage, strings.Split(line.want, ","), append([]string{"train"}, strings.Fields(line.args)...)...)
	}
	writeFile(t, "c.json", []byte(`{"heads": 4}`))
	fail(t, exitUsage, []string{"c.json", "--heads", "--conv gat"}, "train", "--config", "c.json")
}

// TestAttentionOnCora trains the GAT of Veličković et al. (2018) on Cora's public split,
// full neighbourhoods, one seed. They report 83.0 ± 0.7 %.
func TestAttentionOnCora(t *testing.T) {
	data, err := filepath.Abs("../../../shared/data/cora-planetoid")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(data); err != nil || testing.Short() {
		t.Skipf("needs Planetoid's Cora in %s, and some seconds: %v", data, err)
	}
	t.Chdir(t.TempDir())
	m := object(t, succeed(t, "train", "--data", "planetoid:"+data+"/cora?normalize=row", "--conv", "gat", "--model", "equation", "--method", "full",
		"--hidden", "64", "--heads", "8", "--dropout", "0.6", "--input-dropout", "0.6", "--attention-dropout", "0.6",
		"--lr", "0.005", "--weight-decay", "5e-4", "--batch", "140", "--batches-per-epoch", "1", "--max-batches", "120", "--eval-every", "5", "--schedule", "none?warm-up=0",
		"--out", "a", "--json", "-q"))
	if score := m["test"].(float64); score < 0.81 {
		t.Errorf("test accuracy %v", score)
	}
}
