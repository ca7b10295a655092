package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/run"
)

// TestConfigFile checks files of options that must be refused. Each error names
// the line.
func TestConfigFile(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, trainArgs("--out", "good", "-q", "--max-batches", "4")...)
	before := weightsOf(t, "good")
	for text, want := range map[string]string{
		`"overwrite": true`:                `c.json:3: "overwrite" is an option of the command line only`,
		`"resume": true`:                   `c.json:3: "resume" is`,
		`"offline": true`:                  `c.json:3: unknown option "offline"`,
		`"mirror": "http://127.0.0.1"`:     `c.json:3: unknown option "mirror"`,
		`"cache": "x"`:                     `c.json:3: unknown option "cache"`,
		`"config": "x"`:                    `c.json:3: "config" is`,
		`"help": true`:                     `c.json:3: unknown option "help"`,
		`"json": true`:                     `c.json:3: "json" is`,
		`"out": "good"`:                    `c.json:3: "out" is`,
		`"batch": 2, "batch": 3`:           `c.json:3: "batch" sets --batch again, after c.json:3`,
		`"eval_every": 2, "eval-every": 3`: `c.json:3: "eval-every" sets --eval-every again, after c.json:3`,
		`"schema": 5`:                      `c.json:3: unknown option "schema"`,
		`"warm_up": 3`:                     `c.json:3: unknown option "warm_up": it is a key of --schedule`,
		`"metric": "accuracy"`:             `c.json:3: unknown option "metric"`,
		`"permute": true`:                  `c.json:3: unknown option "permute"`,
		`"batch_size": 2`:                  `c.json:3: unknown option "batch_size"`,
		`"beta1": 1`:                       "c.json:3: --beta1 1: want a number in (0, 1)",
		`"epsilon": 0`:                     "c.json:3: --epsilon 0: want a number above 0",
		`"clip": -1`:                       "c.json:3: --clip -1: want at least 0",
		"\"seed\": 1,\n\"seed\": 2":        `c.json:4: "seed" sets --seed again, after c.json:3`,
		`"hidden": null`:                   "c.json:3: hidden: want a string",
		`"samples": [null]`:                "c.json:3: samples: want a string",
		`"lr": {}`:                         "c.json:3: lr: want a string",
		`"dropout": "much"`:                "c.json:3: --dropout much: want a number",
		`"lr": 1e999`:                      "c.json:3: --lr 1e999: want a number",
		`"checkpoint-interval": -1`:        "c.json:3: --checkpoint-interval -1",
		`"hidden": 0`:                      "c.json:3: --hidden 0: want a number in [1, 65536]",
		`"seed": 1} {`:                     "c.json:3: invalid character '{' after top-level value",
	} {
		writeFile(t, "c.json", []byte("{\n\"data\": \""+smallData+"\",\n"+text+"\n}"))
		out := gcn(t, "train", "--config", "c.json", "-q", "--max-batches", "2")
		if out.code == exitDone || !strings.Contains(lastLine(out.stderr), want) {
			t.Errorf("%s: exit code %d: %s, want %q", text, out.code, out.stderr, want)
		}
	}
	if !bytes.Equal(before, weightsOf(t, "good")) {
		t.Error("a file of options removed a run")
	}
	writeFile(t, "c.json", []byte(`{"checkpoint_interval": 1, "epochs": 0, "data": "`+smallData+`", "samples": 32, "hidden": 8}`))
	succeed(t, "train", "--config", "c.json", "-q", "--max-batches", "2", "--out", "there")
	readFile(t, "there/result.json")
	writeFile(t, "long.json", bytes.Repeat([]byte(" "), 1<<20+1))
	fail(t, exitFailed, []string{"long.json", "more than 1.05 MB"}, "train", "--config", "long.json")
}

// TestConfigCounts sets each option of the optimiser, as a flag and in a file: both
// must give the same weights, and other ones than the default.
func TestConfigCounts(t *testing.T) {
	t.Chdir(t.TempDir())
	line := slices.Concat([]string{"train"}, quick, []string{"-q", "--max-batches", "4", "--out"})
	succeed(t, append(line, "default")...)
	for name, value := range map[string]string{
		"label-smoothing": "0.1", "schedule": `"none?warm-up=1"`,
		"lr": "0.01", "weight-decay": "0.1", "clip": "0.001",
	} {
		succeed(t, append(line, name+"-flag", "--"+name, strings.Trim(value, `"`))...)
		writeFile(t, "c.json", []byte(`{"`+name+`": `+value+`}`))
		succeed(t, append(line, name+"-file", "--config", "c.json")...)
		if !bytes.Equal(weightsOf(t, name+"-flag"), weightsOf(t, name+"-file")) {
			t.Errorf("%s in a file gives other weights than --%s", name, name)
		}
		if bytes.Equal(weightsOf(t, name+"-flag"), weightsOf(t, "default")) {
			t.Errorf("--%s %s changes nothing", name, value)
		}
		fail(t, exitFailed, []string{"cannot resume"}, "train", "--out", "default", "--resume", "--"+name, strings.Trim(value, `"`))
	}
}

// TestWarmUpOfEpochs warms up for more mini-batches than two epochs of one pass each have: half
// of the 76 are left for the cosine.
func TestWarmUpOfEpochs(t *testing.T) {
	t.Chdir(t.TempDir())
	line := trainArgs("-q", "--epochs", "2", "--batches-per-epoch", "0", "--batch", "8")
	for dir, n := range map[string]string{"long": "5000", "half": "38", "less": "37"} {
		succeed(t, append(line, "--schedule", "cosine?warm-up="+n, "--max-batches", "0", "--out", dir)...)
	}
	if long := weightsOf(t, "long"); !bytes.Equal(long, weightsOf(t, "half")) || bytes.Equal(long, weightsOf(t, "less")) {
		t.Error("warm-up=5000 of 76 mini-batches: want the weights of 38, and not of 37")
	}
	fail(t, exitUsage, []string{"--schedule cosine", "--epochs"}, append(line, "--schedule", "cosine", "--epochs", "0", "--max-batches", "0", "--patience", "3")...)
}

// TestEpochsOfUpdates trains epochs, which are the only limit without --max-batches.
func TestEpochsOfUpdates(t *testing.T) {
	t.Chdir(t.TempDir())
	m := object(t, succeed(t, "train", "--data", smallData, "--samples", "8", "--hidden", "8", "--batch", "8",
		"--epochs", "201", "--micro", "8", "--patience", "0", "-q", "--json"))
	if m["batches"] != 252.0 || m["stop"] != "epochs" {
		t.Errorf("%v updates, ended by %v", m["batches"], m["stop"])
	}
}

// TestConfigDevice reads options from a device and from pipes.
func TestConfigDevice(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /dev/zero and /dev/fd")
	}
	t.Chdir(t.TempDir())
	fail(t, exitFailed, []string{"/dev/zero", "more than 1.05 MB"}, "train", "--config", "/dev/zero")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if _, err := writer.WriteString(`{"max_batches": 3}`); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	m := object(t, succeed(t, "train", "--data", smallData, "--hidden", "8", "--config", "/dev/fd/"+itoa(int(reader.Fd())), "--json", "-q"))
	if m["batches"] != 3.0 {
		t.Errorf("%v", m)
	}
	bad, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	if _, err := writer.WriteString(`{"hidden": 0}`); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	name := "/dev/fd/" + itoa(int(bad.Fd()))
	fail(t, exitUsage, []string{name, ":1: --hidden 0"}, "train", "--config", name)
	ctx, cancel := context.WithCancel(t.Context())
	silent, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	defer writer.Close()
	time.AfterFunc(20*time.Millisecond, cancel)
	if out := gcnContext(ctx, "train", "--config", "/dev/fd/"+itoa(int(silent.Fd()))); out.code != exitInterrupted {
		t.Errorf("a pipe that says nothing: exit code %d: %s", out.code, out.stderr)
	}
}

// TestDamagedConfig damages the config.json of a run. The error names the file,
// and is not a usage error.
func TestDamagedConfig(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, trainArgs("--out", "a", "-q", "--max-batches", "4")...)
	good := string(readFile(t, "a/config.json"))
	for from, to := range map[string]string{
		`"hidden": 16`:                    `"hidden": 0`,
		`"eval_every": 10`:                `"eval_every": -1`,
		`"activation": "elu"`:             `"activation": "tanh"`,
		`"method": "` + run.DefaultMethod: `"method": "ladys`,
		`"dropout": 0.2`:                  `"dropout": "x"`,
		`"layers": 2`:                     `"layers": 2, "layers": 3`,
		good[len(good)/2:]:                "",
		"{":                               "",
		good:                              "null",
		`"device": "cpu"`:                 `"device": "abacus"`,
		`"classifier_dropout": 0.2`:       `"classifier_dropout": 7`,
		`"max_batches": 4`:                `"max_batches": []`,
		`"patience": 200`:                 `"patience": -3`,
		`"data": "` + smallData[:9]:       `"data": "`,
		`"seed": 1`:                       `"seed": null`,
		`"batch": 64`:                     `"batch": "many"`,
		`"lr": 0.001`:                     `"lr": 0`,
		`"weight_decay": 0`:               `"weight_decay": -1`,
		`"batches_per_epoch": 10`:         `"batches_per_epoch": -1`,
		`"residual": false`:               `"residual": 5`,
		`"layer_norm": false`:             `"layer_norm": "perhaps"`,
	} {
		text := strings.Replace(good, from, to, 1)
		if text == good {
			t.Fatalf("config.json has no %s:\n%s", from, good)
		}
		if to == `"max_batches": []` || strings.HasPrefix(to, `"data"`) {
			continue // the default data set
		}
		writeFile(t, "a/config.json", []byte(text))
		for _, args := range [][]string{{"train", "--out", "a", "--resume"}, {"eval", "--run", "a"}} {
			if args[0] == "eval" && strings.Contains(to, "device") {
				continue // which has its own default
			}
			fail(t, exitFailed, []string{"a/config.json"}, args...)
		}
	}
	writeFile(t, "a/config.json", []byte(good))
	succeed(t, "train", "--out", "a", "--resume", "-q")
	fail(t, exitUsage, []string{"--hidden 0"}, "train", "--out", "a", "--resume", "--hidden", "0")
}

// A run of another schema is refused in one line, whatever reads it.
func TestOtherSchema(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, trainArgs("--out", "a", "-q", "--max-batches", "4")...)
	succeed(t, trainArgs("--out", "two", "-q", "--max-batches", "4", "--runs", "2")...)
	for other, words := range map[string]string{`"schema": 1`: "its schema is 1 and", `"fields": 2`: "its schema is not set and"} {
		for _, dir := range []string{"a", "two"} {
			text := strings.Replace(string(readFile(t, dir+"/config.json")), `"schema": 5`, other, 1)
			writeFile(t, dir+"/config.json", []byte(text))
		}
		for _, args := range [][]string{
			{"train", "--resume", "--out", "a"}, {"train", "--resume", "--out", "two", "--runs", "3"}, {"train", "--config", "a"}, {"train", "--recipe", "a/config.json"},
			{"eval", "--run", "a"}, {"predict", "--run", "a", "--out", "s.csv"}, {"export", "--run", "a", "--out", "a.safetensors"}, {"report", "a", "--out", "page.html"},
		} {
			fail(t, exitFailed, []string{"config.json: ", words, "this program's is 5: train again, or use the program that wrote it"}, args...)
		}
		for _, dir := range []string{"a", "two"} {
			text := strings.Replace(string(readFile(t, dir+"/config.json")), other, `"schema": 5`, 1)
			writeFile(t, dir+"/config.json", []byte(text))
		}
	}
	succeed(t, "train", "--resume", "--out", "a", "-q")
}

// A run of train.Fit in Go may have a config.json without data. Its scores on the default data
// would say nothing.
func TestConfigWithoutData(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, trainArgs("-q", "--max-batches", "2", "--out", "run")...)
	lines := slices.DeleteFunc(strings.SplitAfter(string(readFile(t, "run/config.json")), "\n"), func(line string) bool { return strings.Contains(line, `"data":`) })
	writeFile(t, "run/config.json", []byte(strings.Join(lines, "")))
	for _, command := range [][]string{{"eval"}, {"predict", "--out", "scores.csv"}} {
		command = append(command, "--run", "run")
		fail(t, exitFailed, []string{filepath.Join("run", "config.json"), `"data"`, "--data"}, command...)
		succeed(t, append(command, "--data", smallData)...)
	}
}

// TestPredictInputs gives predict an array of nodes with a wrong shape, and
// features that make the logits overflow.
func TestPredictInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	data, err := datasets.Open(t.Context(), smallData, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := datasets.WriteStore(t.Context(), "here", data); err != nil {
		t.Fatal(err)
	}
	succeed(t, "train", "--data", "store:here", "--hidden", "8", "--samples", "32", "--max-batches", "4", "--out", "a", "-q")
	var list bytes.Buffer
	if err := npy.Write(&list, make([]int32, 6), 2, 3); err != nil {
		t.Fatal(err)
	}
	writeFile(t, "nodes.npy", list.Bytes())
	fail(t, exitFailed, []string{"nodes.npy", "shape [2 3]", "one dimension"}, "predict", "--run", "a", "--out", "s.npy", "--nodes", "nodes.npy")
	for k := range data.Features.Data {
		data.Features.Data[k] = 3e38
	}
	if err := datasets.WriteStore(t.Context(), "here", data); err != nil {
		t.Fatal(err)
	}
	fail(t, exitFailed, []string{"a: ", "not finite"}, "predict", "--run", "a", "--out", "s.npy")
	if _, err := os.Stat("s.npy"); err == nil {
		t.Error("an error left a file of scores")
	}
}

// Fewer runs in place of more leave none of the old ones.
func TestOverwriteWithFewerRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	line := trainArgs("--out", "runs", "-q", "--max-batches", "4", "--runs")
	succeed(t, append(line, "3")...)
	succeed(t, append(line, "2", "--overwrite")...)
	for seed, want := range []int{1, 1, 0} {
		files, _ := filepath.Glob(fmt.Sprintf("runs/seed-%d/result.json", seed+1))
		if len(files) != want {
			t.Errorf("seed %d: %v", seed+1, files)
		}
	}
}
