package parallel_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/internal/parallel"
)

func ExampleFor() {
	squares := make([]int, 10)
	parallel.For(len(squares), 4, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			squares[i] = i * i
		}
	})
	fmt.Println(squares)
	// Output: [0 1 4 9 16 25 36 49 64 81]
}

// withProcs runs f under each number of processors.
func withProcs(t *testing.T, f func(procs int)) {
	old := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(old) })
	for _, procs := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(procs)
		f(procs)
	}
}

func TestForVisitsEveryIndexOnce(t *testing.T) {
	withProcs(t, func(int) {
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(-1, 300).Draw(t, "n")
			grain := rapid.IntRange(-1, 320).Draw(t, "grain")
			visits := make([]atomic.Int32, max(n, 0))
			parallel.For(n, grain, func(lo, hi int) {
				g := max(grain, 1)
				if lo%g != 0 || hi != min(lo+g, n) || lo >= hi {
					t.Errorf("range [%d, %d) of n=%d grain=%d", lo, hi, n, grain)
				}
				for i := lo; i < hi; i++ {
					visits[i].Add(1)
				}
			})
			for i := range visits {
				if v := visits[i].Load(); v != 1 {
					t.Fatalf("n=%d grain=%d: index %d visited %d times", n, grain, i, v)
				}
			}
		})
	})
}

func TestForNestsAndRunsConcurrently(t *testing.T) {
	withProcs(t, func(int) {
		var sum atomic.Int64
		for range 200 {
			parallel.For(8, 1, func(lo, _ int) {
				parallel.For(100, 7, func(lo2, hi2 int) { sum.Add(int64((lo + 1) * (hi2 - lo2))) })
			})
		}
		if want := int64(200 * 36 * 100); sum.Load() != want {
			t.Errorf("sum %d, want %d", sum.Load(), want)
		}
		sum.Store(0)
	})
}

// The caller must see the writes of all ranges without locking;
// the race detector checks this too.
func TestForPublishesWrites(t *testing.T) {
	withProcs(t, func(int) {
		x := make([]int, 1000)
		for round := range 100 {
			parallel.For(len(x), 10, func(lo, hi int) {
				for i := lo; i < hi; i++ {
					x[i] += round
				}
			})
			for i := range x {
				if x[i] != round*(round+1)/2 {
					t.Fatalf("round %d: x[%d] = %d", round, i, x[i])
				}
			}
		}
		clear(x)
	})
}

func TestForAllocatesNothing(t *testing.T) {
	withProcs(t, func(procs int) {
		body := func(lo, hi int) {}
		if a := testing.AllocsPerRun(200, func() { parallel.For(64, 4, body) }); a > 0.5 {
			t.Errorf("%d processors: %.1f allocations a call", procs, a)
		}
	})
}

// With all processors reserved a call runs where it is, and the same ranges.
func TestReserveLeavesTheCallerAlone(t *testing.T) {
	withProcs(t, func(procs int) {
		var pool parallel.Pool
		pool.Reserve(procs)
		var last int
		var running atomic.Int32
		for range 100 {
			last = -1
			pool.For(50, 5, func(lo, hi int) {
				if running.Add(1) != 1 || lo <= last {
					t.Errorf("range [%d, %d) after %d, beside another", lo, hi, last)
				}
				last = lo
				running.Add(-1)
			})
		}
	})
}

// Calls in close succession, from several goroutines, meet the same helpers.
func TestForInSuccession(t *testing.T) {
	withProcs(t, func(int) {
		done := make(chan int64)
		for range 3 {
			go func() {
				var sum atomic.Int64
				for k := range 2000 {
					parallel.For(40+k%7, 3, func(lo, hi int) { sum.Add(int64(hi - lo)) })
				}
				done <- sum.Load()
			}()
		}
		want := int64(0)
		for k := range 2000 {
			want += int64(40 + k%7)
		}
		for range 3 {
			if got := <-done; got != want {
				t.Errorf("%d indices visited, want %d", got, want)
			}
		}
	})
}

func BenchmarkFor(b *testing.B) {
	body := func(lo, hi int) {}
	for _, ranges := range []int{1, 2, 16} {
		b.Run(fmt.Sprintf("ranges=%d", ranges), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				parallel.For(ranges, 1, body)
			}
		})
	}
}

// Reserving in one pool leaves another alone.
func TestPoolsAreApart(t *testing.T) {
	withProcs(t, func(procs int) {
		var reserved, free parallel.Pool
		reserved.Reserve(procs)
		var both sync.WaitGroup
		both.Add(min(procs, 2))
		free.For(min(procs, 2), 1, func(int, int) { // ends only if as many ranges run at once
			both.Done()
			both.Wait()
		})
	})
}
