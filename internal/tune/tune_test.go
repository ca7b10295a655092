package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func dimension(t *testing.T, option, text string) Dimension {
	t.Helper()
	d, err := ParseDimension(option, text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestParseDimension(t *testing.T) {
	for text, want := range map[string]Dimension{
		"0.01, 0.003":      {Values: []string{"0.01", "0.003"}},
		"512,1024 256,256": {Values: []string{"512,1024", "256,256"}},
		"full":             {Values: []string{"full"}},
	} {
		if got := dimension(t, "", text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"": "value 1 is empty", "1,,2": "value 2 is empty", "1,2,1": "there twice",
	} {
		if _, err := ParseDimension("x", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestDraw checks the number of settings, that all differ, that their values are of the space,
// and that equal seeds draw equal settings.
func TestDraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		space := []Dimension{
			{Option: "a", Values: []string{"x", "y", "z"}[:rapid.IntRange(1, 3).Draw(t, "values")]},
			{Option: "b", Values: []string{"1", "2", "3", "4"}},
			{Option: "c", Values: []string{"1", "2"}},
		}
		n, seed := rapid.IntRange(1, 30).Draw(t, "n"), rapid.Uint64().Draw(t, "seed")
		settings, err := Draw(space, n, seed)
		if err != nil {
			t.Fatal(err)
		}
		want := min(n, 8*len(space[0].Values))
		if len(settings) != want {
			t.Fatalf("%d settings, want %d", len(settings), want)
		}
		seen := map[string]bool{}
		for _, s := range settings {
			seen[fmt.Sprint(s)] = true
			for _, d := range space {
				if value := s[d.Option]; !slices.Contains(d.Values, value) {
					t.Fatalf("%s is %s", d.Option, value)
				}
			}
		}
		if len(seen) != want {
			t.Fatalf("%d different settings of %d", len(seen), want)
		}
		if again, _ := Draw(space, n, seed); !reflect.DeepEqual(settings, again) {
			t.Fatal("the same seed draws other settings")
		}
	})
}

func TestDrawErrors(t *testing.T) {
	many := make([]string, 200)
	for k := range many {
		many[k] = strconv.Itoa(k)
	}
	a, b := Dimension{Option: "a", Values: many}, Dimension{Option: "b", Values: many}
	for _, c := range []struct {
		space []Dimension
		n     int
		want  string
	}{
		{nil, 0, "nothing to search"}, {[]Dimension{a, a}, 0, "searched twice"},
		{[]Dimension{a, b}, 0, "at most 10000"}, {[]Dimension{a, b}, 20_000, "at most 10000"},
	} {
		if _, err := Draw(c.space, c.n, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if all, err := Draw([]Dimension{a}, 0, 1); err != nil || len(all) != 200 {
		t.Errorf("%d settings, %v", len(all), err)
	}
}

// slowHalving is successive halving, written out: the settings of each rung, the best first.
func slowHalving(n, rungs, reduce int, score func(setting, rung int) float64) [][]int {
	alive := make([]int, n)
	for k := range alive {
		alive[k] = k
	}
	var all [][]int
	for rung := range rungs {
		slices.SortStableFunc(alive, func(a, b int) int {
			x, y := score(a, rung), score(b, rung)
			switch {
			case x > y || !math.IsNaN(x) && math.IsNaN(y):
				return -1
			case x < y || math.IsNaN(x) && !math.IsNaN(y):
				return 1
			}
			return a - b
		})
		all = append(all, slices.Clone(alive))
		alive = slices.Clone(alive[:int(math.Ceil(float64(len(alive))/float64(reduce)))])
	}
	return all
}

// TestSearch compares a search with slow halving, for any number of jobs, and checks the trials:
// each continues the one before it, and together they are the work that is announced.
func TestSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, seeds := rapid.IntRange(1, 20).Draw(t, "settings"), rapid.IntRange(1, 3).Draw(t, "seeds")
		s := Search{
			Settings: make([]Setting, n), Seeds: seeds, Rungs: rapid.IntRange(1, 4).Draw(t, "rungs"), Reduce: rapid.IntRange(2, 4).Draw(t, "reduce"),
			Batches: rapid.IntRange(200, 400).Draw(t, "batches"), Jobs: rapid.IntRange(1, 5).Draw(t, "jobs"),
			Ranked: func([]Row) error { return nil },
		}
		table := make([]float64, n*s.Rungs) // a few values, so that there are ties
		for k := range table {
			if v := rapid.IntRange(0, 5).Draw(t, "score"); v > 0 || k == 0 {
				table[k] = float64(v)
			} else {
				table[k] = math.NaN()
			}
		}
		score := func(setting, rung int) float64 { return table[setting*s.Rungs+rung] }
		var mu sync.Mutex
		work, reached := 0, map[[2]int]int{}
		s.Train = func(_ context.Context, trial Trial) (float64, error) {
			mu.Lock()
			defer mu.Unlock()
			of := [2]int{trial.Setting, trial.Seed}
			if reached[of] != trial.From {
				return 0, fmt.Errorf("trial %+v after %d mini-batches", trial, reached[of])
			}
			reached[of] = trial.Batches
			work += trial.Batches - trial.From
			return score(trial.Setting-1, trial.Rung-1) + float64(trial.Seed), nil
		}
		rows, err := s.Run(t.Context())
		want := slowHalving(n, s.Rungs, s.Reduce, score)
		if err != nil && strings.Contains(err.Error(), "diverged") {
			last := rows[len(rows)-1].Rung - 1
			if !math.IsNaN(score(want[last][0], last)) {
				t.Fatal("a setting has a score")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		announced := 0
		for _, r := range s.Plan() {
			announced += r.Work
		}
		if work != announced {
			t.Fatalf("%d mini-batches, announced %d", work, announced)
		}
		for rung, settings := range want {
			for place, setting := range settings {
				r := rows[0]
				rows = rows[1:]
				mean := score(setting, rung) + float64(seeds-1)/2
				if r.Setting != setting+1 || r.Rung != rung+1 || math.Abs(float64(r.Valid)-mean) > 1e-12 || math.IsNaN(mean) != math.IsNaN(float64(r.Valid)) {
					t.Fatalf("rung %d, place %d is %+v, want setting %d with %v", rung, place, r, setting, mean)
				}
				next := 1
				if rung+1 < len(want) {
					next = len(want[rung+1])
				}
				if r.Kept != (place < next) {
					t.Fatalf("rung %d, place %d of %d: kept is %v", rung, place, len(settings), r.Kept)
				}
			}
		}
	})
}

func TestSearchErrors(t *testing.T) {
	good := Search{Settings: make([]Setting, 4), Seeds: 1, Rungs: 2, Reduce: 2, Batches: 10, Jobs: 2, Ranked: func([]Row) error { return nil }}
	good.Train = func(_ context.Context, trial Trial) (float64, error) {
		if trial.Setting == 4 && trial.Rung == 1 {
			return 0, errors.New("no disk")
		}
		return 1, nil
	}
	for want, change := range map[string]func(*Search){
		"no disk": func(*Search) {},
		"diverged": func(s *Search) {
			s.Train = func(context.Context, Trial) (float64, error) { return math.NaN(), nil }
		},
		"full": func(s *Search) {
			s.Settings, s.Ranked = s.Settings[:3], func([]Row) error { return errors.New("full") }
		},
	} {
		s := good
		change(&s)
		if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	good.Settings, good.Train = good.Settings[:3], func(ctx context.Context, _ Trial) (float64, error) { cancel(); return 0, ctx.Err() }
	if _, err := good.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancellation: %v", err)
	}
}

// TestFigure draws searches with numbers, names and scores that are not known.
func TestFigure(t *testing.T) {
	space := []Dimension{dimension(t, "lr", "0.001,0.1"), dimension(t, "method", "full,ladies")}
	settings, err := Draw(space, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := Search{Settings: settings, Seeds: 2, Rungs: 2, Reduce: 2, Batches: 100, Jobs: 1, Ranked: func([]Row) error { return nil }}
	s.Train = func(_ context.Context, trial Trial) (float64, error) {
		if trial.Setting == 2 {
			return math.NaN(), nil
		}
		return 0.1*float64(trial.Setting) + 0.01*float64(trial.Seed), nil
	}
	rows, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !reflect.DeepEqual(r.Options, settings[r.Setting-1]) {
			t.Errorf("row %+v, want the options %v", r, settings[r.Setting-1])
		}
	}
	svg, err := Figure(space, rows, "accuracy").SVG()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the best setting", "after 50 mini-batches", "after 100 mini-batches", "ladies", "validation accuracy"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("no %q in the figure", want)
		}
	}
}
