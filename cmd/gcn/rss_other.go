//go:build !unix

package main

import "runtime"

// peakRSS returns the memory obtained from the system so far, in MB of 10⁶
// bytes, an upper bound of what the Go heap and stacks were resident with.
func peakRSS() float64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.Sys) / 1e6
}
