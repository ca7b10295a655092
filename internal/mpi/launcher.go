package mpi

import (
	"fmt"
	"slices"
	"strconv"
)

// Launcher is the program that started this process as one of several ranks.
type Launcher struct {
	Name string // "Open MPI", "MPICH", "PMIx" or "SLURM"; "" means none
	Size int    // ranks of the job; 0 means that the environment does not say
}

// Launched returns the launcher that the environment shows. getenv is os.Getenv.
func Launched(getenv func(string) string) (Launcher, error) {
	for _, known := range []struct{ name, sign, size string }{
		{"Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"},
		{"MPICH", "PMI_SIZE", "PMI_SIZE"},
		{"PMIx", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
		// Set inside srun only. A batch script alone is one process.
		{"SLURM", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_TASKS"},
	} {
		if getenv(known.sign) == "" {
			continue
		}
		l := Launcher{Name: known.name}
		if text := getenv(known.size); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return l, fmt.Errorf("mpi: the environment's %s is %q, want a number of ranks", known.size, text)
			}
			l.Size = n
		}
		if known.name == "SLURM" && l.Size == 1 {
			return Launcher{}, nil // every srun of one task sets it
		}
		return l, nil
	}
	return Launcher{}, nil
}

// libraries returns the names under which the launcher's MPI library may be found, best
// first.
func (l Launcher) libraries(goos string) []string {
	openMPI, mpich := []string{"libmpi.so.40"}, []string{"libmpi.so.12", "libmpich.so.12"}
	standard := []string{"libmpi_abi.so.1", "libmpi_abi.so.0"} // of releases, and of test versions before
	if goos == "darwin" {
		openMPI, mpich, standard = []string{"libmpi.40.dylib"}, []string{"libmpi.12.dylib"}, []string{"libmpi_abi.1.dylib", "libmpi_abi.0.dylib"}
	}
	switch l.Name {
	case "Open MPI":
		return slices.Concat(openMPI, standard)
	case "MPICH":
		return slices.Concat(mpich, standard)
	}
	return slices.Concat(openMPI, mpich, standard)
}
