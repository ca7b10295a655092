package mpi

import "os"

// hookMode is the variable that tells UCX, a transport of MPICH and Open MPI, how to learn
// about memory that is unmapped.
const hookMode = "UCX_MEM_MMAP_HOOK_MODE"

// keepCode has UCX do without hooks in mmap, munmap and madvise, unless the user has chosen a
// mode. By default UCX overwrites the first instructions of these functions while other threads
// run them. If it lies more than 2 GiB from the C library, it overwrites more than one
// instruction, and a thread that was in such a call returns into the middle of the new ones: the
// rank dies of an illegal instruction or address while it starts. The mode reloc hangs while the
// library is loaded. See https://github.com/openucx/ucx/pull/5855, about code within 2 GiB.
//
// Without hooks UCX registers memory of a fast network for each message. Its hooks would not see
// what Go unmaps, since Go calls the kernel directly.
func keepCode(getenv func(string) string) error {
	if getenv(hookMode) != "" {
		return nil
	}
	return os.Setenv(hookMode, "none")
}
