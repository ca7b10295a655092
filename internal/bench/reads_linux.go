package bench

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// diskReads returns the bytes that this process has read from disks, and the number of page
// faults that waited for a disk.
func diskReads() (read uint64, faults int64) {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		faults = usage.Majflt
	}
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, faults
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if rest, found := strings.CutPrefix(lines.Text(), "read_bytes:"); found {
			count, err := strconv.ParseUint(strings.TrimSpace(rest), 10, 64)
			if err == nil {
				return count, faults
			}
		}
	}
	return 0, faults
}
