// Package count holds the counters that the packages of this module share. The
// counters belong to the process, as the driver does.
package count

import "sync/atomic"

// The counts; see cu.Counters.
var (
	Launches, Products, Syncs   atomic.Int64
	CopiesIn, CopiesOut, Copies atomic.Int64
	BytesIn                     atomic.Int64
	Allocs                      atomic.Int64
	ModuleLoads                 atomic.Int64 // PTX compiled, for tests
)
