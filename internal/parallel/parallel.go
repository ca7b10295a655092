package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Pool shares processors between the calls of For that are made on it. Its zero value
// is ready, and it must not be copied. None of its state can change a result.
type Pool struct {
	jobs      sync.Pool // of *job
	_         [cacheLine]byte
	reserved  atomic.Int64 // processors that For leaves alone
	lingering atomic.Int64 // helpers that look at the board
	_         [cacheLine]byte
	board     atomic.Pointer[job] // the last call that wanted one of them
	_         [cacheLine]byte
}

// cacheLine keeps fields apart that helpers poll while a caller uses the others. Two
// lines, since processors fetch them in pairs.
const cacheLine = 128

// process owns the processors of this process. They are as global as GOMAXPROCS:
// two pools would both take all of them. See docs/adr/0021.
var process Pool

// Free is Pool.Free on the processors of this process.
func Free() int { return process.Free() }

// For is Pool.For on the processors of this process.
func For(n, grain int, body func(lo, hi int)) { process.For(n, grain, body) }

// Reserve is Pool.Reserve on the processors of this process.
func Reserve(cores int) { process.Reserve(cores) }

// Linger is Pool.Linger on the processors of this process.
func Linger(while time.Duration, wanted func() bool) { process.Linger(while, wanted) }

// For calls body on the ranges [0, grain), [grain, 2·grain), … that make up
// [0, n), the last one possibly shorter, and returns when all calls have
// returned. The calls run in any order on the caller's goroutine and on as many
// others as there are processors that are not reserved. The caller sees everything
// that body wrote.
//
// With n ≤ grain, or one processor, everything runs on the caller's goroutine,
// still range by range. A grain below 1 counts as 1.
//
// A panic of body is not caught: body must not panic. Calls may nest and run
// concurrently. Cost: no allocation beside the closure that the caller builds.
// Helpers of one call wait a moment for the next, so that calls in close
// succession cost under a microsecond; after a pause waking one takes tens, so
// a range should carry several microseconds of work.
func (p *Pool) For(n, grain int, body func(lo, hi int)) {
	if n <= 0 {
		return
	}
	grain = max(grain, 1)
	if n <= grain {
		body(0, n)
		return
	}
	ranges := (n-1)/grain + 1
	helpers := min(p.Free(), ranges) - 1
	if helpers <= 0 {
		for lo := 0; lo < n; lo += grain {
			body(lo, min(lo+grain, n))
		}
		return
	}
	j, ok := p.jobs.Get().(*job)
	if !ok {
		j = &job{pool: p}
		j.help = func() {
			j.claimLast()
			j.release()
			p.Linger(patience, func() bool { return false })
		}
	}
	j.n, j.grain, j.body = n, grain, body
	j.ranges.Store(int64(ranges))
	j.claimed.Store(0)
	j.last.Store(0)
	j.open.Store(int64(ranges))
	wake := max(0, helpers-int(p.lingering.Load()))
	j.holders.Store(int64(1 + wake))
	if wake < helpers {
		p.board.Store(j)
	}
	for range wake {
		go j.help()
	}
	j.claimFirst()
	j.wait()
	j.release()
}

// Free returns the number of processors that For uses now: at least 1.
func (p *Pool) Free() int { return max(1, runtime.GOMAXPROCS(0)-int(p.reserved.Load())) }

// Reserve makes For use so many goroutines fewer from now on, or more if cores is
// negative. A caller that keeps processors busy by other means, such as sampling
// ahead, reserves them. It may be called from any goroutine.
func (p *Pool) Reserve(cores int) { p.reserved.Add(int64(cores)) }

// patience is how long a helper waits for another call before it ends. Waking a
// sleeping processor takes as long. While a helper waits and the caller is in a call
// of C, as into a BLAS library, the runtime gives the caller's processor to another
// thread, so that one thread too many runs: a longer patience is slower there.
const patience = 100 * time.Microsecond

// Linger joins calls of For as they come, until none comes for the given while,
// the processor is reserved, or wanted returns true. A goroutine that waits for
// something else helps in the meantime. Wait briefly: an idle worker takes a
// processor from a busy one, of another program too.
func (p *Pool) Linger(while time.Duration, wanted func() bool) {
	p.lingering.Add(1)
	defer p.lingering.Add(-1)
	procs := int64(runtime.GOMAXPROCS(0))
	since := time.Now()
	for spins := 1; p.lingering.Load()+p.reserved.Load() < procs && !wanted(); spins++ {
		if j := p.board.Load(); j != nil && j.join() {
			p.lingering.Add(-1)
			j.claimLast()
			j.release()
			p.lingering.Add(1)
			since = time.Now()
		} else if spins%16 == 0 && time.Since(since) > while {
			return
		}
	}
}

// job is one call of For. The caller waits until every range is done, and does not
// wait for every helper: a helper that the scheduler starts late finds nothing left
// to claim and only drops its hold. The last holder recycles the job, so a late
// helper never meets the ranges of another call.
type job struct {
	pool     *Pool
	n, grain int
	body     func(lo, hi int)

	ranges  atomic.Int64
	claimed atomic.Int64 // attempts to claim a range
	last    atomic.Int64 // ranges claimed from the last one down
	open    atomic.Int64 // ranges not done
	holders atomic.Int64 // goroutines that may still touch the job; 0: it is over
	help    func()       // bound once so that go allocates nothing
}

// join takes a hold on a job that is not over and has ranges to claim. If the job was
// recycled since the board showed it, the helper joins the new call.
func (j *job) join() bool {
	for {
		h := j.holders.Load()
		if h == 0 || j.claimed.Load() >= j.ranges.Load() {
			return false
		}
		if j.holders.CompareAndSwap(h, h+1) {
			return true
		}
	}
}

// claimFirst runs ranges from the first one up until none is left. The helpers
// work towards it from the last one down, so that in a series of calls over the
// same rows a row tends to stay with one processor and its cache.
func (j *job) claimFirst() {
	ranges := j.ranges.Load()
	for r := int64(0); j.claimed.Add(1) <= ranges; r++ {
		j.run(r)
	}
}

// claimLast is claimFirst of a helper.
func (j *job) claimLast() {
	ranges := j.ranges.Load()
	for j.claimed.Add(1) <= ranges {
		j.run(ranges - j.last.Add(1))
	}
}

func (j *job) run(r int64) {
	lo := int(r) * j.grain
	j.body(lo, min(lo+j.grain, j.n))
	j.open.Add(-1)
}

// wait returns once all ranges are done. The last ranges are short, and waking from
// sleep takes long, so it does not sleep; but it lets others run.
func (j *job) wait() {
	for spins := 1; j.open.Load() > 0; spins++ {
		if spins%1024 == 0 {
			runtime.Gosched()
		}
	}
}

func (j *job) release() {
	if j.holders.Add(-1) == 0 {
		j.body = nil
		j.pool.jobs.Put(j)
	}
}
