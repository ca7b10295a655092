package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/ops"
)

type versionInfo struct {
	Version     string `json:"version"`
	Go          string `json:"go"`
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	CPUs        int    `json:"cpus"`
	Threads     int    `json:"threads"` // GOMAXPROCS
	BLAS        string `json:"blas"`
	BLASThreads int    `json:"blas_threads"`
	CUDA        string `json:"cuda"`
	MPI         string `json:"mpi"`
}

func newVersionCommand() *cobra.Command {
	return newCommand("version", new(resultOptions), func(cmd *cobra.Command) (any, error) {
		library, err := blas.Default()
		if err != nil {
			return nil, err
		}
		v := versionInfo{
			Version:     programVersion(),
			Go:          runtime.Version(),
			OS:          runtime.GOOS,
			Arch:        runtime.GOARCH,
			CPUs:        runtime.NumCPU(),
			Threads:     runtime.GOMAXPROCS(0),
			BLAS:        library.Name(),
			BLASThreads: library.Threads(),
			CUDA:        ops.DescribeCUDA(),
			MPI:         "not loaded: started without a launcher",
		}
		if w := jobOf(cmd.Context()).world; w != nil {
			v.MPI = fmt.Sprintf("%s, %d ranks", w.Library(), w.Size())
		}
		return v, nil
	})
}

// programVersion returns the version of this program, which names the revision of a checkout and
// says +dirty if the checkout had changes.
func programVersion() string {
	info, _ := debug.ReadBuildInfo()
	return cmp.Or(cmp.Or(info, new(debug.BuildInfo)).Main.Version, "(devel)")
}

// blasAdvice returns the library to install for faster dense products. It returns
// "" if a library faster than gonum is in use, or if gonum was asked for. The
// factor is OpenBLAS over gonum on one core, as recorded in bench/.
func blasAdvice(name string) string {
	if name != blas.Gonum().Name() || os.Getenv(blas.Variable) == name {
		return ""
	}
	return "no BLAS library found: OpenBLAS (Debian: libopenblas0-pthread) makes dense products about 7 times as fast as gonum"
}
