// Command ptx compiles the CUDA kernels of the project to the PTX files that lie
// beside them:
//
//	go run ./cuda/ptx            # compile
//	go run ./cuda/ptx -check     # only say whether PTX and source agree
//
// It needs clang 16 or later, and tries the result with ptxas if that is installed.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/gcn-layerwise/gcn/cuda/internal/kernels"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("ptx", flag.ContinueOnError)
	flags.SetOutput(errs)
	check := flags.Bool("check", false, "only say whether PTX and source agree")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := compile(ctx, *check, out); err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

func compile(ctx context.Context, check bool, out io.Writer) error {
	root, err := kernels.Root(".")
	if err != nil {
		return err
	}
	var tools kernels.Toolchain
	if !check {
		if tools, err = kernels.FindToolchain(); err != nil {
			return err
		}
	}
	for _, m := range kernels.Modules() {
		if check {
			if err := m.Check(root); err != nil {
				return err
			}
			continue
		}
		report, err := m.Compile(ctx, root, tools)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n%s\n", m.PTX, report)
	}
	return nil
}
