package notebook

import (
	"context"
	"errors"
	"os"
	"os/signal"
)

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
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	defer signal.Stop(signals)

	finished, watched := make(chan struct{}), make(chan bool, 1)
	go func() {
		select {
		case <-signals:
			cancel()
			watched <- true
		case <-finished:
			watched <- false
		}
	}()
	err = func() error {
		defer close(finished) // even if body panics
		return body(inner)
	}()
	interrupted = <-watched
	if interrupted && errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = nil
	}
	return interrupted, err
}
