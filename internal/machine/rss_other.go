//go:build !unix

package machine

import "runtime"

// PeakRSS returns the memory obtained from the system so far, in MB of 10⁶
// bytes. It is an upper bound of the resident size of the Go heap and stacks.
func PeakRSS() float64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.Sys) / 1e6
}
