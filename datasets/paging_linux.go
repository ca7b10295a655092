package datasets

import (
	"bufio"
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// What the system is told about a mapping is advice, and errors of it are of no
// consequence.

// releasePages gives the memory of the whole pages between two places of a
// mapping back to the system, which reads them from the file again when they are
// needed.
func releasePages(mapping []byte, from, to uint64) {
	page := uint64(os.Getpagesize())
	from = (from + page - 1) / page * page
	if to = to / page * page; from < to {
		_ = unix.Madvise(mapping[from:to], unix.MADV_DONTNEED)
	}
}

// expectRandom tells the system that what lies around a page that is read will
// not be read next. Else it reads ahead, on some machines megabytes.
func expectRandom(mapping []byte, from, to uint64) {
	_ = unix.Madvise(mapping[from/uint64(os.Getpagesize())*uint64(os.Getpagesize()):to], unix.MADV_RANDOM)
}

// fetchRows begins to read rows of a matrix that starts at offset in a mapping,
// all at once, and does not wait for them. Neighbours come in one piece.
func fetchRows(mapping []byte, offset, stride uint64, rows []int32) {
	page := uint64(os.Getpagesize())
	var from, to uint64
	read := func() {
		if from < to {
			_ = unix.Madvise(mapping[from:to], unix.MADV_WILLNEED)
		}
	}
	for _, i := range rows {
		lo, hi := (offset+uint64(i)*stride)/page*page, offset+uint64(i+1)*stride
		if from < to && lo >= from && lo <= to {
			to = max(to, hi)
			continue
		}
		read()
		from, to = lo, hi
	}
	read()
}

// memoryLimit returns how many bytes this process and what it has mapped may
// have in memory: the machine's, or those of the control group that it runs in.
func memoryLimit() uint64 {
	limit := uint64(math.MaxUint64)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		limit = uint64(info.Totalram) * uint64(info.Unit)
	}
	return min(limit, groupLimit(os.DirFS("/")))
}

// groupLimit returns the least limit of the control groups, of either version,
// that this process is in.
func groupLimit(root fs.FS) uint64 {
	limit := uint64(math.MaxUint64)
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return limit
	}
	// A line is number:controllers:path, and has no controllers in version 2.
	for lines := bufio.NewScanner(bytes.NewReader(groups)); lines.Scan(); {
		fields := strings.SplitN(lines.Text(), ":", 3)
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
					limit = min(limit, n) // no number: "max"
				}
			}
			if group == "/" {
				break
			}
		}
	}
	return limit
}
