package tune

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/study"
)

// Search is one search by successive halving. Rung r trains its settings up to a number of
// mini-batches, and ranks them by the mean of their validation scores over the seeds. One
// setting in Reduce, the best ones, goes on to the next rung.
//
// The result depends on the scores alone, not on Jobs: trials of a rung may end in any order.
type Search struct {
	Settings []Setting
	Seeds    int // trials of a setting in a rung
	Rungs    int // at most
	Reduce   int // at least 2: of so many settings, one goes on
	Batches  int // mini-batches of the last rung; each rung before has a Reduce-th of the next one's
	Every    int // mini-batches between two evaluations; 0 means 1
	Jobs     int // trials side by side

	// Train trains a trial, and returns its best validation score so far; NaN if training
	// diverged. It is called from several goroutines. A trial of a later rung continues
	// the trial before it of the same setting and seed.
	Train func(ctx context.Context, t Trial) (float64, error)

	// Ranked is called with the rows of all rungs so far after each rung.
	Ranked func([]Row) error
}

// Trial is the training of one setting with one seed in one rung. Numbers of settings and rungs
// count from 1.
type Trial struct {
	Setting int
	Seed    int // 0 to Search.Seeds−1
	Rung    int
	From    int // mini-batches of the rung before
	Batches int // mini-batches of this rung
}

// Row is the outcome of a setting in a rung. Both count from 1.
type Row struct {
	Setting int       `json:"setting"`
	Rung    int       `json:"rung"`
	Batches int       `json:"batches"` // mini-batches so far
	Valid   float64   `json:"valid"`   // mean of Scores, NaN if one is
	SEM     float64   `json:"sem"`     // its standard error, NaN for one seed
	Scores  []float64 `json:"scores"`  // best validation scores so far, by seed
	Kept    bool      `json:"kept"`    // goes on to the next rung, or is the best of the last
	Options Setting   `json:"options"`
}

// Rung is one round of training.
type Rung struct {
	Batches  int `json:"batches"` // counted from the start of training
	Settings int `json:"settings"`
	Work     int `json:"-"` // mini-batches of all its trials
}

// Plan returns the rungs. There are fewer than Rungs if two would end at the same evaluation: the
// second one would compare the scores of the first.
func (s *Search) Plan() []Rung {
	evaluations := func(batches int) int { return (batches - 1) / max(s.Every, 1) }
	plan := []Rung{{Batches: s.Batches}}
	for len(plan) < s.Rungs {
		batches := (plan[0].Batches-1)/s.Reduce + 1
		if evaluations(batches) == evaluations(plan[0].Batches) {
			break
		}
		plan = slices.Insert(plan, 0, Rung{Batches: batches})
	}
	settings := len(s.Settings)
	before := 0
	for k, r := range plan {
		plan[k].Settings, plan[k].Work = settings, settings*s.Seeds*(r.Batches-before)
		settings, before = (settings-1)/s.Reduce+1, r.Batches
	}
	return plan
}

// Run searches. It returns the rows of all rungs, each rung's best first. When ctx ends, or a trial
// fails, it waits for the trials under way and returns the error.
func (s *Search) Run(ctx context.Context) (all []Row, err error) {
	var alive []Row
	for k, options := range s.Settings {
		alive = append(alive, Row{Setting: k + 1, Options: options})
	}
	plan := append(s.Plan(), Rung{Settings: 1}) // the best one
	for k, r := range plan[:len(plan)-1] {
		rows, err := s.rung(ctx, alive, r.Batches)
		if err != nil {
			return all, err
		}
		alive = rows[:plan[k+1].Settings]
		for i := range alive {
			alive[i].Kept = true
		}
		all = append(all, rows...)
		if err := s.Ranked(all); err != nil {
			return all, err
		}
		if math.IsNaN(rows[0].Valid) {
			return all, errors.New("training diverged in all settings: try smaller step sizes")
		}
	}
	return all, nil
}

// rung trains settings on, from their rows of the rung before, with each seed, and returns their
// rows, the best first.
func (s *Search) rung(ctx context.Context, before []Row, batches int) ([]Row, error) {
	rows := slices.SortedFunc(slices.Values(before), func(a, b Row) int { return a.Setting - b.Setting })
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.Jobs)
	for k := range rows {
		r := &rows[k]
		from := r.Batches
		r.Rung, r.Batches, r.Kept, r.Scores = r.Rung+1, batches, false, make([]float64, s.Seeds)
		for seed := range s.Seeds {
			t := Trial{Setting: r.Setting, Seed: seed, Rung: r.Rung, From: from, Batches: batches}
			group.Go(func() (err error) {
				if err = ctx.Err(); err == nil {
					r.Scores[seed], err = s.Train(ctx, t)
				}
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for k, r := range rows {
		spread := study.NewSpread(r.Scores)
		if rows[k].Valid, rows[k].SEM = spread.Mean, spread.SEM; s.Seeds == 1 {
			rows[k].SEM = math.NaN()
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { // NaN is less than all numbers
		return cmp.Or(cmp.Compare(b.Valid, a.Valid), a.Setting-b.Setting)
	})
	return rows, nil
}

// Best returns the row of the best setting in the last rung of the rows that Search.Run returns.
func Best(rows []Row) Row {
	last := rows[len(rows)-1].Rung
	return rows[slices.IndexFunc(rows, func(r Row) bool { return r.Rung == last })]
}
