package reproduce

import (
	"context"
	"iter"
)

// Ranks are processes that make one report together. They need the same Dir, on a file
// system in common. A World of MPI is Ranks.
type Ranks interface {
	Rank() int
	Size() int
	Barrier(ctx context.Context) error // returns when all ranks have called it
}

// follows reports whether this process only computes cells for rank 0.
func (r *runner) follows() bool { return r.Ranks != nil && r.Ranks.Rank() > 0 }

// turns yields the jobs of this process. On several ranks each first computes every K-th
// cell. Rank 0 then goes through all cells: it computes the times, while no other rank works
// beside it, and cells that no rank has left in Dir. It sets failed if the ranks cannot meet.
func (r *runner) turns(ctx context.Context, all []job, failed *error) iter.Seq[job] {
	return func(yield func(job) bool) {
		through := func(jobs []job) bool {
			r.pace.start(jobs)
			for _, j := range jobs {
				if !yield(j) {
					return false
				}
			}
			return true
		}
		if r.Ranks != nil && r.Ranks.Size() > 1 {
			var mine []job
			n := 0
			for _, j := range all {
				if j.kind.timed() {
					continue
				}
				if n%r.Ranks.Size() == r.Ranks.Rank() {
					mine = append(mine, j)
				}
				n++
			}
			if !through(mine) {
				return
			}
			if *failed = r.Ranks.Barrier(ctx); *failed != nil || r.follows() {
				return
			}
		}
		through(all)
	}
}
