package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
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
	// process: run ends it as a signal does.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
