package memory

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func machineLimit() uint64 {
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
	return limit.Cur - min(taken(), limit.Cur)
}

// taken returns the bytes of this process's address space, 0 if the system does not tell.
func taken() (pages uint64) {
	statm, _ := os.ReadFile("/proc/self/statm")
	if _, err := fmt.Sscan(string(statm), &pages); err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}

// groupLimit returns the smallest limit of this process's control groups, of version 1 or
// 2.
func groupLimit(root fs.FS) uint64 {
	limit := uint64(math.MaxUint64)
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return limit
	}
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
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			text, err := fs.ReadFile(root, path.Join(base, group, file))
			if err == nil {
				if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
					limit = min(limit, n) // "max" is not a number
				}
			}
			if group == "/" {
				break
			}
		}
	}
	return limit
}
