// Package count holds what the packages of this module count together. The
// counters belong to the process, as the driver does.
package count

import "sync/atomic"

// What is counted; see cu.Counters.
var (
	Launches, Products, Syncs                         atomic.Int64
	CopiesIn, CopiesOut, Copies, Sets                 atomic.Int64
	BytesIn, BytesOut                                 atomic.Int64
	Allocs, Frees, HostAllocs, HostFrees, ModuleLoads atomic.Int64
)
