package main

import (
	"context"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/gcn-layerwise/gcn/internal/memory"
)

func main() {
	end := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		end = append(end, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), end...)
	// The first signal ends ctx, and training saves its state. After that, signals
	// act as usual again: a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	// Writing to a pipe without a reader is an error, and does not end the
	// process: execute ends it as a signal does.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(heapLimit(memory.Limit()))
	}
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// heapLimit returns the memory from which on the garbage collector works more, for a process
// that may have limit bytes. Without it the heap grows to twice what is in use before a
// collection, and the system may end a process that needs half of its memory.
func heapLimit(limit uint64) int64 { return int64(min(limit/10*9, math.MaxInt64)) }
