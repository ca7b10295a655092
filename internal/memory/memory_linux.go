package memory

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// addressSpace returns the number of bytes of address space left to this process.
func addressSpace() uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) != nil || limit.Cur == unix.RLIM_INFINITY {
		return math.MaxUint64
	}
	taken := uint64(0) // pages; 0 if the system does not tell
	statm, _ := os.ReadFile("/proc/self/statm")
	_, _ = fmt.Sscan(string(statm), &taken)
	return limit.Cur - min(taken*uint64(os.Getpagesize()), limit.Cur)
}

// adviseHuge asks for huge pages. A system without them refuses: the memory works all the same.
func adviseHuge(bytes []byte) {
	const page = 2 << 20
	if len(bytes) >= page {
		_ = unix.Madvise(bytes, unix.MADV_HUGEPAGE) // Go's large slices begin with a page, as it must be
	}
}

// reserve makes a new file that many bytes long, and takes the disk space for them.
func reserve(f *os.File, bytes int64) error { return unix.Fallocate(int(f.Fd()), 0, 0, bytes) }
