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
	inner, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	err = body(inner)
	interrupted = inner.Err() != nil && context.Cause(inner) != context.Cause(ctx) // else the signal
	if interrupted && errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = nil
	}
	return interrupted, err
}
