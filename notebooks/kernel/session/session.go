// Package session holds this kernel's changes to gophernotes. ../patch inserts the
// calls:
//
//	Jupyter ── gophernotes (patched copy) ── gomacro's interpreter ── bindings
//	                  │
//	               session: interpreter without a compiler, interrupt, imports,
//	                        displays
package session

import (
	"errors"
	"fmt"
	"go/build"
	"os"
	"os/signal"
	"reflect"
	"time"

	"github.com/cosmos72/gomacro/base"
	"github.com/cosmos72/gomacro/fast"
	"github.com/cosmos72/gomacro/xreflect"
)

// NewInterpreter returns an interpreter that learns types by reflection alone.
// Otherwise gomacro asks the Go command for a package's types at every import. This
// takes seconds, needs Go, and depends on the notebook's folder. After this call an
// interrupt no longer ends the process.
func NewInterpreter() *fast.Interp {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	build.Default.GOROOT = "" // read while the interpreter is made
	ir := fast.New()
	ir.Comp.Universe.Importer = &xreflect.Importer{} // always fails, at once
	return ir
}

// grace is the time in which compiled code can end a cell after an interrupt.
const grace = 2 * time.Second

// WatchInterrupt starts to watch for an interrupt of the running cell, and returns
// the function that ends the watch.
//
// Jupyter interrupts by SIGINT. Compiled code that listens for the signal, as package
// notebook does during a training, ends its work and returns a value to the cell. If
// the cell still runs after the grace period, or at a second interrupt, its
// interpreted statements stop too: the cell fails, and its variables stay. Compiled
// code that does not listen runs to its end.
func WatchInterrupt(ir *fast.Interp) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-done:
			return
		case <-signals:
		}
		timer := time.NewTimer(grace)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-signals:
			case <-timer.C:
			}
			ir.Interrupt(os.Interrupt)
			timer.Reset(grace) // compiled code may end the cell
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		<-stopped
	}
}

// errInterrupted is the error of a cell whose statements were stopped.
var errInterrupted = errors.New("interrupted")

// errNilField is the error of a cell that selects a field of a nil pointer.
var errNilField = errors.New("nil pointer dereference: a field of nil")

// Error turns a cell's panic into an error.
func Error(panicked any) error {
	switch p := panicked.(type) {
	case *reflect.ValueError: // the interpreter's panic at a nil pointer
		if p.Kind == reflect.Invalid && p.Method == "reflect.Value.Field" {
			return errNilField
		}
		return p
	case error:
		return p
	case base.Signal:
		return errInterrupted
	default:
		return fmt.Errorf("%v", p)
	}
}
