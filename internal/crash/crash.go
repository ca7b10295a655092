// Package crash finds the place of a panic, for an error message.
//
//	defer recover() ─▶ crash.Place() ─▶ "… panicked: index out of range at gcn.go:12"
package crash

import (
	"fmt"
	"runtime"
	"strings"
)

// Place returns " at file:line" of the frame that panicked, or "" without a panic.
// Call it in the deferred function that recovers.
func Place() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for panicked := false; ; {
		frame, more := frames.Next()
		inRuntime := strings.HasPrefix(frame.Function, "runtime.")
		if panicked && !inRuntime {
			return fmt.Sprintf(" at %s:%d", frame.File, frame.Line)
		}
		panicked = panicked || frame.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}
