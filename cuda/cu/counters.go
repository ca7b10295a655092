package cu

import "gorgonia.org/cu/internal/count"

// Counters count the calls of this process to the driver since it started. The
// difference of two readings counts the calls between them.
type Counters struct {
	Launches    int64 // kernels
	Products    int64 // calls of cuBLAS
	Syncs       int64 // waits of the host: Synchronize and MemcpyDtoH
	CopiesIn    int64 // host to device
	CopiesOut   int64 // device to host
	Copies      int64 // within the device
	Sets        int64 // Memset
	BytesIn     int64
	BytesOut    int64
	Allocs      int64 // of device memory, managed or not
	Frees       int64
	HostAllocs  int64 // of pinned memory
	HostFrees   int64
	ModuleLoads int64 // PTX compiled
}

// ReadCounters reads the counters.
func ReadCounters() Counters {
	return Counters{
		Launches: count.Launches.Load(), Products: count.Products.Load(), Syncs: count.Syncs.Load(),
		CopiesIn: count.CopiesIn.Load(), CopiesOut: count.CopiesOut.Load(), Copies: count.Copies.Load(), Sets: count.Sets.Load(),
		BytesIn: count.BytesIn.Load(), BytesOut: count.BytesOut.Load(),
		Allocs: count.Allocs.Load(), Frees: count.Frees.Load(), HostAllocs: count.HostAllocs.Load(), HostFrees: count.HostFrees.Load(),
		ModuleLoads: count.ModuleLoads.Load(),
	}
}

// Since is the count since an earlier reading.
func (c Counters) Since(earlier Counters) Counters {
	return Counters{
		c.Launches - earlier.Launches, c.Products - earlier.Products, c.Syncs - earlier.Syncs,
		c.CopiesIn - earlier.CopiesIn, c.CopiesOut - earlier.CopiesOut, c.Copies - earlier.Copies, c.Sets - earlier.Sets,
		c.BytesIn - earlier.BytesIn, c.BytesOut - earlier.BytesOut,
		c.Allocs - earlier.Allocs, c.Frees - earlier.Frees, c.HostAllocs - earlier.HostAllocs, c.HostFrees - earlier.HostFrees,
		c.ModuleLoads - earlier.ModuleLoads,
	}
}
