//go:build !nodlopen && (amd64 || arm64) && (linux || darwin)

package mpi

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ebitengine/purego"
)

func init() { children["exit"] = exitChild }

func exitChild(ctx context.Context) error {
	w, err := Open(ctx, os.Getenv, time.Minute)
	if err != nil {
		return err
	}
	register, err := purego.Dlsym(purego.RTLD_DEFAULT, "__cxa_atexit")
	if err != nil {
		return err
	}
	purego.SyscallN(register, purego.NewCallback(func(uintptr) { fmt.Printf("rank %d has left\n", w.Rank()) }), 0, 0)
	if err := w.Close(); err != nil {
		return err
	}
	w.Exit(0)
	return fmt.Errorf("Exit returns")
}

// Exit runs the C library's handlers. MPICH 5 has one that signs the rank off at its launcher.
func TestExitRunsHandlersOfC(t *testing.T) {
	eachLauncher(t, func(t *testing.T, launcher string) {
		out, err := launch(t, launcher, "exit", 3)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for rank := range 3 {
			if !strings.Contains(out, fmt.Sprintf("rank %d has left", rank)) {
				t.Errorf("rank %d did not run the handlers of exit:\n%s", rank, out)
			}
		}
	})
}
