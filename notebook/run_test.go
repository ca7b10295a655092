package notebook

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gcn-layerwise/gcn/train"
)

// interrupt sends this process the signal that Jupyter sends its kernel.
func interrupt(t *testing.T) {
	t.Helper()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(os.Interrupt)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func skipWithoutSignals(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot interrupt itself here")
	}
}

func options(batches int) train.Options {
	return train.Options{Seed: 3, Batch: 64, MaxBatches: batches, EvalEvery: 5}
}

// values returns all parameters of a model.
func values(t *testing.T, m train.Model) []float32 {
	t.Helper()
	var all []float32
	for _, p := range m.Parts().Parameters {
		all = append(all, p.Value().Data().([]float32)...)
	}
	return all
}

// TestRunInterrupted interrupts a run and resumes it. The result must equal, bit for
// bit, the result of an undisturbed run.
func TestRunInterrupted(t *testing.T) {
	skipWithoutSignals(t)
	data := small(t)
	alone, _ := model(t, data)
	want, err := train.Fit(context.Background(), alone, data, options(60))
	if err != nil {
		t.Fatal(err)
	}

	m, _ := model(t, data)
	o := options(60)
	o.Progress = func(p train.Progress) {
		if p.Batch == 20 {
			interrupt(t)
			time.Sleep(50 * time.Millisecond) // until the signal arrives
		}
	}
	var out bytes.Buffer
	run := NewRun(m, data, o)
	run.Progress = &Progress{Out: &out}
	if err := run.Fit(context.Background()); err != nil {
		t.Fatalf("interrupted: %v", err)
	}
	h := run.Result()
	if !run.Interrupted() || h == nil || h.Batches < 20 || h.Batches >= 60 || len(h.Evaluations) < 4 {
		t.Fatalf("interrupted %v, result %+v", run.Interrupted(), h)
	}
	if !strings.Contains(run.String(), "interrupted") || !strings.Contains(run.Summary().String(), "interrupted") {
		t.Errorf("does not say that it was interrupted: %s", run)
	}
	wellFormed(t, run.Curves().SVG(), "svg")

	run.Options.Progress = nil
	if err := run.Fit(context.Background()); err != nil {
		t.Fatal(err)
	}
	if run.Interrupted() || run.Result().Resumed < 20 {
		t.Errorf("interrupted %v, resumed from %d", run.Interrupted(), run.Result().Resumed)
	}
	got := run.Result()
	if got.Test != want.Test || got.Best != want.Best || len(got.Evaluations) != len(want.Evaluations) {
		t.Errorf("test %v best %v, want %v %v", got.Test, got.Best, want.Test, want.Best)
	}
	if !reflect.DeepEqual(values(t, m), values(t, alone)) {
		t.Error("other parameters than without the interrupt")
	}
	if text := out.String(); !strings.Contains(text, "\rbatch ") || strings.Count(text, "\n") != 2 {
		t.Errorf("progress %q", text)
	}

	// Resume after the end with a raised limit.
	run.Options.MaxBatches = 80
	if err := run.Fit(context.Background()); err != nil || run.Result().Batches != 80 {
		t.Errorf("going on: %v, %+v", err, run.Result())
	}
	dir := run.dir
	if _, err := os.Stat(filepath.Join(dir, "last.ckpt")); err != nil {
		t.Error(err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary folder is still there: %v", err)
	}
	if run.Result() == nil || run.Close() != nil {
		t.Error("Close lost the result, or cannot be called twice")
	}
	// Without checkpoints it would begin again, from the last parameters.
	if batches := run.Result().Batches; run.Fit(context.Background()) == nil || run.Result().Batches != batches {
		t.Errorf("a closed run trains: %+v", run.Result())
	}
}

// TestRunCancelled checks that the end of the caller's context is an error, as in
// train.Fit. The run, in a folder of the caller, can still resume.
func TestRunCancelled(t *testing.T) {
	data := small(t)
	m, _ := model(t, data)
	ctx, cancel := context.WithCancel(context.Background())
	o := options(30)
	o.Dir = t.TempDir()
	o.Progress = func(p train.Progress) {
		if p.Batch == 10 {
			cancel()
		}
	}
	run := NewRun(m, data, o)
	run.Progress = &Progress{Out: &bytes.Buffer{}}
	if run.String() != "not trained yet" || len(run.Summary().rows) != 1 || run.Curves() == nil {
		t.Errorf("before the first batch: %s", run)
	}
	if err := run.Fit(ctx); !errors.Is(err, context.Canceled) || run.Interrupted() {
		t.Fatalf("error %v, interrupted %v", err, run.Interrupted())
	}
	if err := run.Fit(context.Background()); err != nil || run.Result().Resumed != 10 {
		t.Fatalf("going on: %v, %+v", err, run.Result())
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "result.json")); err != nil {
		t.Errorf("Close removed a folder of the caller: %v", err)
	}
}

func TestRunRefused(t *testing.T) {
	data := small(t)
	m, _ := model(t, data)
	o := options(10)
	o.Adam.Beta1 = 2
	run := NewRun(m, data, o)
	if err := run.Fit(context.Background()); err == nil || run.Result() != nil {
		t.Errorf("no error about Adam's settings, result %v", run.Result())
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLive checks the messages by which a kernel shows the curves.
func TestLive(t *testing.T) {
	data := small(t)
	m, _ := model(t, data)
	o := options(40)
	o.Progress = func(p train.Progress) {
		if p.Batch == 15 {
			time.Sleep(1100 * time.Millisecond)
		}
	}
	var shown []Data
	run := NewRun(m, data, o)
	run.Live = func(d Data) error {
		shown = append(shown, d)
		return nil
	}
	if err := run.Fit(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	if len(shown) < 2 {
		t.Fatalf("shown %d times", len(shown))
	}
	id := shown[0].Transient["display_id"]
	for k, d := range shown {
		if d.Transient["display_id"] != id || (d.Transient["update"] == true) != (k > 0) {
			t.Errorf("display %d: %v", k, d.Transient)
		}
		wellFormed(t, d.Data["image/svg+xml"].(string), "svg")
	}
	if got := run.screen().evaluations; len(got) != len(run.Result().Evaluations) {
		t.Errorf("the next Fit would begin its curves with %d evaluations of %d", len(got), len(run.Result().Evaluations))
	}
	for k, d := range shown { // drawing PNG takes time, and the notebook keeps the last display
		if _, there := d.Data["image/png"].([]byte); there != (k == len(shown)-1) {
			t.Errorf("display %d of %d has a PNG: %v", k, len(shown), there)
		}
	}
	last := shown[len(shown)-1].Data["text/plain"].(string)
	if !strings.Contains(last, "40 batches, the limit") || !strings.Contains(last, "test 0.") {
		t.Errorf("last shown: %q", last)
	}
}

// TestLiveBroken checks that training goes on if the curves cannot be shown.
func TestLiveBroken(t *testing.T) {
	data := small(t)
	m, _ := model(t, data)
	run := NewRun(m, data, options(10))
	run.Live = func(Data) error { return errors.New("no front end") }
	if err := run.Fit(context.Background()); err != nil || run.Result().Batches != 10 {
		t.Errorf("%v, %+v", err, run.Result())
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestInterruptible(t *testing.T) {
	skipWithoutSignals(t)
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	stopped, err := Interruptible(context.Background(), func(ctx context.Context) error {
		interrupt(t)
		return wait(ctx)
	})
	if !stopped || err != nil {
		t.Errorf("interrupted: %v, %v", stopped, err)
	}
	failed := errors.New("failed")
	stopped, err = Interruptible(context.Background(), func(ctx context.Context) error {
		interrupt(t)
		return errors.Join(failed, wait(ctx))
	})
	if !stopped || !errors.Is(err, failed) && err != nil {
		t.Errorf("interrupted and failed: %v, %v", stopped, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if stopped, err = Interruptible(ctx, wait); stopped || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v, %v", stopped, err)
	}
	// With both at once, the end of the context is still an error.
	both, cancel := context.WithCancel(context.Background())
	stopped, err = Interruptible(both, func(ctx context.Context) error {
		interrupt(t)
		<-ctx.Done()
		cancel()
		return ctx.Err()
	})
	if !stopped || !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted and cancelled: %v, %v", stopped, err)
	}
	if stopped, err = Interruptible(context.Background(), func(context.Context) error { return failed }); stopped || err != failed {
		t.Errorf("failed: %v, %v", stopped, err)
	}
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress("draws", 3)
	p.Total, p.Out = 0, &out
	p.Of(1, 3)
	p.At(2) // too soon to be shown
	p.Of(3, 3)
	p.End() // has ended
	if got := out.String(); got != "\rdraws 1/3\rdraws 3/3\n" {
		t.Errorf("wrote %q", got)
	}
	out.Reset()
	p = &Progress{Name: "draws", Out: &out}
	p.At(1000)
	p.Line("ü")
	p.End()
	if got := out.String(); got != "\rdraws 1000\rü         \n" {
		t.Errorf("wrote %q", got)
	}
	out.Reset()
	p = &Progress{Name: "draws", Total: 10, Out: &out, began: time.Now().Add(-time.Minute)}
	p.At(6)
	if got := out.String(); got != "\rdraws 6/10, 40s left" {
		t.Errorf("wrote %q", got)
	}
}
