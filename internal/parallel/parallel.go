package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// For calls body on the ranges [0, grain), [grain, 2·grain), … that make up
// [0, n), the last one possibly shorter, and returns when all calls have
// returned. The calls run in any order on the caller's goroutine and up to
// GOMAXPROCS−1 others. What body writes is visible to the caller afterwards.
//
// With n ≤ grain, or one processor, everything runs on the caller's goroutine,
// still range by range. A grain below 1 counts as 1.
//
// A panic of body is not caught: body must not panic. Calls may nest and run
// concurrently. Cost: no allocation beside the closure that the caller builds,
// and about a microsecond for each goroutine woken, so a range should carry
// several microseconds of work.
func For(n, grain int, body func(lo, hi int)) {
	if n <= 0 {
		return
	}
	grain = max(grain, 1)
	if n <= grain {
		body(0, n)
		return
	}
	ranges := (n-1)/grain + 1
	goroutines := min(runtime.GOMAXPROCS(0), ranges)
	if goroutines == 1 {
		for lo := 0; lo < n; lo += grain {
			body(lo, min(lo+grain, n))
		}
		return
	}
	j := jobs.Get().(*job)
	if j.work == nil {
		j.work = func() {
			j.claim()
			j.release()
		}
	}
	j.n, j.grain, j.ranges, j.body = n, grain, int64(ranges), body
	j.next.Store(0)
	j.holders.Store(int64(goroutines))
	j.open.Add(ranges)
	for range goroutines - 1 {
		go j.work()
	}
	j.claim()
	j.open.Wait()
	j.release()
}

// job is one call of For. The caller waits until every range is done, not
// until every goroutine has come by: one that the scheduler starts late finds
// nothing left to claim and only drops its hold. The last holder recycles the
// job, so a late goroutine never meets the ranges of another call.
type job struct {
	n, grain int
	ranges   int64
	body     func(lo, hi int)

	next    atomic.Int64 // next range to claim
	holders atomic.Int64 // goroutines that may still touch the job
	open    sync.WaitGroup
	work    func() // claim and release, bound once so that go allocates nothing
}

var jobs = sync.Pool{New: func() any { return new(job) }}

// claim runs ranges until none is left.
func (j *job) claim() {
	for {
		r := j.next.Add(1) - 1
		if r >= j.ranges {
			return
		}
		lo := int(r) * j.grain
		j.body(lo, min(lo+j.grain, j.n))
		j.open.Done()
	}
}

// release drops one hold on the job.
func (j *job) release() {
	if j.holders.Add(-1) == 0 {
		j.body = nil
		jobs.Put(j)
	}
}
