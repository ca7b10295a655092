// Command emulate runs a command with an emulated CUDA device, which it builds
// first if need be; see package emulator:
//
//	go run ./cuda/emulate go test -modfile=go.cuda.mod -tags cuda ./...
//
// Without a command it prints the variables that make a program use the device:
//
//	export $(go run ./cuda/emulate)
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/cuda/internal/emulator"
	"github.com/gcn-layerwise/gcn/cuda/internal/kernels"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	libraries, err := build(ctx)
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	if len(args) == 0 {
		for _, line := range libraries.Environment() {
			fmt.Fprintln(out, line)
		}
		return 0
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	cmd.Env = append(os.Environ(), libraries.Environment()...)
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(errs, "emulate:", err)
		return 1
	}
	return 0
}

func build(ctx context.Context) (emulator.Libraries, error) {
	root, err := kernels.Root(".")
	if err != nil {
		return emulator.Libraries{}, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return emulator.Libraries{}, fmt.Errorf("emulate: %w", err)
	}
	return emulator.Build(ctx, root, filepath.Join(cache, "gcn"))
}
