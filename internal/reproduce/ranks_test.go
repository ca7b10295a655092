package reproduce

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// goroutineRank is one of several goroutines that share the cells.
type goroutineRank struct {
	rank, size int
	met        *sync.WaitGroup
}

func (r goroutineRank) Rank() int { return r.rank }
func (r goroutineRank) Barrier(context.Context) error {
	r.met.Done()
	r.met.Wait()
	return nil
}

// Ranks compute each cell once, and rank 0 makes the report of one process.
func TestRanksShareCells(t *testing.T) {
	for _, name := range []string{"table3", "table4"} { // times, and training
		alone := small(t)
		cells := 0
		alone.Log = func(string) { cells++ }
		want := reproduced(t, name, alone)
		const size = 2
		dir, met := t.TempDir(), new(sync.WaitGroup)
		met.Add(size)
		reports, computed := make([]*Results, size), make([]int, size)
		var all errgroup.Group
		for rank := range size {
			all.Go(func() (err error) {
				o := small(t)
				o.Dir, o.Ranks = dir, goroutineRank{rank, size, met}
				o.Log = func(string) { computed[rank]++ }
				reports[rank], err = Run(t.Context(), name, o)
				return err
			})
		}
		if err := all.Wait(); err != nil {
			t.Fatal(err)
		}
		if reports[1] != nil || computed[0]+computed[1] != cells || computed[0] == 0 || (computed[1] == 0) != (name == "table3") {
			t.Errorf("%s: rank 1 has report %v; the ranks computed %v cells, one process %d", name, reports[1], computed, cells)
		}
		for k, row := range want.Rows {
			if !strings.HasPrefix(row.Quantity, "ms ") && !reflect.DeepEqual(reports[0].Reports[0].Rows[k], row) {
				t.Errorf("%s: two ranks give %v, one process %v", name, reports[0].Reports[0].Rows[k], row)
			}
		}
	}
}

// A rank that cannot meet the others says so.
func TestRanksThatDoNotMeet(t *testing.T) {
	o := small(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	o.Ranks = apart{}
	if report, err := Run(ctx, "table4", o); report != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", report, err)
	}
}

type apart struct{}

func (apart) Rank() int                     { return 0 }
func (apart) Barrier(context.Context) error { return context.Canceled }
