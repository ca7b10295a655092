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
	Revision    string `json:"revision,omitempty"`
	Modified    bool   `json:"modified,omitempty"`
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
	return newCommand(&cobra.Command{
		Use: "version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := currentVersion()
			if err != nil {
				return err
			}
			v.MPI = "not loaded: started without a launcher"
			if w := worldOf(cmd.Context()); w != nil {
				v.MPI = fmt.Sprintf("%s, %d ranks", w.Library(), w.Size())
			}
			return result(cmd, v, nil)
		},
	}, new(resultOptions))
}

// program returns the revision, and whether it was changed.
func (v *versionInfo) program() string {
	if v.Modified {
		return v.Revision + ", modified"
	}
	return v.Revision
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

func currentVersion() (versionInfo, error) {
	library, err := blas.Default()
	if err != nil {
		return versionInfo{}, err
	}
	v := versionInfo{
		Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		CPUs: runtime.NumCPU(), Threads: runtime.GOMAXPROCS(0),
		BLAS: library.Name(), BLASThreads: library.Threads(), CUDA: ops.DescribeCUDA(),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.Version = cmp.Or(info.Main.Version, v.Version)
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Revision = s.Value
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	return v, nil
}
