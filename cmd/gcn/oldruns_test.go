package main

import (
	"archive/zip"
	"os"
	"strings"
	"testing"
)

// inOldRuns makes a folder of runs of an earlier program the working directory. That
// program wrote other names into config.json. The runs are every method (m-), some
// combinations of parts (p-), epochs of one pass without other limits (pass), and
// several runs in one folder, with and without limits.
func inOldRuns(t *testing.T) {
	t.Helper()
	archive, err := zip.OpenReader("testdata/oldruns.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	dir := t.TempDir()
	if err := os.CopyFS(dir, archive); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
}

func TestOldRuns(t *testing.T) {
	inOldRuns(t)
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for _, entry := range entries {
		name := entry.Name()
		if name == "data" || strings.HasPrefix(name, "several") {
			continue
		}
		runs++
		if out := succeed(t, "eval", "--run", name); out.stderr != "" {
			t.Errorf("%s: eval says %s", name, out.stderr)
		}
		before := string(readFile(t, name+"/metrics.jsonl"))
		m := object(t, succeed(t, "train", "--out", name, "--resume", "--epochs", "0", "--max-batches", "6", "-q", "--json"))
		after, added := strings.CutPrefix(string(readFile(t, name+"/metrics.jsonl")), before)
		if m["batches"] != 6.0 || !added || strings.Count(after, "\n") != 1 {
			t.Errorf("%s: resumed to %v batches, with the evaluations\n%s", name, m["batches"], after)
		}
		config := string(readFile(t, name+"/config.json"))
		for _, old := range []string{`"rate"`, `"batch_size"`, `"max_epochs"`, `"permute"`, "null"} {
			if strings.Contains(config, old) {
				t.Errorf("%s: config.json still has %s", name, old)
			}
		}
		succeed(t, "eval", "--run", name)
	}
	if runs != 17+8+1 {
		t.Errorf("%d runs in testdata", runs)
	}
	succeed(t, "predict", "--run", "m-ladies", "--out", "scores.npy")
	succeed(t, "report", "m-ladies", "pass", "several", "--out", "page.html")
}

// TestOldConfig takes the options of an earlier program's runs, before these are
// resumed.
func TestOldConfig(t *testing.T) {
	inOldRuns(t)
	line := []string{"train", "--data", "npy:data", "--hidden", "3", "--batch", "16", "--eval-every", "2", "--samples", "8", "--classifier-dropout", "0", "-q"}
	for name, options := range map[string]string{
		"pass":        "--batches-per-epoch 0 --epochs 1 --max-batches 0 --patience 0 --lr 0.01 --weight-decay 0.001",
		"several":     "--max-batches 4 --runs 2 --seed 7",
		"several-off": "--batches-per-epoch 4 --epochs 1 --max-batches 0 --patience 0 --runs 2",
	} {
		succeed(t, append(append(line, "--out", name+"-flags"), strings.Fields(options)...)...)
		succeed(t, "train", "--config", name+"/config.json", "--out", name+"-config", "-q")
		want, got := tree(t, name+"-flags"), tree(t, name+"-config")
		for path, text := range want {
			if strings.HasSuffix(path, "best.ckpt") || strings.HasSuffix(path, "config.json") {
				if got[strings.Replace(path, "-flags", "-config", 1)] == text {
					continue
				}
				t.Errorf("%s: %s depends on whether the options are flags or in a file", name, path)
			}
		}
	}
	for _, name := range []string{"several", "several-off"} {
		m := object(t, succeed(t, "train", "--out", name, "--resume", "-q", "--json", "--runs", "3", "--epochs", "2", "--max-batches", "6"))
		if len(m["runs"].([]any)) != 3 || m["batches"] != 18.0 {
			t.Errorf("%s: %v", name, m)
		}
		fail(t, exitFailed, []string{name, "beta1 was 0.9 and is now 0.8"}, "train", "--out", name, "--resume", "--beta1", "0.8")
	}
}
