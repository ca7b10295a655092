package memory

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Limit returns the number of bytes that this process may have in memory, mapped files
// included: the smallest of the machine's memory and the limits of the process's control
// groups. It is math.MaxUint64 if the system does not tell.
func Limit() uint64 {
	limit := uint64(math.MaxUint64)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		limit = uint64(info.Totalram) * uint64(info.Unit)
	}
	return min(limit, groupLimit(os.DirFS("/")))
}

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

// groupLimit returns the smallest limit of this process's control groups, of version 1 or
// 2.
func groupLimit(root fs.FS) uint64 {
	limit := uint64(math.MaxUint64)
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	// A line is number:controllers:path. In version 2 controllers is empty.
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) < 3 {
			continue
		}
		base, file := "sys/fs/cgroup", "memory.max"
		switch {
		case strings.Contains(","+fields[1]+",", ",memory,"):
			base, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case fields[1] != "":
			continue
		}
		for group := "/" + fields[2] + "/."; group != "/"; {
			group = path.Dir(group)
			text, _ := fs.ReadFile(root, path.Join(base, group, file)) // there may be none
			if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
				limit = min(limit, n) // "max" is not a number
			}
		}
	}
	return limit
}

// adviseHuge asks for huge pages. A system without them refuses: the memory works all the same.
func adviseHuge(values []float32) {
	const page = 2 << 20 / 4 // values
	skip := int(-(uintptr(unsafe.Pointer(unsafe.SliceData(values))) / 4) % page)
	if whole := (len(values) - skip) / page * page; whole > 0 {
		_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Pointer(&values[skip])), 4*whole), unix.MADV_HUGEPAGE)
	}
}

// reserve makes a new file that many bytes long, and takes the disk space for them.
func reserve(f *os.File, bytes int64) error { return unix.Fallocate(int(f.Fd()), 0, 0, bytes) }
