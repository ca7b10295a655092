// Package session has this kernel's differences from gophernotes, which ../patch
// makes call it:
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
// Gomacro would first ask the Go command for a compiled package's types, at
// every import: that takes seconds, needs Go, and depends on the notebook's folder.
// From here on an interrupt no longer ends the process.
func NewInterpreter() *fast.Interp {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	build.Default.GOROOT = "" // read while the interpreter is made
	ir := fast.New()
	ir.Comp.Universe.Importer = &xreflect.Importer{} // always fails, at once
	return ir
}

// grace is how long compiled code has to end a cell by itself after an interrupt.
const grace = 2 * time.Second

// WatchInterrupt starts to watch for the interrupt of a running cell, and returns
// the function that ends it.
//
// Jupyter interrupts by SIGINT. Compiled code that has asked for the signal, as
// package notebook does for a training, gets it, winds up and returns a value to
// the cell. Only if the cell still runs after the grace period, or at a second
// interrupt, are its interpreted statements stopped as well: the cell fails, and
// its variables stay. Compiled code that does not listen runs to its end.
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
			timer.Reset(grace) // the cell may have caught it
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

// errNilField is the error of a cell that asked a nil pointer for a field.
var errNilField = errors.New("nil pointer dereference: a field of nil")

// Error makes an error of a cell's panic.
func Error(panicked any) error {
	switch p := panicked.(type) {
	case *reflect.ValueError: // the interpreter's own words for it
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
