package cu

import "gorgonia.org/cu/internal/count"

// Counters count the calls of this process to the driver since it started. The
// difference of two readings counts the calls between them.
type Counters struct {
	Launches, Products          int64 // kernels; calls of cuBLAS
	Syncs                       int64 // waits of the host: Synchronize and MemcpyDtoH
	CopiesIn, CopiesOut, Copies int64 // host to device, device to host, within the device
	BytesIn                     int64
	Allocs                      int64 // of device memory, managed or not
}

// ReadCounters reads the counters.
func ReadCounters() Counters {
	return Counters{
		Launches: count.Launches.Load(), Products: count.Products.Load(), Syncs: count.Syncs.Load(),
		CopiesIn: count.CopiesIn.Load(), CopiesOut: count.CopiesOut.Load(), Copies: count.Copies.Load(),
		BytesIn: count.BytesIn.Load(), Allocs: count.Allocs.Load(),
	}
}
