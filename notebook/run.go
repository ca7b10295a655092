package notebook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// Data is the message by which Jupyter shows a value: contents by MIME type,
// metadata about them, and transient fields, which the notebook does not keep. It
// is identical to a type of package display in the gophernotes kernel, so that the
// kernel's function Display is a func(Data) error.
type Data = struct {
	Data      map[string]any
	Metadata  map[string]any
	Transient map[string]any
}

// Run is a training run over several cells. One cell makes it, and one trains it
// and may be interrupted. Later cells resume it or show it. It trains by train.Fit,
// to the same bits.
//
// A run belongs to one goroutine. No other run may use its model meanwhile.
type Run struct {
	Model   train.Model
	Data    *datasets.Data
	Options train.Options // limits may be raised between two calls of Fit

	// Live, if not nil, shows the curves during training. It is the kernel's
	// function Display, which shows its argument in the cell that mentions it: set
	// Live in the cell that calls Fit. The curves are drawn at evaluations, at most
	// once a second.
	Live func(Data) error

	// Progress shows the progress of training if Live is nil. Fit sets its Total.
	// Nil means a line on standard output.
	Progress *Progress

	result      *train.Result
	dir         string // folder of checkpoints
	own         bool   // dir is a temporary folder, which Close removes
	interrupted bool   // the last Fit was interrupted
	closed      bool   // Close was called
}

// NewRun returns a run that has not begun.
func NewRun(m train.Model, d *datasets.Data, o train.Options) *Run {
	return &Run{Model: m, Data: d, Options: o}
}

// Fit trains until a limit is reached, and leaves the best parameters in the
// model, as train.Fit does. It stops early when the cell is interrupted, without an
// error. Result then holds the result so far, the model holds the parameters of the
// last batch, and another call of Fit resumes from there. After the end, Fit resumes
// if a limit was raised.
//
// Fit writes checkpoints to Options.Dir, or to a temporary folder that Close
// removes. They and Result are also there after an error, such as ctx's.
func (r *Run) Fit(ctx context.Context) error {
	if r.closed || ctx == nil || r.Data == nil {
		return errors.New("notebook: a run needs a context and data, and a closed one cannot resume: begin another with NewRun and a new model")
	}
	o := r.Options
	if r.dir = cmp.Or(r.dir, o.Dir); r.dir == "" {
		dir, err := os.MkdirTemp("", "gcn-run-")
		if err != nil {
			return fmt.Errorf("notebook: a folder for checkpoints: %w", err)
		}
		r.dir, r.own = dir, true
	}
	o.Dir = r.dir
	if r.result != nil {
		o.Resume, o.Overwrite = true, false
	}
	screen := r.screen()
	o.Progress = func(p train.Progress) {
		screen.progress(p)
		if r.Options.Progress != nil {
			r.Options.Progress(p)
		}
	}
	var err error
	r.interrupted, err = Interruptible(ctx, func(ctx context.Context) error {
		result, err := train.Fit(ctx, r.Model, r.Data, o)
		if result != nil {
			r.result = result
		}
		return err
	})
	if r.result != nil {
		screen.end()
	}
	return err
}

// Result returns the result so far, or nil before the first batch.
func (r *Run) Result() *train.Result { return r.result }

// Interrupted reports whether an interrupt stopped the last Fit.
func (r *Run) Interrupted() bool { return r.interrupted }

// Curves draws the loss and the validation score so far.
func (r *Run) Curves() *Chart { return Curves(r.String(), r.metric(), r.result) }

// Summary returns the run in numbers.
func (r *Run) Summary() *Sheet {
	s := NewSheet("", "", "")
	h := r.result
	if h == nil {
		return s.Add("batches", 0)
	}
	s.Add("batches", fmt.Sprint(h.Batches)+r.stopText())
	s.Add("parameters", h.Parameters)
	s.Add("best validation "+r.metric(), fmt.Sprintf("%s, after %d batches",
		study.Text(h.Best), h.BestBatch))
	s.Add("test "+r.metric(), h.Test)
	return s.Add("milliseconds a batch", fmt.Sprintf("%.1f training, %.1f sampling on one worker",
		h.TrainMS, h.SamplingMS))
}

func (r *Run) stopText() string {
	switch {
	case r.interrupted:
		return ", interrupted"
	case r.result.Stop == "patience":
		return ", no better score for too long"
	case r.result.Stop != "":
		return ", the limit"
	}
	return ""
}

// String returns the status of the run in one line.
func (r *Run) String() string {
	h := r.result
	if h == nil {
		return "not trained yet"
	}
	text := fmt.Sprintf("%d batches%s", h.Batches, r.stopText())
	if !math.IsNaN(h.Best) {
		text += fmt.Sprintf("; best validation %s %s at %d",
			r.metric(), study.Text(h.Best), h.BestBatch)
	}
	if !math.IsNaN(h.Test) {
		text += fmt.Sprintf("; test %s", study.Text(h.Test))
	}
	return text
}

// Close removes the run's temporary folder. If there was one, Fit returns an error
// afterwards. Result stays.
func (r *Run) Close() error {
	if !r.own {
		return nil
	}
	r.own, r.closed = false, true
	if err := os.RemoveAll(r.dir); err != nil {
		return fmt.Errorf("notebook: %w", err)
	}
	return nil
}

// metric returns the name of the score, or "score" for a run without data.
func (r *Run) metric() string {
	if r.Data == nil {
		return "score"
	}
	return string(r.Data.Metric)
}

// screen shows the progress of one call of Fit: curves in a display that is replaced, or a
// line.
type screen struct {
	run         *Run
	live        func(Data) error // nil: a line
	line        *Progress
	evaluations []train.Evaluation // of this call and earlier ones
	drawn       time.Time
	id          string // of the display; "" before the first chart
}

func (r *Run) screen() *screen {
	s := &screen{
		run:   r,
		live:  r.Live,
		line:  cmp.Or(r.Progress, &Progress{}),
		drawn: time.Now(),
	}
	if r.result != nil {
		s.evaluations = slices.Clone(r.result.Evaluations)
	}
	return s
}

// progress records a batch, and shows the progress now and then.
func (s *screen) progress(p train.Progress) {
	if p.Evaluated {
		s.evaluations = append(s.evaluations, train.Evaluation{Batch: p.Batch,
			Loss: p.Loss, Valid: p.Valid})
	}
	if s.live == nil {
		if s.line.Total = cmp.Or(p.MaxBatches, s.line.Total); s.line.due(p.Batch) {
			s.line.Line(progressText(p))
		}
	} else if p.Evaluated && time.Since(s.drawn) >= time.Second {
		s.show(Curves(progressText(p), s.run.metric(), &train.Result{Evaluations: s.evaluations}), false)
	}
}

// end shows the final status.
func (s *screen) end() {
	if s.live != nil {
		s.show(s.run.Curves(), true)
		return
	}
	s.line.Line(s.run.String())
	s.line.End()
}

// show puts a chart into the display, with a PNG if it is the last one. The kernel in
// notebooks/kernel replaces the earlier display if Transient has the field update. If the
// chart cannot be shown, training goes on.
func (s *screen) show(c *Chart, last bool) {
	d := Data{
		Data:      map[string]any{"image/svg+xml": c.SVG(), "text/plain": c.String()},
		Metadata:  map[string]any{},
		Transient: map[string]any{"update": s.id != ""},
	}
	if last {
		d.Data["image/png"] = c.PNG()
	}
	s.id = cmp.Or(s.id, fmt.Sprintf("gcn-%016x", rand.Uint64())) // a name only; no result depends on it
	d.Transient["display_id"], s.drawn = s.id, time.Now()
	if err := s.live(d); err != nil {
		s.live = nil
		s.line.Line(err.Error())
		s.line.End()
	}
}

// progressText returns the progress of training in one line.
func progressText(p train.Progress) string {
	text := fmt.Sprintf("batch %d", p.Batch)
	if p.MaxBatches > 0 {
		text += fmt.Sprintf(" of %d", p.MaxBatches)
	}
	text += fmt.Sprintf(", loss %s, validation %s (best %s)", study.Text(p.Loss),
		study.Text(p.Valid), study.Text(p.Best))
	if p.Left > 0 {
		text += fmt.Sprintf(", %v left", p.Left.Round(time.Second))
	}
	return text
}

// Must panics with err unless it is nil. A cell fails by a panic, as it cannot
// return an error. Libraries return errors instead.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// Interruptible calls body with a context that ends when ctx ends, or when the
// cell is interrupted: Jupyter then sends its kernel SIGINT. It returns body's
// error, and reports whether there was an interrupt. If body's error is only that
// its context was cancelled by the interrupt, the error is nil.
//
//	stopped, err := notebook.Interruptible(ctx, func(ctx context.Context) error {
//		table, err = study.Run(ctx)
//		return err
//	})
//
// While body runs, the signal only ends its context. Afterwards the signal has its
// earlier effect again.
func Interruptible(ctx context.Context, body func(context.Context) error) (interrupted bool, err error) {
	if ctx == nil || body == nil {
		return false, errors.New("notebook: Interruptible needs a context and a function")
	}
	inner, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	err = body(inner)
	interrupted = inner.Err() != nil && context.Cause(inner) != context.Cause(ctx) // else the signal
	if interrupted && errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = nil
	}
	return interrupted, err
}
