//go:build unix

package machine

import (
	"runtime"
	"syscall"
)

// PeakRSS returns the largest resident set size of the process so far, in MB
// of 10⁶ bytes; 0 if the system does not report it.
func PeakRSS() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	bytes := float64(usage.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
		bytes *= 1024 // every other unix counts in KiB
	}
	return bytes / 1e6
}
