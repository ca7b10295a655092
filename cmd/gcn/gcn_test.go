package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// smallData is a small data set, for quick tests.
const smallData = "synth:demo?nodes=600&edges=3000"

// quick are options of a training run that takes well under a second.
var quick = []string{"--data", smallData, "--batch", "64", "--samples", "64,64", "--hidden", "16", "--max-batches", "40"}

// paperSteps are the paper's steps, whose size does not depend on the limit.
var paperSteps = []string{"--schedule", "none?warm-up=0", "--lr", "0.001", "--eval-every", "10", "--patience", "200"}

// output is the outcome of one command line.
type output struct {
	code           int
	stdout, stderr string
}

// gcn runs one command line in this process.
func gcn(t *testing.T, args ...string) output {
	t.Helper()
	return gcnContext(t.Context(), args...)
}

func gcnContext(ctx context.Context, args ...string) output {
	var stdout, stderr bytes.Buffer
	code := execute(ctx, args, &stdout, &stderr)
	return output{code, stdout.String(), stderr.String()}
}

// succeed runs one command line, which must succeed.
func succeed(t *testing.T, args ...string) output {
	t.Helper()
	out := gcn(t, args...)
	if out.code != exitDone {
		t.Fatalf("gcn %s: exit code %d: %s", strings.Join(args, " "), out.code, out.stderr)
	}
	return out
}

// fail runs one command line. It must fail with the given code and print one line
// on standard error that holds each of the words.
func fail(t *testing.T, code int, words []string, args ...string) {
	t.Helper()
	out := gcn(t, args...)
	line := lastLine(out.stderr)
	if out.code != code {
		t.Errorf("gcn %s: exit code %d, want %d: %s", strings.Join(args, " "), out.code, code, out.stderr)
	}
	if !strings.HasPrefix(line, "gcn: ") || strings.Contains(out.stderr, "goroutine ") || strings.Contains(out.stderr+out.stdout, "Usage:") {
		t.Errorf("gcn %s: want one line of error, got %q and on standard output %q", strings.Join(args, " "), out.stderr, out.stdout)
	}
	for _, word := range words {
		if !strings.Contains(line, word) {
			t.Errorf("gcn %s: error does not mention %q: %s", strings.Join(args, " "), word, line)
		}
	}
}

// checkpoints writes a file of options with the least seconds between two checkpoints, and
// returns its path.
func checkpoints(t *testing.T, seconds int) string {
	t.Helper()
	path, err := filepath.Abs(fmt.Sprintf("checkpoints%d.json", seconds))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, fmt.Appendf(nil, `{"checkpoint_interval": %d}`, seconds))
	return path
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return lines[len(lines)-1]
}

// object decodes standard output, which must be one line with one JSON object.
func object(t *testing.T, out output) map[string]any {
	t.Helper()
	if strings.Count(out.stdout, "\n") != 1 || !strings.HasSuffix(out.stdout, "\n") {
		t.Fatalf("want one line of JSON, got %q", out.stdout)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(out.stdout), &m); err != nil {
		t.Fatalf("%v: %s", err, out.stdout)
	}
	return m
}

// wantFields fails the test unless m has all fields of these names.
func wantFields(t *testing.T, m map[string]any, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, there := m[name]; !there {
			t.Errorf("field %q is missing in %v", name, m)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args  string
		words string // comma-separated
	}{
		{"trian", "trian,did you mean train?"},
		{"frobnicate", "unknown command,train,predict"},
		{"bench", "needs a command,sampling"},
		{"bench trian", "did you mean train?"},
		{"datasets inof", "did you mean info?"},
		{"datasets info", "SPEC"},
		{"datasets info synth:demo synth:arxiv", "SPEC"},
		{"methods now", "now"},
		{"train synth:demo", "no arguments,synth:demo"},
		{"train --sampels 3", "--sampels,did you mean --samples?"},
		{"train --zzz", "--zzz"},
		{"train --batch-size 3", "unknown flag --batch-size,did you mean --batch?"},
		{"train --hidden_channels 3", "did you mean --hidden?"},
		{"train --weight_decay 3", "did you mean --weight-decay?"},
		{"train --learning-rate=3", "unknown flag"},
		{"train --flat", "unknown flag --flat,ladies?flat"},
		{"train --every=3", "--every,ladies-cv?every=50"},
		{"train --warm-up 3", "--warm-up,cosine?warm-up=100"},
		{"train --beta1 0.5", "--beta1,--config FILE"},
		{"train -epochs 3", "unknown flag -epochs,did you mean --epochs?"},
		{"train -o x", "unknown flag -o"},
		{"train --model sage", "--model,sage,equation"},
		{"train --samples 10 5", "commas"},
		{"train cora", "did you mean --data cora?"},
		{"eval .", "did you mean --run .?"},
		{"evaluate", "did you mean eval?"},
		{"train --method ladys", "ladys,did you mean ladies?,fastgcn-flat,full"},
		{"train --method quantum", "quantum,ladies-flat-debiased"},
		{"train --samples 0", "--samples,at least 1"},
		{"train --samples 512,-1", "--samples,-1"},
		{"train --samples x", "--samples,x"},
		{"train --samples 1,2,3 --layers 2", "--samples,3,2 layers"},
		{"train --batch 0", "--batch"},
		{"train --batch many", "--batch,many,whole number"},
		{"train --batches-per-epoch -1", "--batches-per-epoch"},
		{"train --eval-every 0", "--eval-every"},
		{"train --epochs -1", "--epochs"},
		{"train --max-batches -1", "--max-batches,at least 0"},
		{"train --max-batches 0", "--schedule cosine,--epochs,--schedule none"},
		{"train --max-batches 0 --patience 0", "would not end"},
		{"train --hidden 0", "--hidden"},
		{"train --layers 0", "--layers"},
		{"train --layers 100000000", "--layers,1000]"},
		{"train --hidden 100000000000", "--hidden,65536]"},
		{"bench train --hidden 100000000000", "--hidden,65536]"},
		{"study norms --hidden 100000000000", "--hidden,65536]"},
		{"study approx-error --layer 0", "--layer 0,at least 1"},
		{"help nonsense", "nonsense,train"},
		{"help train nonsense", "nonsense,no arguments"},
		{"help datasets nonsense", "nonsense,verify"},
		{"completion", "bash"},
		{"completion tcsh", "tcsh,bash"},
		{"report", "DIR"},
		{"train --dropout 1", "--dropout"},
		{"train --dropout NaN", "--dropout"},
		{"train --classifier-dropout -1", "--classifier-dropout"},
		{"train --activation tanh", "tanh,elu,relu"},
		{"train --lr 0", "--lr"},
		{"train --lr NaN", "--lr"},
		{"train --lr fast", "--lr,fast,number"},
		{"train --weight-decay -1", "--weight-decay"},
		{"train --seed -1", "--seed,-1"},
		{"train --seed 18446744073709551615 --runs 2", "--seed"},
		{"train --runs 0", "--runs"},
		{"train --workers -1", "--workers"},
		{"train --device tpu", "tpu"},
		{"train --resume", "--out"},
		{"train --overwrite", "--out"},
		{"train --out x --resume --overwrite", "exclude"},
		{"train --method vibes?flat=1", "vibes,fastgcn"},
		{"train --method ladies?draw=x", "--method,draw=x"},
		{"train --method ladies?weight=x", "--method,weight=x"},
		{"train --method ladies?flat=maybe", "--method,flat=maybe"},
		{"train --method ladies?flat=1&flat=1", "--method,twice"},
		{"train --method ladies?fast=1", "no key,did you mean flat?"},
		{"train --method full?flat=1", "full takes no keys"},
		{"train --method neighbor?flat=1", "uniform,no norms"},
		{"train --method neighbor?rows=1", "no key,rows"},
		{"train --method neighbor?importance=fastgcn&neighborhood=1", "no key,neighborhood"},
		{"train --method neighbor?population=nodes", "no key,population"},
		{"train --method ladies?neighborhood=1 --data " + smallData, "fastgcn"},
		{"train --method ladies?draw=replacement&weight=debiased --data " + smallData, "debiased"},
		{"train --method ladies?population=nodes --data " + smallData, "population=nodes"},
		{"train --schedule cosine?every=3", "--schedule,every"},
		{"train --schedule cosine?warm-up=-1", "--schedule,warm-up=-1"},
		{"train --data nonsense", "nonsense,synth:"},
		{"train --data nowhere:x", "nowhere,synth:,npy:"},
		{"train --data synth:", "synth:"},
		{"eval", "--run"},
		{"eval --run x --split half", "half,valid"},
		{"predict --run x", "--out"},
		{"predict --run x --out y.txt", "y.txt,.npy"},
		{"bench sampling --methods full,lady", "lady"},
		{"bench sampling --samples 0", "--samples"},
		{"bench sampling --batches 0", "--batches"},
		{"bench train --batches 40", "--batches"},
		{"bench infer --repetitions 0", "--repetitions"},
	} {
		t.Run(c.args, func(t *testing.T) {
			fail(t, exitUsage, strings.Split(c.words, ","), strings.Fields(c.args)...)
		})
	}
	if entries, _ := os.ReadDir("."); len(entries) > 0 {
		t.Errorf("wrong usage left %s behind", entries[0].Name())
	}
}

// TestWrongValuesOfFlags gives each flag of numbers, or of methods, a word: the error is one
// line that names the flag, before any work.
func TestWrongValuesOfFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	root, _ := newRoot(&bytes.Buffer{}, &bytes.Buffer{})
	count := 0
	texts := []string{"string", "SPEC", "SPEC,...", "DIR", "FILE", "FOLDER", "URL", "ADDRESS", "NAME", "NAME=VALUES", "FILE-NAME=OUR-NAME,…"}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if slices.Contains(texts, f.Value.Type()) || f.Name == "help" || f.Name == helpAll {
				return
			}
			count++
			args := append(strings.Fields(cmd.CommandPath())[1:], "--"+f.Name+"=vibes")
			if out := gcn(t, args...); out.code != exitUsage || strings.Count(out.stderr, "\n") != 1 || !strings.Contains(out.stderr, "--"+f.Name+" vibes: ") {
				t.Errorf("gcn %s: exit code %d: %s", strings.Join(args, " "), out.code, out.stderr)
			}
		})
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
	if count < 150 {
		t.Errorf("%d flags", count)
	}
	for _, line := range []string{"bench sampling --methods=", "study features --hops=", "study variance --weights=,"} {
		_, flag, _ := strings.Cut(line, " --")
		fail(t, exitUsage, []string{"--" + strings.Trim(flag, "=,")}, strings.Fields(line)...)
	}
}

// TestHelp walks the whole tree of commands. Each prints its help, with an
// example, on standard output.
func TestHelp(t *testing.T) {
	root, _ := newRoot(&bytes.Buffer{}, &bytes.Buffer{})
	var walk func(cmd *cobra.Command, path []string)
	walk = func(cmd *cobra.Command, path []string) {
		out := succeed(t, append(slices.Clone(path), "--help")...)
		example := strings.Contains(out.stdout, "Examples:") || len(path) == 2 && path[0] == "completion" // cobra's text shows how
		if !example || !strings.Contains(out.stdout, "gcn") || out.stderr != "" {
			t.Errorf("gcn %s --help has no example:\n%s%s", strings.Join(path, " "), out.stdout, out.stderr)
		}
		if asked := succeed(t, append([]string{"help"}, path...)...); asked.stdout != out.stdout {
			t.Errorf("gcn help %s prints:\n%s", strings.Join(path, " "), asked.stdout)
		}
		for _, c := range cmd.Commands() {
			if !c.Hidden {
				walk(c, append(slices.Clone(path), c.Name()))
			}
		}
	}
	walk(root, nil)
}

func TestMethods(t *testing.T) {
	out := succeed(t, "methods")
	for _, want := range []string{"full", "ladies-cv (default)", "arXiv:1911.07323"} {
		if !strings.Contains(out.stdout, want) {
			t.Errorf("no %q in:\n%s", want, out.stdout)
		}
	}
	list := object(t, succeed(t, "methods", "--json"))["methods"].([]any)
	if len(list) < 9 {
		t.Errorf("%d methods, want at least 9", len(list))
	}
	wantFields(t, list[0].(map[string]any), "name", "summary", "source")
}

func TestVersion(t *testing.T) {
	out := succeed(t, "version")
	if !strings.Contains(out.stdout, "blas") || !strings.Contains(out.stdout, "cuda") {
		t.Errorf("version says:\n%s", out.stdout)
	}
	wantFields(t, object(t, succeed(t, "version", "--json")), "version", "go", "blas", "cuda")
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out := succeed(t, "completion", shell); !strings.Contains(out.stdout, "gcn") {
			t.Errorf("completion %s printed %q", shell, out.stdout)
		}
	}
	out := succeed(t, "__complete", "train", "--method", "ladies-f")
	if !strings.Contains(out.stdout, "ladies-flat-debiased") {
		t.Errorf("completing --method gives %q", out.stdout)
	}
	out = succeed(t, "__complete", "bench", "sampling", "--methods", "fast")
	if !strings.Contains(out.stdout, "fastgcn-flat") {
		t.Errorf("completing --methods gives %q", out.stdout)
	}
	if out = succeed(t, "__complete", "train", "--data", "synth:d"); !strings.Contains(out.stdout, "synth:demo") {
		t.Errorf("completing --data gives %q", out.stdout)
	}
}

func TestDatasets(t *testing.T) {
	out := succeed(t, "datasets", "list")
	for _, want := range []string{"synth:demo", "npy:DIR"} {
		if !strings.Contains(out.stdout, want) {
			t.Errorf("datasets list lacks %s:\n%s", want, out.stdout)
		}
	}
	if list := object(t, succeed(t, "datasets", "list", "--json"))["datasets"].([]any); len(list) < 3 {
		t.Errorf("datasets list --json has %d entries", len(list))
	}
	out = succeed(t, "datasets", "info", smallData)
	if !regexp.MustCompile(`nodes\s+600\n`).MatchString(out.stdout) {
		t.Errorf("datasets info says:\n%s", out.stdout)
	}
	info := object(t, succeed(t, "datasets", "info", smallData, "--json"))
	wantFields(t, info, "nodes", "edges", "features", "classes", "split", "degree", "bytes", "preprocessing")
	if info["nodes"] != 600.0 || info["edges"] != 3000.0 {
		t.Errorf("datasets info --json gives %v nodes, %v edges", info["nodes"], info["edges"])
	}
}

// TestHelpOnATerminal checks that the descriptions of flags are wrapped on a terminal.
func TestHelpOnATerminal(t *testing.T) {
	for _, args := range [][]string{{"train", "--help-all"}, {"eval", "--help"}} {
		terminal, screen := newTerminal(t)
		done := make(chan int, 1)
		go func() {
			done <- execute(t.Context(), args, terminal, terminal)
			say(terminal, "end")
		}()
		var text strings.Builder
		for buffer := make([]byte, 4096); !strings.Contains(text.String(), "end\r\n"); {
			n, err := screen.Read(buffer)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(buffer[:n])
		}
		if code := <-done; code != exitDone {
			t.Fatalf("%v: exit code %d", args, code)
		}
		_, flags, _ := strings.Cut(text.String(), "--data SPEC")
		for line := range strings.Lines(flags) {
			if width := utf8.RuneCountInString(strings.TrimSpace(line)); width > 80 {
				t.Errorf("%v: a line of %d characters: %s", args, width, line)
			}
		}
	}
}

// TestFileErrors covers missing and damaged files. The error is one line that
// names the file and the place, with exit code 1.
func TestFileErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, append([]string{"train", "-q", "--out", "good"}, quick...)...)
	truncated := readFile(t, filepath.Join("good", "best.ckpt"))
	for name, damage := range map[string]func([]byte) []byte{
		"cut":  func(b []byte) []byte { return b[:len(b)/2] },
		"flip": func(b []byte) []byte { b = slices.Clone(b); b[len(b)/2] ^= 1; return b },
		"junk": func([]byte) []byte { return []byte("not a checkpoint at all") },
		"none": func([]byte) []byte { return nil },
	} {
		copyFolder(t, "good", name)
		for _, file := range []string{"best.ckpt", "last.ckpt"} {
			writeFile(t, filepath.Join(name, file), damage(truncated))
		}
	}
	writeFile(t, "notes.txt", []byte("7\nseven\n"))
	writeFile(t, "far.txt", []byte("1\n600\n"))
	writeFile(t, "empty.txt", nil)
	writeFile(t, "bad.json", []byte("{\n\"seed\": 1,\n]"))
	writeFile(t, "unknown.json", []byte(`{"sede": 1}`))
	writeFile(t, "value.json", []byte(`{"batch": "many"}`))
	writeFile(t, "list.json", []byte(`[1]`))
	writeFile(t, "zero.json", []byte(`{"batch": 0}`))
	writeFile(t, "file", nil)
	before := readFile(t, filepath.Join("good", "last.ckpt"))
	for _, c := range []struct {
		code  int
		args  string
		words string
	}{
		{1, "train --data npy:nowhere", "nowhere"},
		{1, "train --data npz:nowhere.npz", "nowhere.npz"},
		{1, "eval --run nowhere", "nowhere"},
		{1, "eval --run cut", "cut,ckpt"},
		{1, "eval --run flip", "flip,ckpt"},
		{1, "eval --run junk", "junk,ckpt"},
		{1, "eval --run none", "none,ckpt"},
		{1, "predict --run flip --out s.npy", "flip,ckpt"},
		{1, "predict --run good --out nowhere/s.npy", "nowhere"},
		{1, "predict --run good --out s.npy --nodes nowhere.txt", "nowhere.txt"},
		{1, "predict --run good --out s.npy --nodes notes.txt", "notes.txt:2,seven"},
		{1, "predict --run good --out s.npy --nodes far.txt", "far.txt:2: ,600,not among the 600"},
		{1, "predict --run good --out s.npy --nodes empty.txt", "empty.txt"},
		{1, "eval --run good --data synth:demo?nodes=600&edges=3000&features=8", "8 features, and the model's data have 64"},
		{1, "train --data " + smallData + " --out file/run", "file"},
		{1, "train --data " + smallData + " --out file", "file"},
		{1, "train --data " + smallData + " --out good", "good,resume"},
		{1, "train --resume --out flip", "flip,ckpt"},
		{1, "train --resume --out cut", "cut,ckpt"},
		{1, "train --resume --out good --hidden 32", "cannot resume,hidden"},
		{1, "train --resume --out good --seed 2", "cannot resume,seed"},
		{1, "train --config nowhere.json", "nowhere.json"},
		{1, "train --config bad.json", "bad.json:3: "},
		{1, "train --config list.json", "list.json,object"},
		{2, "train --config unknown.json", "unknown.json,sede,did you mean seed?"},
		{2, "train --config value.json", "value.json,batch,many"},
		{2, "train --config zero.json", "zero.json,--batch"},
	} {
		t.Run(c.args, func(t *testing.T) {
			fail(t, c.code, strings.Split(c.words, ","), strings.Fields(c.args)...)
		})
	}
	if !bytes.Equal(before, readFile(t, filepath.Join("good", "last.ckpt"))) {
		t.Error("an error changed a saved file")
	}
	for _, left := range []string{"s.npy", "runs", "nowhere"} {
		if _, err := os.Stat(left); err == nil {
			t.Errorf("an error left %s behind", left)
		}
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// TestBLASAdvice checks that the advice is printed only if gonum is in use and
// was not asked for.
func TestBLASAdvice(t *testing.T) {
	t.Setenv("GCN_BLAS", "auto")
	if blasAdvice("gonum") == "" {
		t.Error("no advice for gonum")
	}
	for _, name := range []string{"native avx2", "OpenBLAS 0.3.21 Haswell"} {
		if advice := blasAdvice(name); advice != "" {
			t.Errorf("advice for %s: %s", name, advice)
		}
	}
	t.Setenv("GCN_BLAS", "gonum")
	if advice := blasAdvice("gonum"); advice != "" {
		t.Errorf("advice for gonum by choice: %s", advice)
	}
}

// TestDataNotThere checks that a run whose data are not there says how to name them.
func TestDataNotThere(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "datasets", "convert", smallData, "graph")
	succeed(t, append(append([]string{"train"}, quick...), "--data", "store:graph", "--out", "run")...)
	if err := os.Rename("graph", "moved"); err != nil {
		t.Fatal(err)
	}
	fail(t, exitFailed, []string{"graph", "--data"}, "eval", "--run", "run")
	fail(t, exitFailed, []string{"graph", "--data"}, "train", "--resume", "--out", "run")
	succeed(t, "eval", "--run", "run", "--data", "store:moved")
	fail(t, exitFailed, []string{"nothing", "folder of a training run"}, "eval", "--run", "nothing")
}
