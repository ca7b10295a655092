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
// cores. So a body gives the same bits on any number of cores if it writes only to
// its range, and sums only within its range.
//
// Helpers wait for the next call for a moment before they end, and the caller waits
// for their last ranges without sleeping: waking a processor takes longer than most
// calls. Reserve keeps helpers off processors that other work needs. A goroutine that
// would sleep for a moment may help instead, by Linger.
//
// Chunks is for longer work, such as reading and checking a data set: the work may fail, and a
// context may cancel it.
//
// The processors belong to the process, as GOMAXPROCS does, so one Pool owns them: the
// functions of this package work on it. Tests make pools of their own.
package parallel
