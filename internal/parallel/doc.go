// Package parallel splits a range of rows over the processor cores.
//
//	kernel, blas, inference
//	      │ For(n, grain, body)
//	      ▼
//	[0,grain) [grain,2·grain) … [·,n)   ◀─ claimed one by one by the caller
//	                                       from the first on, and by up to
//	                                       GOMAXPROCS−1 helpers from the last on
//
// Where the range is cut depends on n and grain alone, never on the number of
// cores: a body that writes only what belongs to its range, and whatever it
// sums it sums within its range, gives the same bits on any machine size.
//
// Helpers look out for the next call for a moment before they end, and the
// caller for their last ranges instead of sleeping: waking a processor takes
// longer than most calls. Reserve keeps them off processors that others need. A
// goroutine that would sleep for a moment may help instead, by Linger.
package parallel
