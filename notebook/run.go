package notebook

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

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
	begun       bool   // a Fit has trained
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
	if r.closed {
		return errors.New("notebook: the run is closed and cannot resume; begin another with NewRun and a new model")
	}
	if ctx == nil {
		return errors.New("notebook: the context is nil")
	}
	if r.Data == nil {
		return errors.New("notebook: the run has no data")
	}
	o, err := r.options()
	if err != nil {
		return err
	}
	screen := r.screen()
	callback := o.Progress
	o.Progress = func(p train.Progress) {
		screen.progress(p)
		if callback != nil {
			callback(p)
		}
	}
	r.interrupted, err = Interruptible(ctx, func(ctx context.Context) error {
		result, err := train.Fit(ctx, r.Model, r.Data, o)
		if result != nil {
			r.result, r.begun = result, true
		}
		return err
	})
	if r.result != nil {
		screen.end()
	}
	return err
}

// options returns the options of the next call of train.Fit.
func (r *Run) options() (train.Options, error) {
	o := r.Options
	if r.dir == "" {
		r.dir = o.Dir
		if r.dir == "" {
			dir, err := os.MkdirTemp("", "gcn-run-")
			if err != nil {
				return o, fmt.Errorf("notebook: a folder for checkpoints: %w", err)
			}
			r.dir, r.own = dir, true
		}
	}
	o.Dir = r.dir
	if r.begun {
		o.Resume, o.Overwrite = true, false
	}
	return o, nil
}

// Result returns the result so far, or nil before the first batch.
func (r *Run) Result() *train.Result { return r.result }

// Interrupted reports whether an interrupt stopped the last Fit.
func (r *Run) Interrupted() bool { return r.interrupted }

// Curves draws the loss and the validation score so far.
func (r *Run) Curves() *Chart {
	return Draw(curves(r.status(), r.metric(), r.evaluations()))
}

// Summary returns the run in numbers.
func (r *Run) Summary() *Sheet {
	s := NewSheet("", "", "")
	h := r.result
	if h == nil {
		return s.Add("batches", 0)
	}
	metric := r.metric()
	s.Add("batches", fmt.Sprint(h.Batches)+r.stopText())
	s.Add("parameters", h.Parameters)
	s.Add("best validation "+metric, fmt.Sprintf("%s, after %d batches", study.Text(h.Best), h.BestBatch))
	s.Add("test "+metric, h.Test)
	s.Add("milliseconds a batch", fmt.Sprintf("%.1f training, %.1f sampling on one worker", h.TrainMS, h.SamplingMS))
	return s
}

func (r *Run) stopText() string {
	switch h := r.result; {
	case r.interrupted:
		return ", interrupted"
	case h.Stop == "patience":
		return ", no better score for too long"
	case h.Stop != "":
		return ", the limit"
	}
	return ""
}

// String returns the status of the run in one line.
func (r *Run) String() string { return r.status() }

// Close removes the run's temporary folder. If there was one, Fit returns an error
// afterwards. Result stays.
func (r *Run) Close() error {
	if !r.own {
		return nil
	}
	dir := r.dir
	r.dir, r.own, r.closed = "", false, true
	if err := os.RemoveAll(dir); err != nil {
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

func (r *Run) evaluations() []train.Evaluation {
	if r.result == nil {
		return nil
	}
	return r.result.Evaluations
}

// status returns the result in one line.
func (r *Run) status() string {
	h := r.result
	if h == nil {
		return "not trained yet"
	}
	text := fmt.Sprintf("%d batches%s", h.Batches, r.stopText())
	if !math.IsNaN(h.Best) {
		text += fmt.Sprintf("; best validation %s %s at %d", r.metric(), study.Text(h.Best), h.BestBatch)
	}
	if !math.IsNaN(h.Test) {
		text += fmt.Sprintf("; test %s", study.Text(h.Test))
	}
	return text
}

// screen shows the progress of one call of Fit.
type screen struct {
	run         *Run
	live        *live
	line        *Progress
	evaluations []train.Evaluation // of this call and earlier ones
	drawn       time.Time
}

func (r *Run) screen() *screen {
	s := &screen{run: r, evaluations: append([]train.Evaluation(nil), r.evaluations()...), drawn: time.Now()}
	if r.Live != nil {
		s.live = &live{display: r.Live}
		return s
	}
	s.line = r.Progress
	if s.line == nil {
		s.line = &Progress{}
	}
	return s
}

// progress records a batch, and shows the progress now and then.
func (s *screen) progress(p train.Progress) {
	if p.Evaluated {
		s.evaluations = append(s.evaluations, train.Evaluation{
			Batch: p.Batch, Epoch: p.Epoch, Loss: p.Loss, Valid: p.Valid, Best: p.BestBatch == p.Batch, Seconds: p.Elapsed.Seconds(),
		})
	}
	if s.live == nil {
		if p.MaxBatches > 0 {
			s.line.Total = p.MaxBatches
		}
		s.line.at(p.Batch, func() string { return progressText(p) })
		return
	}
	if p.Evaluated && time.Since(s.drawn) >= time.Second {
		s.show(progressText(p), s.evaluations, false)
	}
}

// end shows the final status.
func (s *screen) end() {
	if s.live == nil {
		s.line.Line(s.run.status())
		s.line.End()
		return
	}
	s.show(s.run.status(), s.run.evaluations(), true)
}

// show draws the curves, for the last time if last. If they cannot be shown, training goes on.
func (s *screen) show(title string, evaluations []train.Evaluation, last bool) {
	chart := Draw(curves(title, s.run.metric(), evaluations))
	if err := s.live.show(chart, last); err != nil {
		s.live, s.line = nil, &Progress{}
		s.line.Line(err.Error())
		s.line.End()
	}
	s.drawn = time.Now()
}

// progressText returns the progress of training in one line.
func progressText(p train.Progress) string {
	text := fmt.Sprintf("batch %d", p.Batch)
	if p.MaxBatches > 0 {
		text = fmt.Sprintf("batch %d of %d", p.Batch, p.MaxBatches)
	}
	if !math.IsNaN(p.Loss) {
		text += fmt.Sprintf(", loss %s", study.Text(p.Loss))
	}
	if !math.IsNaN(p.Valid) {
		text += fmt.Sprintf(", validation %s (best %s)", study.Text(p.Valid), study.Text(p.Best))
	}
	if p.Left > 0 {
		text += fmt.Sprintf(", %v left", p.Left.Round(time.Second))
	}
	return text
}
