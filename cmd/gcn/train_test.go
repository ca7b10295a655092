package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gcn-layerwise/gcn/internal/longtest"
	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/score"
)

// resultFields are the fields that scripts rely on.
var resultFields = []string{
	"dataset", "method", "samples", "metric", "best_valid", "test", "batches", "seed", "parameters",
	"train_ms_per_batch", "sampling_ms_per_batch", "wall_s", "peak_rss_mb", "blas", "device", "run_dir",
}

// trainArgs is a command line that takes well under a second, at a constant step size, so that
// a run can be stopped anywhere by its limit.
func trainArgs(args ...string) []string {
	return slices.Concat([]string{"train"}, quick, paperSteps, args)
}

func TestTrain(t *testing.T) {
	t.Chdir(t.TempDir())
	out := succeed(t, trainArgs("--out", "a", "--json")...)
	m := object(t, out)
	wantFields(t, m, resultFields...)
	if !strings.Contains(out.stderr, "seed 1") || !strings.Contains(out.stderr, " nodes, ") {
		t.Errorf("standard error does not name the run: %q", out.stderr)
	}
	if m["dataset"] != smallData || m["method"] != run.DefaultMethod || m["batches"] != 40.0 || m["run_dir"] != "a" || m["device"] != "cpu" {
		t.Errorf("result is %v", m)
	}
	if score := m["test"].(float64); !(score > 0.1 && score <= 1) {
		t.Errorf("test score %v", score)
	}
	if rss := m["peak_rss_mb"].(float64); !(rss > 1 && rss < 1e5) {
		t.Errorf("peak resident memory %v MB", rss)
	}
	for _, name := range []string{"config.json", "metrics.jsonl", "best.ckpt", "last.ckpt", "result.json"} {
		readFile(t, filepath.Join("a", name))
	}
	var saved map[string]any
	if err := json.Unmarshal(readFile(t, "a/result.json"), &saved); err != nil {
		t.Fatal(err)
	}
	if saved["test"] != m["test"] || saved["method"] != m["method"] {
		t.Errorf("result.json holds %v, printed was %v", saved, m)
	}

	// The same seed gives the same weights for any number of workers; another
	// seed gives others.
	succeed(t, trainArgs("--out", "b", "--workers", "3", "-q")...)
	if !bytes.Equal(weightsOf(t, "a"), weightsOf(t, "b")) {
		t.Error("weights differ with the number of workers")
	}
	succeed(t, trainArgs("--out", "c", "--seed", "2", "-q")...)
	if bytes.Equal(weightsOf(t, "a"), weightsOf(t, "c")) {
		t.Error("weights are the same with another seed")
	}
}

// weightsOf returns the bytes of a run's parameters in last.ckpt and best.ckpt.
// Checkpoints hold wall-clock times too, so files cannot be compared whole.
func weightsOf(t *testing.T, dir string) []byte {
	t.Helper()
	var all []byte
	for _, name := range []string{"best.ckpt", "last.ckpt"} {
		data := readFile(t, filepath.Join(dir, name))
		all = append(all, data[8+binary.LittleEndian.Uint64(data):]...)
	}
	if len(all) == 0 {
		t.Fatal("no weights")
	}
	return all
}

func TestTrainTable(t *testing.T) {
	t.Chdir(t.TempDir())
	out := succeed(t, trainArgs("--out", "a")...)
	for _, want := range []string{"test accuracy", "best valid", "ladies-cv, samples 64, exact input", "saved in"} {
		if !strings.Contains(out.stdout, want) {
			t.Errorf("no %q in:\n%s", want, out.stdout)
		}
	}
	if lines := strings.Split(strings.TrimSpace(out.stdout), "\n"); !strings.HasSuffix(lines[len(lines)-1], " a") {
		t.Errorf("the last line does not say where it was saved: %q", lines[len(lines)-1])
	}
}

// TestTrainDefaults runs gcn without a command.
func TestTrainDefaults(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds of training")
	}
	t.Chdir(t.TempDir())
	out := succeed(t)
	if !strings.Contains(out.stdout, "synth:demo") || !strings.Contains(out.stdout, filepath.Join("runs", "")) {
		t.Errorf("gcn alone printed:\n%s", out.stdout)
	}
}

func TestRunFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "config.json", []byte("{}")) // not a run's: without --out it does not matter
	short := []string{"--max-batches", "2", "-q"}
	for range 3 {
		succeed(t, trainArgs(short...)...)
	}
	entries, err := os.ReadDir("runs")
	if err != nil || len(entries) != 3 {
		t.Fatalf("three runs left %d folders (%v)", len(entries), err)
	}
	for _, e := range entries {
		if !strings.Contains(e.Name(), "-synth-demo-nodes-600-edges-3000-ladies-cv-1") {
			t.Errorf("a run's folder is named %s", e.Name())
		}
	}

	succeed(t, trainArgs(append(short, "--out", "x")...)...)
	before := weightsOf(t, "x")
	fail(t, exitFailed, []string{"x", "resume"}, trainArgs(append(short, "--out", "x", "--seed", "7")...)...)
	if !bytes.Equal(before, weightsOf(t, "x")) {
		t.Error("a refused run changed the folder")
	}
	succeed(t, trainArgs(append(short, "--out", "x", "--seed", "7", "--overwrite")...)...)
	if bytes.Equal(before, weightsOf(t, "x")) {
		t.Error("--overwrite left the old run")
	}
}

func TestSpecSlug(t *testing.T) {
	for spec, want := range map[string]string{
		"synth:demo":                         "synth-demo",
		"synth:demo?nodes=600":               "synth-demo-nodes-600",
		"npy:/data/My Graph/":                "npy-my-graph",
		"planetoid:../shared/cora/cora":      "planetoid-cora",
		"cora":                               "cora",
		"npz:" + strings.Repeat("x", 100):    "npz-" + strings.Repeat("x", 56),
		"édition:ü":                          "dition",
		"?":                                  "data",
		`npz:C:\graphs\a.npz?split=60/20/20`: "npz-c-graphs-a-npz-split-60-20-20",
	} {
		if got := rundir.Slug(spec); got != want && !(strings.Contains(spec, `\`) && strings.HasPrefix(got, "npz-")) {
			t.Errorf("Slug(%q) = %q, want %q", spec, got, want)
		}
	}
}

func TestRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	m := object(t, succeed(t, trainArgs("--runs", "3", "--seed", "5", "--out", "r", "--json", "-q")...))
	wantFields(t, m, append(slices.Clone(resultFields), "runs", "test_mean", "test_std", "test_sem")...)
	runs := m["runs"].([]any)
	if len(runs) != 3 {
		t.Fatalf("%d runs, want 3", len(runs))
	}
	var scores []float64
	for i, r := range runs {
		run := r.(map[string]any)
		wantFields(t, run, resultFields...)
		if run["seed"] != float64(5+i) {
			t.Errorf("run %d has seed %v", i, run["seed"])
		}
		readFile(t, filepath.Join(run["run_dir"].(string), "best.ckpt"))
		scores = append(scores, run["test"].(float64))
	}
	mean := (scores[0] + scores[1] + scores[2]) / 3
	var squares float64
	for _, s := range scores {
		squares += (s - mean) * (s - mean)
	}
	std := math.Sqrt(squares / 2)
	for name, want := range map[string]float64{"test_mean": mean, "test": mean, "test_std": std, "test_sem": std / math.Sqrt(3)} {
		if got := m[name].(float64); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if std == 0 {
		t.Error("runs with different seeds have the same score")
	}

	// Each run equals the run of its seed alone, and all can be repeated.
	succeed(t, trainArgs("--seed", "6", "--out", "alone", "-q")...)
	if !bytes.Equal(weightsOf(t, "alone"), weightsOf(t, "r/seed-6")) {
		t.Error("a run among several differs from the same seed alone")
	}
	again := object(t, succeed(t, trainArgs("--runs", "3", "--seed", "5", "--out", "r", "--resume", "--json", "-q")...))
	if again["test_mean"] != m["test_mean"] || again["test_sem"] != m["test_sem"] {
		t.Errorf("repeated with --resume, the result is %v, before it was %v", again, m)
	}
	// Resuming needs only the folder.
	again = object(t, succeed(t, "train", "--out", "r", "--resume", "--json", "-q"))
	if again["test_mean"] != m["test_mean"] || len(again["runs"].([]any)) != 3 {
		t.Errorf("resumed from its folder, the result is %v, before it was %v", again, m)
	}
	fail(t, exitFailed, []string{"several runs", filepath.Join("r", "seed-5")}, "eval", "--run", "r")
	succeed(t, "eval", "--run", "r/seed-7")
	fail(t, exitFailed, []string{"alone", "single run"}, trainArgs("--runs", "2", "--seed", "6", "--out", "alone", "--resume")...)
	// Without --resume the folder is refused.
	fail(t, exitFailed, []string{"resume"}, trainArgs("--runs", "3", "--seed", "5", "--out", "r")...)
}

func TestConfig(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "c.json", []byte(`{"data": "`+smallData+`", "batch": 64, "samples": [64, 64], "hidden": 16,
		"max-batches": 10, "method": "ladies", "seed": 18446744073709551615, "lr": 0.01, "patience": 0}`))
	m := object(t, succeed(t, "train", "--config", "c.json", "--method", "fastgcn", "--out", "a", "--json", "-q"))
	if m["method"] != "fastgcn" || m["batches"] != 10.0 || m["dataset"] != smallData {
		t.Errorf("result is %v", m)
	}
	if text := string(readFile(t, "a/config.json")); !strings.Contains(text, "18446744073709551615") {
		t.Errorf("the seed of the config file was lost:\n%s", text)
	}
	// A run's config.json, or its folder, repeats the run.
	for i, from := range []string{"a/config.json", "a"} {
		dir := []string{"b", "c"}[i]
		succeed(t, "train", "--config", from, "--out", dir, "-q")
		if !bytes.Equal(weightsOf(t, "a"), weightsOf(t, dir)) {
			t.Errorf("--config %s does not repeat the run", from)
		}
	}
	// The same holds for options that are neither numbers nor words.
	other := []string{"--batches-per-epoch", "0", "--epochs", "2", "--method", "fastgcn?draw=replacement&rows=1",
		"--layer-norm", "--residual", "--activation", "relu", "--weight-decay", "1e-4", "--max-batches", "0", "--patience", "0"}
	first := object(t, succeed(t, append(trainArgs("--out", "d", "--json", "-q"), other...)...))
	if first["method"] != "fastgcn?draw=replacement&rows=1" {
		t.Errorf("importance fastgcn, drawn with replacement, rows included, is called %v", first["method"])
	}
	second := object(t, succeed(t, "train", "--config", "d", "--out", "e", "--json", "-q"))
	if !bytes.Equal(weightsOf(t, "d"), weightsOf(t, "e")) || second["method"] != first["method"] || second["batches"] != first["batches"] {
		t.Errorf("the config of %v gives %v", first, second)
	}
}

func TestParts(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, method := range []string{
		"", "ladies?flat=1", "ladies?flat=1&weight=naive", "fastgcn?neighborhood=1", "ladies?draw=replacement", "ladies?draw=poisson",
		"ladies?flat=1&draw=systematic", "ladies?weight=rank", "ladies-flat-debiased?population=nodes", "ladies-debiased?rows=1&normalize=1",
		"uniform", "full", "poisson-ladies", "neighbor?importance=ladies&flat=1", "neighbor?importance=fastgcn&weight=rank", "neighbor?draw=replacement",
	} {
		m := object(t, succeed(t, trainArgs("--max-batches", "2", "-q", "--json", "--out", "x", "--overwrite", "--method", method)...))
		if want := cmp.Or(method, "ladies-cv"); m["method"] != want {
			t.Errorf("%q is called %v", method, m["method"])
		}
		if samples := m["samples"].([]any); (len(samples) == 0) != (method == "full") {
			t.Errorf("%q: samples %v", method, samples)
		}
	}
	// Parts that make up a named method are that method.
	for named, parts := range map[string]string{
		"fastgcn-flat":           "fastgcn?flat=1",
		"ladies-debiased":        "ladies?weight=debiased",
		"ladies-flat-debiased":   "ladies-debiased?flat=1",
		"neighbor-debiased":      "neighbor?importance=ladies",
		"neighbor-flat-debiased": "neighbor?importance=ladies&flat=1&draw=wrs&weight=debiased",
	} {
		line := trainArgs("-q", "--max-batches", "4", "--samples", "2", "--out")
		succeed(t, append(line, named, "--method", named)...)
		succeed(t, append(line, named+"-parts", "--method", parts)...)
		if !bytes.Equal(weightsOf(t, named), weightsOf(t, named+"-parts")) {
			t.Errorf("%s named by its parts trains differently", named)
		}
	}
}

// TestEveryMethod trains a few batches with each method, on its default sample
// sizes if these are few neighbours.
func TestEveryMethod(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, m := range samplers.Methods() {
		args := []string{"train", "--data", smallData, "--batch", "64", "--hidden", "16", "--max-batches", "4", "-q", "--json",
			"--method", m.Name, "--out", m.Name}
		out := gcn(t, args...)
		if out.code != exitDone {
			t.Errorf("%s: exit code %d: %s", m.Name, out.code, out.stderr)
			continue
		}
		if r := object(t, out); r["method"] != m.Name || !(r["test"].(float64) >= 0) {
			t.Errorf("%s: %v: %s", m.Name, r, out.stderr)
		}
		if len(m.Default) > 0 {
			if got := run.Sizes(m.Default); (got[0] <= 10) != strings.HasPrefix(m.Sizes, "neighbours") {
				t.Errorf("%s draws %v %s by default", m.Name, got, m.Sizes)
			}
		}
	}
}

func TestLayersFollowSamples(t *testing.T) {
	t.Chdir(t.TempDir())
	for method, sampled := range map[string]int{"ladies": 3, run.DefaultMethod: 2} { // the default propagates the input exactly
		m := object(t, succeed(t, trainArgs("-q", "--json", "--method", method, "--samples", "32,48,64", "--max-batches", "2")...))
		if got := m["samples"].([]any); len(got) != sampled {
			t.Errorf("%s: samples %v", method, got)
		}
		text := string(readFile(t, filepath.Join(m["run_dir"].(string), "config.json")))
		if !strings.Contains(text, `"layers": 3`) {
			t.Errorf("%s: three sample sizes did not make three layers:\n%s", method, text)
		}
	}
}

// TestInterruptAtOnce interrupts a command before it begins.
func TestInterruptAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{trainArgs(), {"bench", "sampling"}, {"datasets", "info", "synth:demo"}} {
		if out := gcnContext(ctx, args...); out.code != exitInterrupted || out.stdout != "" || !strings.HasPrefix(out.stderr, "gcn: interrupted") {
			t.Errorf("gcn %s: exit code %d: %s", strings.Join(args, " "), out.code, out.stderr)
		}
	}
}

// TestInterrupt stops a run by its context, as a signal does, and resumes it:
// with the default method, with passes over the training nodes, and with a
// method that keeps a history of activations.
func TestInterrupt(t *testing.T) {
	for name, args := range map[string][]string{
		"default": nil,
		"passes":  {"--batches-per-epoch", "0"},
		"vrgcn":   {"--method", "vrgcn", "--samples", "2"},
	} {
		t.Run(name, func(t *testing.T) { testInterrupt(t, args) })
	}
}

func testInterrupt(t *testing.T, args []string) {
	t.Chdir(t.TempDir())
	line := append(trainArgs("--max-batches", "1500", "--patience", "0", "--eval-every", "50"), args...)
	succeed(t, append(line, "--out", "whole", "-q")...)
	for k := 1; ; k++ {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(k)*40*time.Millisecond)
		args := append(line, "--out", "cut", "--resume")
		if k%2 == 0 && run.Taken("cut") { // as the message says
			args = []string{"train", "--out", "cut", "--resume"}
		}
		out := gcnContext(ctx, args...)
		cancel()
		if out.code == exitDone {
			if k == 1 {
				t.Skip("the run ended before it could be interrupted")
			}
			break
		}
		if out.code != exitFailed && out.code != exitInterrupted || k > 500 {
			t.Fatalf("attempt %d: exit code %d: %s", k, out.code, out.stderr)
		}
		if message := lastLine(out.stderr); out.code != exitInterrupted || !strings.HasPrefix(message, "gcn: ") {
			t.Fatalf("an interrupted run exits with %d: %s", out.code, message)
		}
	}
	if !bytes.Equal(weightsOf(t, "whole"), weightsOf(t, "cut")) {
		t.Error("interrupted and resumed, the weights differ")
	}
}

// TestEveryMethodResumes reopens the run of each method by its folder alone, as
// eval, predict, --resume and --config do. This includes methods without sample
// sizes, and parts given without a weight.
func TestEveryMethodResumes(t *testing.T) {
	t.Chdir(t.TempDir())
	line := []string{"train", "--data", smallData, "--hidden", "8", "--batch", "32", "--max-batches", "4", "-q"}
	methods := append(run.MethodNames(), "ladies-flat-debiased?rows=1", "ladies?draw=poisson", "ladies?draw=replacement", "fastgcn-debiased?population=nodes", "neighbor?importance=fastgcn&flat=1")
	for k, method := range methods {
		if k%3 != 0 && !longtest.Wanted() { // a third of them always
			continue
		}
		succeed(t, append(line, "--method", method, "--out", method)...)
		before := weightsOf(t, method)
		trained := object(t, succeed(t, "train", "--out", method, "--resume", "--json", "-q"))
		e := object(t, succeed(t, "eval", "--run", method, "--json"))
		if e["score"] != trained["test"] || e["method"] != method {
			t.Errorf("%s: eval gives %v, training gave %v", method, e, trained)
		}
		succeed(t, "train", "--config", method, "--out", method+"-again", "-q")
		if !bytes.Equal(before, weightsOf(t, method)) || !bytes.Equal(before, weightsOf(t, method+"-again")) {
			t.Errorf("%s: the same options give other weights", method)
		}
	}
}

// TestMovedData moves data between training, resuming and scoring. Resuming on
// other data is refused; scoring on other data prints a note.
func TestMovedData(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "datasets", "convert", smallData, "here")
	args := func(data, batches string) []string {
		return []string{"train", "--data", data, "--batch", "64", "--samples", "32", "--hidden", "8", "--max-batches", batches, "--out", "a", "-q"}
	}
	succeed(t, args("store:here", "10")...)
	if err := os.Rename("here", "there"); err != nil {
		t.Fatal(err)
	}
	fail(t, exitFailed, []string{"here"}, "train", "--out", "a", "--resume", "--max-batches", "20")
	succeed(t, append(args("store:there", "20"), "--resume")...)
	for _, out := range []output{succeed(t, "eval", "--run", "a"), succeed(t, "predict", "--run", "a", "--out", "s.npy")} {
		if out.stderr != "" {
			t.Errorf("on standard error: %s", out.stderr)
		}
	}
	succeed(t, "datasets", "convert", smallData+"&seed=3", "other")
	const note = "note: store:other differs from the training data of a"
	for _, out := range []output{succeed(t, "eval", "--run", "a", "--data", "store:other"), succeed(t, "predict", "--run", "a", "--out", "s.npy", "--data", "store:other")} {
		if !strings.Contains(out.stderr, note) {
			t.Errorf("on standard error: %q, want %q", out.stderr, note)
		}
	}
	fail(t, exitFailed, []string{"cannot resume: fingerprint"}, append(args("store:other", "30"), "--resume")...)
}

func TestEvalAndPredict(t *testing.T) {
	t.Chdir(t.TempDir())
	trained := object(t, succeed(t, trainArgs("--out", "a", "--json", "-q")...))
	e := object(t, succeed(t, "eval", "--run", "a", "--json"))
	wantFields(t, e, "run_dir", "dataset", "split", "metric", "score", "nodes")
	if e["score"] != trained["test"] || e["split"] != "test" {
		t.Errorf("eval gives %v, training gave %v", e, trained)
	}
	if v := object(t, succeed(t, "eval", "--run", "a/", "--split", "valid", "--json")); v["score"] != trained["best_valid"] {
		t.Errorf("eval on the validation nodes gives %v, training gave %v", v["score"], trained["best_valid"])
	}
	if out := succeed(t, "eval", "--run", "a"); !strings.Contains(out.stdout, "accuracy") {
		t.Errorf("eval printed:\n%s", out.stdout)
	}

	succeed(t, "predict", "--run", "a", "--out", "s.npy", "--logits")
	scores := readScores(t, "s.npy", 600, 10)
	out := object(t, succeed(t, "predict", "--run", "a", "--out", "s.csv", "--json", "--logits"))
	if out["nodes"] != 600.0 || out["outputs"] != 10.0 || out["out"] != "s.csv" || out["kind"] != "logits" {
		t.Errorf("predict --json says %v", out)
	}
	rows := strings.Split(strings.TrimSpace(string(readFile(t, "s.csv"))), "\n")
	if len(rows) != 601 || rows[0] != "node,class,0,1,2,3,4,5,6,7,8,9" {
		t.Fatalf("s.csv has %d rows, the first %q", len(rows), rows[0])
	}
	var first float32
	if err := json.Unmarshal([]byte(strings.Split(rows[1+17], ",")[2+3]), &first); err != nil || first != scores[17*10+3] {
		t.Errorf("s.csv says %v (%v) where s.npy has %v", first, err, scores[17*10+3])
	}

	// The predictions have the score that eval prints.
	data, err := openData(t.Context(), smallData)
	if err != nil {
		t.Fatal(err)
	}
	var ofTest []float32
	var ids strings.Builder
	for _, node := range data.Split.Test {
		ofTest = append(ofTest, scores[10*node:10*node+10]...)
		ids.WriteString(itoa(int(node)) + "\n\n")
	}
	score, err := score.Of(data.Metric, ofTest, data.Labels, data.Split.Test)
	if err != nil || score != trained["test"] {
		t.Errorf("the predictions score %v (%v), training said %v", score, err, trained["test"])
	}
	writeFile(t, "test.txt", []byte(ids.String()))
	var array bytes.Buffer
	if err := npy.Write(&array, data.Split.Test, len(data.Split.Test)); err != nil {
		t.Fatal(err)
	}
	writeFile(t, "test.npy", array.Bytes())
	for _, list := range []string{"test.txt", "test.npy"} {
		succeed(t, "predict", "--run", "a", "--out", "t.npy", "--nodes", list, "--logits")
		// A BLAS may round a row of a small product differently.
		for k, got := range readScores(t, "t.npy", len(data.Split.Test), 10) {
			if math.Abs(float64(got-ofTest[k])) > 1e-5 {
				t.Fatalf("score %d of the nodes in %s is %v, among all nodes %v", k, list, got, ofTest[k])
			}
		}
	}

	succeed(t, "predict", "--run", "a", "--out", "p.csv")
	succeed(t, "predict", "--run", "a", "--out", "p.npy")
	if table := byName(t, "p.csv"); table["17"]["3"] != fmt.Sprint(readScores(t, "p.npy", 600, 10)[173]) {
		t.Errorf("node 17 has %v", table["17"])
	}
	for i, row := range slices.Collect(slices.Chunk(readScores(t, "p.npy", 600, 10), 10)) {
		var sum, logits float64
		for c, p := range row {
			sum += float64(p)
			logits += math.Exp(float64(scores[10*i+c]))
		}
		if want := math.Exp(float64(scores[10*i])) / logits; math.Abs(sum-1) > 1e-5 || math.Abs(float64(row[0])-want) > 1e-6 {
			t.Fatalf("row %d of probabilities is %v", i, row)
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func readScores(t *testing.T, path string, rows, columns int) []float32 {
	t.Helper()
	r, err := npy.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !slices.Equal(r.Shape, []int{rows, columns}) {
		t.Fatalf("%s has shape %v, want %d×%d", path, r.Shape, rows, columns)
	}
	values, err := npy.All[float32](context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func TestBench(t *testing.T) {
	t.Chdir(t.TempDir())
	rows := object(t, succeed(t, "bench", "sampling", "--data", smallData, "--methods", "ladies,full", "--samples", "16,32",
		"--batch", "32", "--batches", "20", "--json"))["rows"].([]any)
	if len(rows) != 3 { // full has no use for samples
		t.Fatalf("%d rows, want 3: %v", len(rows), rows)
	}
	for _, r := range rows {
		row := r.(map[string]any)
		wantFields(t, row, "method", "samples", "batch", "ms_median", "ms_mean", "ms_sd", "nnz", "candidates", "allocs_per_batch")
		if !(row["ms_median"].(float64) > 0) || !(row["candidates"].(float64) > 32) || !raceDetector && row["allocs_per_batch"].(float64) > 4 {
			t.Errorf("row is %v", row)
		}
	}
	out := succeed(t, "bench", "sampling", "--data", smallData, "--batch", "32", "--batches", "5", "--samples", "16")
	if !strings.Contains(out.stdout, "ms median") || !strings.Contains(out.stdout, "ladies-flat-debiased") {
		t.Errorf("bench sampling printed:\n%s", out.stdout)
	}

	small := []string{"--data", smallData, "--hidden", "16"}
	step := object(t, succeed(t, append([]string{"bench", "train", "--batch", "32", "--samples", "16,16", "--batches", "50", "--json"}, small...)...))
	wantFields(t, step, "ms_median", "ms_mean", "ms_sd", "floor_ms", "ratio_to_floor", "sampling_ms_median",
		"pipelined_ms_per_batch", "bytes_per_step", "blas", "threads")
	if !(step["ratio_to_floor"].(float64) > 0) {
		t.Errorf("bench train gives %v", step)
	}
	out = succeed(t, append([]string{"bench", "train", "--batch", "32", "--samples", "16,16", "--batches", "50"}, small...)...)
	if !strings.Contains(out.stdout, "ratio to floor") {
		t.Errorf("bench train printed:\n%s", out.stdout)
	}

	infer := object(t, succeed(t, append([]string{"bench", "infer", "--json"}, small...)...))
	wantFields(t, infer, "ms", "peak_rss_mb", "nodes_per_s")
	if out = succeed(t, append([]string{"bench", "infer"}, small...)...); !strings.Contains(out.stdout, "nodes ") {
		t.Errorf("bench infer printed:\n%s", out.stdout)
	}
}
