package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

// short is a run of 60 batches that evaluates often.
func short() Options {
	return Options{MaxBatches: 60, Batch: 32, EvalEvery: 7, BatchesPerEpoch: 4, Seed: 9, Adam: Adam{LR: 0.01, Clip: 5}, CheckpointInterval: 1}
}

func mustFit(t testing.TB, m *layers.Model, d *datasets.Data, o Options) *Result {
	t.Helper()
	h, err := Fit(context.Background(), m, d, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestOverfit(t *testing.T) {
	d := smallData(t, 40, 4)
	d.Split.Valid = nil // nothing stops early
	m := modelOver(t, d, &samplers.Full{Laplacian: d.Laplacian(), Depth: 2}, 64)
	h := mustFit(t, m, d, Options{MaxBatches: 300, Adam: Adam{LR: 0.02}})
	if loss := h.Evaluations[len(h.Evaluations)-1].Loss; loss > 0.15 {
		t.Errorf("loss %v after %d batches of the same nodes, want near 0", loss, h.Batches)
	}
	score, err := Evaluate(context.Background(), m, d, d.Split.Train)
	if err != nil || score != 1 {
		t.Errorf("training accuracy %v, %v, want 1", score, err)
	}
	if h.Stop != "max-batches" || h.Batches != 300 || !math.IsNaN(h.Best) || math.IsNaN(h.Test) {
		t.Errorf("%+v", h)
	}
}

func TestFitLearns(t *testing.T) {
	d := smallData(t, 500, 4)
	m := smallModel(t, d)
	before, err := Evaluate(context.Background(), m, d, d.Split.Test)
	if err != nil {
		t.Fatal(err)
	}
	h := mustFit(t, m, d, Options{MaxBatches: 150, Batch: 64, Adam: Adam{LR: 0.01}})
	if h.Test < 0.8 || h.Test < before+0.2 {
		t.Errorf("test accuracy %v, %v before training", h.Test, before)
	}
	after, err := Evaluate(context.Background(), m, d, d.Split.Valid)
	if err != nil || after != h.Best {
		t.Errorf("the model left scores %v (%v) on validation nodes, the best was %v", after, err, h.Best)
	}
}

// TestFitIsDeterministic checks that the bits are the same for any number of workers and
// cores, and differ for another seed, with both kinds of epochs.
func TestFitIsDeterministic(t *testing.T) {
	d := smallData(t, 300, 3)
	for _, perEpoch := range []int{4, OnePass} {
		t.Run(fmt.Sprintf("BatchesPerEpoch=%d", perEpoch), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
			run := func(cores, workers int, seed uint64) ([]float32, *Result) {
				runtime.GOMAXPROCS(cores)
				o := short()
				o.Workers, o.Seed, o.BatchesPerEpoch = workers, seed, perEpoch
				m := smallModel(t, d)
				h := mustFit(t, m, d, o)
				return weightsOf(t, m), h
			}
			want, history := run(1, 1, 9)
			for _, cores := range []int{1, 2, 7} {
				for _, workers := range []int{1, 2, 7} {
					got, h := run(cores, workers, 9)
					if !slices.Equal(got, want) {
						t.Errorf("%d cores, %d workers: the weights differ", cores, workers)
					}
					for k, e := range h.Evaluations {
						w := history.Evaluations[k]
						if e.Seconds = w.Seconds; e != w {
							t.Errorf("%d cores, %d workers: evaluation %+v, want %+v", cores, workers, e, w)
						}
					}
				}
			}
			if other, _ := run(2, 2, 10); slices.Equal(other, want) {
				t.Error("another seed gives the same weights")
			}
		})
	}
}

// afterBatch returns a context and a progress function that ends it after the
// given number of batches.
func afterBatch(n int) (context.Context, func(Progress)) {
	ctx, cancel := context.WithCancel(context.Background())
	return ctx, func(p Progress) {
		if p.Batch == n {
			cancel()
		}
	}
}

// runFiles returns the contents of a folder's last.ckpt, best.ckpt and metrics.jsonl,
// without times.
func runFiles(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	for _, name := range []string{lastFile, bestFile} {
		c, err := readCheckpoint(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		s := c.State
		s.Seconds, s.TrainSeconds, s.SamplingSeconds, s.WaitSeconds, s.EvalSeconds = 0, 0, 0, 0, 0
		fmt.Fprintf(&b, "%s %+v", name, s)
		for _, tensor := range c.tensors {
			fmt.Fprintf(&b, " %s", tensor.Name)
			for _, v := range tensor.Values {
				fmt.Fprintf(&b, " %x", math.Float32bits(v))
			}
		}
		b.WriteByte('\n')
	}
	text, err := os.ReadFile(filepath.Join(dir, metricsFile))
	if err != nil {
		t.Fatal(err)
	}
	for k, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%s:%d: %v", metricsFile, k+1, err)
		}
		delete(m, "seconds")
		fmt.Fprintln(&b, m)
	}
	return b.String()
}

// TestResume stops a run at one to three random batches. It must end with the weights,
// scores and files of a run that was never stopped.
func TestResume(t *testing.T) {
	d := smallData(t, 300, 3)
	whole := t.TempDir()
	o := short()
	o.Dir, o.Config = whole, map[string]any{"method": "small"}
	m := smallModel(t, d)
	history := mustFit(t, m, d, o)
	want, wantFiles := weightsOf(t, m), runFiles(t, whole)
	rng := rand.New(rand.NewPCG(11, 0))
	for trial := range 12 {
		cuts := make([]int, 1+rng.IntN(3))
		for k := range cuts {
			cuts[k] = 1 + rng.IntN(59)
		}
		slices.Sort(cuts)
		cuts = slices.Compact(cuts)
		t.Run(fmt.Sprint(cuts), func(t *testing.T) {
			o := o
			o.Dir, o.Resume, o.Workers = t.TempDir(), true, 1+trial%3
			if trial%2 == 0 {
				o.CheckpointInterval = time.Hour // only the checkpoint on stopping
			}
			done := 0
			for _, cut := range cuts {
				ctx, progress := afterBatch(cut)
				o.Progress = progress
				m := smallModel(t, d)
				h, err := Fit(ctx, m, d, o)
				if !errors.Is(err, context.Canceled) || h.Batches != cut || h.Resumed != done {
					t.Fatalf("stopped at %d: %+v, %v", cut, h, err)
				}
				if !strings.Contains(err.Error(), fmt.Sprintf("stopped after batch %d", cut)) {
					t.Errorf("error %q does not say where it stopped", err)
				}
				last, err := readCheckpoint(filepath.Join(o.Dir, lastFile))
				if err != nil || !slices.Equal(valuesOf(last, sectionParameters), weightsOf(t, m)) {
					t.Fatalf("the model does not hold the last step's parameters (%v)", err)
				}
				done = cut
				// The checkpoint has the evaluations, whatever the file holds.
				if err := os.WriteFile(filepath.Join(o.Dir, metricsFile), []byte(strings.Repeat("{half a line", 100*trial)), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			o.Progress = nil
			m := smallModel(t, d)
			h := mustFit(t, m, d, o)
			if !slices.Equal(weightsOf(t, m), want) {
				t.Error("the weights differ")
			}
			if h.Test != history.Test || h.Best != history.Best || h.BestBatch != history.BestBatch || len(h.Evaluations) != len(history.Evaluations) {
				t.Errorf("history %+v, want %+v", h, history)
			}
			if got := runFiles(t, o.Dir); got != wantFiles {
				t.Errorf("files hold\n%.2000s\nwant\n%.2000s", got, wantFiles)
			}
			// Resume the finished run: nothing changes.
			again := smallModel(t, d)
			h = mustFit(t, again, d, o)
			if h.Batches != 60 || h.Resumed != 60 || h.Test != history.Test || !slices.Equal(weightsOf(t, again), want) || runFiles(t, o.Dir) != wantFiles {
				t.Errorf("resuming a finished run: %+v", h)
			}
		})
	}
}

// TestResumeFurther raises the limit of a finished run.
func TestResumeFurther(t *testing.T) {
	d := smallData(t, 300, 3)
	o := short()
	o.MaxBatches, o.Dir, o.Resume = 63, t.TempDir(), true
	want := smallModel(t, d)
	mustFit(t, want, d, o)
	whole := o.Dir
	o.Dir, o.MaxBatches = t.TempDir(), 28
	if h := mustFit(t, smallModel(t, d), d, o); h.Batches != 28 {
		t.Fatalf("%+v", h)
	}
	o.MaxBatches = 63
	got := smallModel(t, d)
	if h := mustFit(t, got, d, o); h.Batches != 63 || h.Resumed != 28 || !slices.Equal(weightsOf(t, got), weightsOf(t, want)) || runFiles(t, o.Dir) != runFiles(t, whole) {
		t.Errorf("a run in two parts differs: %+v", h)
	}
}

// TestResumeCosine raises the limit of a run whose cosine has ended: another one begins at
// half of the step size, with the same bits if that part is stopped, too. A cosine that has
// not ended keeps its limit.
func TestResumeCosine(t *testing.T) {
	d := smallData(t, 300, 3)
	first := short()
	first.Schedule = Schedule{Cosine: true, WarmUp: 5}
	first.MaxBatches, first.Dir, first.Resume = 28, t.TempDir(), true
	mustFit(t, smallModel(t, d), d, first)
	second := first
	second.MaxBatches = 63
	folder := func() string { // a copy of the first run
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(first.Dir)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	second.Dir = folder()
	want := smallModel(t, d)
	mustFit(t, want, d, second)
	whole := second.Dir
	last, err := readCheckpoint(filepath.Join(whole, lastFile))
	if err != nil || last.State.Falls != 1 || last.State.FallBatch != 28 {
		t.Fatalf("state %+v, %v, want a fall after batch 28", last.State, err)
	}
	if f := second.Schedule.factor(&last.State, 63); f > 1e-12 {
		t.Errorf("the last step has the factor %v, want 0", f)
	}

	second.Dir = folder()
	for _, call := range []int{1, 3} { // before the first new checkpoint, and after it
		ctx, cancel := context.WithCancel(context.Background())
		m := smallModel(t, d)
		m.Inference = &cancelling{Inferencer: m.Inference, call: call, cancel: cancel}
		if _, err := Fit(ctx, m, d, second); !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v, want %v", err, context.Canceled)
		}
	}
	wrong := second
	wrong.MaxBatches = 70
	if _, err := Fit(t.Context(), smallModel(t, d), d, wrong); err == nil || !strings.Contains(err.Error(), "falls to 0 at batch 63") {
		t.Errorf("another limit within the cosine: error %v", err)
	}
	got := smallModel(t, d)
	mustFit(t, got, d, second)
	if !slices.Equal(weightsOf(t, got), weightsOf(t, want)) || runFiles(t, second.Dir) != runFiles(t, whole) {
		t.Error("the second part, stopped twice, gives other weights or files")
	}
	if config, err := ReadConfig(whole); err != nil || fmt.Sprint(config["falls"]) != "1" {
		t.Errorf("config.json has falls %v, %v", config["falls"], err)
	}

	// A run that patience has ended within its cosine has another one, with patience anew.
	patient := short()
	patient.Schedule = first.Schedule
	patient.MaxBatches, patient.Patience, patient.Dir, patient.Resume = 700, 35, t.TempDir(), true
	h := mustFit(t, smallModel(t, d), d, patient)
	if h.Stop != "patience" || h.Batches >= 700 {
		t.Fatalf("%+v", h)
	}
	patient.MaxBatches = 1400
	if more := mustFit(t, smallModel(t, d), d, patient); more.Falls != 1 || more.Batches < h.Batches+35 {
		t.Errorf("after patience: %d falls, %d batches after %d, want one and at least 35 more", more.Falls, more.Batches, h.Batches)
	}
}

// TestResultIsOfTheEnd checks that a finished run that trains further has no result.json
// until its new end, and that resuming without further training keeps result.json.
func TestResultIsOfTheEnd(t *testing.T) {
	d := smallData(t, 300, 3)
	o := short()
	o.MaxBatches, o.Dir = 14, t.TempDir()
	mustFit(t, smallModel(t, d), d, o)
	result := filepath.Join(o.Dir, resultFile)
	stopped := func(calls int) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		m := smallModel(t, d)
		m.Inference = &cancelling{Inferencer: m.Inference, call: calls, cancel: cancel}
		if _, err := Fit(ctx, m, d, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v, want %v", err, context.Canceled)
		}
	}
	o.Resume = true
	stopped(1) // in the final test: no batch is left to train
	if _, err := os.Stat(result); err != nil {
		t.Errorf("the result of a finished run is gone: %v", err)
	}
	o.MaxBatches = 63
	stopped(2) // in the second evaluation
	if _, err := os.Stat(result); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a run that has not ended has a result.json: %v", err)
	}
	mustFit(t, smallModel(t, d), d, o)
	if text, err := os.ReadFile(result); err != nil || !strings.Contains(string(text), `"batches": 63`) {
		t.Errorf("result %s, %v", text, err)
	}
}

// TestCancelDuringEvaluation stops a run after a step and before its evaluation: when it
// is resumed, it must evaluate first.
func TestCancelDuringEvaluation(t *testing.T) {
	d := smallData(t, 300, 3)
	o := short()
	o.Dir = t.TempDir()
	want := smallModel(t, d)
	mustFit(t, want, d, o)
	whole := o.Dir
	o.Dir, o.Resume = t.TempDir(), true
	for _, call := range []int{1, 3, 2, 7} { // evaluations, and last the final test
		ctx, cancel := context.WithCancel(context.Background())
		m := smallModel(t, d)
		m.Inference = &cancelling{Inferencer: m.Inference, call: call, cancel: cancel}
		if _, err := Fit(ctx, m, d, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v, want %v", err, context.Canceled)
		}
		last, err := readCheckpoint(filepath.Join(o.Dir, lastFile))
		if err != nil || !slices.Equal(valuesOf(last, sectionParameters), weightsOf(t, m)) {
			t.Fatalf("the model does not hold the last step's parameters (%v)", err)
		}
	}
	m := smallModel(t, d)
	mustFit(t, m, d, o)
	if !slices.Equal(weightsOf(t, m), weightsOf(t, want)) || runFiles(t, o.Dir) != runFiles(t, whole) {
		t.Error("the resumed run gives other weights or files")
	}
}

// cancelling ends a context during its call-th inference.
type cancelling struct {
	layers.Inferencer
	call   int
	cancel context.CancelFunc
}

func (c *cancelling) Infer(ctx context.Context, p *graph.Laplacian, x *graph.Features, nodes []int32) ([]float32, error) {
	if c.call--; c.call == 0 {
		c.cancel()
		return nil, ctx.Err()
	}
	return c.Inferencer.Infer(ctx, p, x, nodes)
}

func TestPatience(t *testing.T) {
	d := smallData(t, 300, 3)
	o := short()
	o.MaxBatches, o.Patience, o.EvalEvery = Unlimited, 40, 10
	h := mustFit(t, smallModel(t, d), d, o)
	if h.Stop != "patience" || h.Batches != h.BestBatch+40 {
		t.Errorf("%s after %d batches, best at %d", h.Stop, h.Batches, h.BestBatch)
	}
	best := math.Inf(-1)
	for _, e := range h.Evaluations {
		if e.Best != (e.Valid > best) {
			t.Errorf("%+v after a best of %v", e, best)
		}
		best = max(best, e.Valid)
	}
	if best != h.Best {
		t.Errorf("best %v, of the evaluations %v", h.Best, best)
	}
	o = short()
	o.Epochs, o.MaxBatches = 3, 1000
	if h := mustFit(t, smallModel(t, d), d, o); h.Stop != "epochs" || h.Batches != 12 {
		t.Errorf("%s after %d batches, want 3 epochs of 4", h.Stop, h.Batches)
	}
}

func TestProgress(t *testing.T) {
	d := smallData(t, 300, 3)
	o := short()
	var seen []Progress
	o.Progress = func(p Progress) { seen = append(seen, p) }
	h := mustFit(t, smallModel(t, d), d, o)
	if len(seen) != 60 {
		t.Fatalf("%d calls for 60 batches", len(seen))
	}
	var evaluated int
	for k, p := range seen {
		if math.Abs(p.Loss-seen[0].Loss) > seen[0].Loss/2 {
			t.Errorf("mean loss %v after %d batches, %v after one", p.Loss, k+1, seen[0].Loss)
		}
		if p.Batch != k+1 || p.MaxBatches != 60 || p.Epoch != k/4 || !(p.Loss > 0) || p.Elapsed <= 0 || p.Evaluated != ((k+1)%7 == 0 || k == 59) {
			t.Errorf("call %d: %+v", k, p)
		}
		if p.Evaluated {
			if e := h.Evaluations[evaluated]; p.Valid != e.Valid || p.Loss != e.Loss {
				t.Errorf("%+v for the evaluation %+v", p, e)
			}
			evaluated++
		}
		if k == 29 && p.Left <= 0 || k == 59 && p.Left != 0 {
			t.Errorf("batch %d: %v left", k+1, p.Left)
		}
	}
	if !(h.TrainMS > 0) || !(h.SamplingMS > 0) || !(h.EvalS > 0) || !(h.WallS > 0) {
		t.Errorf("times missing: %+v", h)
	}
}

func TestCancelIsPrompt(t *testing.T) {
	d := smallData(t, 300, 3)
	ctx, cancel := context.WithCancel(context.Background())
	o := short()
	o.MaxBatches, o.Patience = math.MaxInt-1, Unlimited
	before := runtime.NumGoroutine()
	var at time.Time
	o.Progress = func(p Progress) {
		if p.Batch == 1 { // a slow machine has begun too
			time.AfterFunc(50*time.Millisecond, func() { at = time.Now(); cancel() })
		}
	}
	h, err := Fit(ctx, smallModel(t, d), d, o)
	if took := time.Since(at); took > 5*time.Second {
		t.Errorf("stopping took %v", took)
	}
	if !errors.Is(err, context.Canceled) || h.Batches == 0 || !math.IsNaN(h.Test) || h.Stop != "" {
		t.Errorf("%+v, %v", h, err)
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// TestFitErrors gives Fit data and options that cannot work: it must return an error and
// make no folder.
func TestFitErrors(t *testing.T) {
	d := smallData(t, 100, 3)
	empty := smallData(t, 100, 3)
	empty.Split.Train = nil
	outside := smallData(t, 100, 3)
	outside.Split.Test[3] = 100
	oneSided := smallData(t, 100, 3)
	oneSided.Metric = datasets.ROCAUC
	oneSided.Labels = &graph.Labels{Tasks: 3, Multi: make([]float32, 300)}
	for _, node := range append(slices.Clone(oneSided.Split.Train), oneSided.Split.Valid...) {
		oneSided.Labels.Multi[3*node] = float32(node % 2)
	}
	for want, c := range map[string]struct {
		data    *datasets.Data
		options Options
	}{
		"the test nodes need another": {oneSided, Options{MaxBatches: 1}},
		"training set is empty":       {empty, Options{}},
		"test node 3 is 100":          {outside, Options{}},
		"data without a graph":        {&datasets.Data{}, Options{}},
		"Batch is -1":                 {d, Options{Batch: -1}},
		"BatchesPerEpoch is -2":       {d, Options{BatchesPerEpoch: -2}},
		"EvalEvery is -1":             {d, Options{EvalEvery: -1}},
		"Workers is -1":               {d, Options{Workers: -1}},
		"MaxBatches is -1":            {d, Options{MaxBatches: -1}},
		"Epochs is -1":                {d, Options{Epochs: -1}},
		"Patience is -1":              {d, Options{Patience: -1}},
		"CheckpointInterval is -1":    {d, Options{CheckpointInterval: -1}},
		"would never end":             {d, Options{MaxBatches: Unlimited, Patience: Unlimited}},
		"exclude each other":          {d, Options{Resume: true, Overwrite: true, Dir: "x"}},
		"but not Options.Dir":         {d, Options{Resume: true}},
		"LR is -1":                    {d, Options{Adam: Adam{LR: -1}}},
		"edge dropout 1,":             {d, Options{EdgeDropout: 1}},
		"edge dropout NaN":            {d, Options{EdgeDropout: math.NaN()}},
		"unsupported type":            {d, Options{Config: map[string]any{"f": func() {}}}},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		if c.options.Dir == "" && !c.options.Resume {
			c.options.Dir = dir
		}
		h, err := Fit(context.Background(), smallModel(t, d), c.data, c.options)
		if h != nil || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: error %v, want one with %q", c.options, err, want)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: the folder was made", want)
		}
	}
}

func TestSamplerFails(t *testing.T) {
	d := smallData(t, 100, 3)
	inner := &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{24, 24}}
	if err := samplers.Prepare(inner); err != nil { // failing hides the method
		t.Fatal(err)
	}
	m := modelOver(t, d, failing{inner}, 16)
	o := short()
	o.Dir, o.Workers = t.TempDir(), 1
	h, err := Fit(context.Background(), m, d, o)
	if err == nil || !strings.Contains(err.Error(), "the sampler panicked: no more batches") || h.Batches == 0 || h.Batches >= 60 {
		t.Fatalf("%+v, %v", h, err)
	}
	if want := fmt.Sprintf("batch %d ", h.Batches); !strings.Contains(err.Error(), want) {
		t.Errorf("error %q, want %q in it", err, want)
	}
	last, err := readCheckpoint(filepath.Join(o.Dir, lastFile))
	if err != nil || last.State.Batch != h.Batches || !slices.Equal(valuesOf(last, sectionParameters), weightsOf(t, m)) {
		t.Errorf("no checkpoint of batch %d (%v)", h.Batches, err)
	}
}

// failing panics for about one batch in 25.
type failing struct{ samplers.Sampler }

func (f failing) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *samplers.MiniBatch) error {
	if rng.IntN(25) == 7 {
		panic("no more batches")
	}
	return f.Sampler.Sample(ctx, seeds, rng, batch)
}

// TestOverflow checks that the error blames the features if the first loss overflows.
func TestOverflow(t *testing.T) {
	d := smallData(t, 100, 3)
	m := smallModel(t, d)
	for i := range d.Features.Data {
		d.Features.Data[i] = 3e38
	}
	_, err := Fit(context.Background(), m, d, Options{Batch: 32})
	if !errors.Is(err, ErrNotFinite) || !strings.Contains(err.Error(), "batch 0 ") || !strings.Contains(err.Error(), "features") {
		t.Errorf("error %v does not blame the features", err)
	}
}

func TestDivergence(t *testing.T) {
	d := smallData(t, 100, 3)
	m := smallModel(t, d)
	for i := range d.Features.Data {
		d.Features.Data[i] *= 1e30
	}
	h, err := Fit(context.Background(), m, d, Options{Adam: Adam{LR: 1e30}, Batch: 32})
	if !errors.Is(err, ErrNotFinite) && (err == nil || !strings.Contains(err.Error(), "NaN")) {
		t.Fatalf("%+v, %v", h, err)
	}
	if !strings.Contains(err.Error(), fmt.Sprintf("batch %d ", h.Batches)) || !strings.Contains(err.Error(), "smaller step size than 1e+30") {
		t.Errorf("error %q does not name the batch and a remedy", err)
	}
}
