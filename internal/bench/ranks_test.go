package bench_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/internal/bench"
	"github.com/gcn-layerwise/gcn/train"
)

// Two ranks measure together. One process measures the constants alone.
func TestRanks(t *testing.T) {
	d := data(t)
	o := bench.RanksOptions{Micro: 4, Updates: 3, Batch: 64, Seed: 1}
	alone, err := bench.Ranks(t.Context(), modelOver(t, d), d, o)
	if err != nil {
		t.Fatal(err)
	}
	m := modelOver(t, d)
	parameters := 0
	for _, p := range m.Parameters {
		parameters += p.Shape().TotalSize()
	}
	// The hidden layers and the logits of the validation nodes are gathered.
	least := int64(4 * (len(d.Split.Valid)*7 + 32))
	if alone.Ranks != 1 || alone.Network != nil || alone.SharedMS != 0 || !(alone.BatchMS > 0) || !(alone.UpdateMS > 0) || !(alone.EvalMS > 0) ||
		alone.GradientBytes != int64(4*(parameters+1)) || alone.EvalGathers < 2 || alone.EvalBytes < least {
		t.Errorf("%+v", alone)
	}
	var all errgroup.Group
	for _, g := range train.NewLocalGroup(2) {
		m := modelOver(t, d)
		all.Go(func() error {
			o := o
			o.Group = g
			r, err := bench.Ranks(t.Context(), m, d, o)
			if err == nil && (r.Ranks != 2 || r.Network == nil || !(r.Network.MBPerS > 0) || !(r.SharedMS > r.CommMS) || !(r.SharedEvalMS > 0) || r.Imbalance < 1 || r.Imbalance > 2 ||
				r.EvalBytes != alone.EvalBytes) {
				t.Errorf("%+v", r)
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	o.Group = train.NewLocalGroup(5)[0]
	if _, err := bench.Ranks(t.Context(), m, d, o); err == nil {
		t.Error("5 ranks share 4 mini-batches")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o.Group = nil
	if _, err := bench.Ranks(ctx, m, d, o); err == nil {
		t.Error("a context that ended was ignored")
	}
}

// The model gives the table of docs/distributed.md, from the costs that stand above it.
func TestDocumentedPredictions(t *testing.T) {
	page, err := os.ReadFile("../../docs/distributed.md")
	if err != nil {
		t.Fatal(err)
	}
	const costs = "b = 1.4 ms, a = 0.1 ms, g = 436 KB"
	if !strings.Contains(string(page), costs) {
		t.Fatalf("the page has no %q", costs)
	}
	c := bench.RankCosts{BatchMS: 1.4, UpdateMS: 0.1, GradientBytes: 436e3}
	n := bench.Network{LatencyUS: 20, MBPerS: 1250, MessageUS: 2}
	ranks := []int{1, 2, 4, 8, 16, 32, 64}
	few, many := c.Predict(n, 8, 10, ranks), c.Predict(n, 64, 10, ranks)
	cells := func(p bench.RankPrediction) string {
		if p.UpdateMS == 0 {
			return "– | –"
		}
		return fmt.Sprintf("× %.2f | %.0f %%", p.Updates, 100*p.CommMS/p.UpdateMS)
	}
	for k := range ranks {
		row := fmt.Sprintf("\n| %d | %s | %s | %.0f %% |\n", ranks[k], cells(few[k]), cells(many[k]), 100*few[k].Weak)
		if !strings.Contains(string(page), row) {
			t.Errorf("the page has no row %s", row)
		}
	}
}

// The model by hand: 8 mini-batches of 1 ms on 4 ranks, 1 MB of gradients at 1000 MB/s.
func TestPredict(t *testing.T) {
	c := bench.RankCosts{BatchMS: 1, UpdateMS: 0.5, EvalMS: 100, GradientBytes: 1e6, EvalBytes: 8e6, EvalGathers: 2}
	n := bench.Network{LatencyUS: 50, MBPerS: 1000, MessageUS: 10}
	got := c.Predict(n, 8, 10, []int{1, 4, 16})
	const (
		exchange = 0.05 + 3*0.01 // of nothing, between 4 ranks
		update   = 2 + 0.5 + 2*(exchange+0.75)
		eval     = 25 + 2*(exchange+3)
	)
	for _, x := range [][2]float64{
		{got[0].UpdateMS, 8.5}, {got[0].SpeedUp, 1}, {got[0].Weak, 1}, {got[0].CommMS, 0}, {got[0].EvalMS, 100},
		{got[1].UpdateMS, update}, {got[1].Updates, 8.5 / update}, {got[1].EvalMS, eval},
		{got[1].SpeedUp, (85 + 100) / (10*update + eval)}, {got[1].Weak, 8.5 / (8.5 + 2*(exchange+0.75))},
		{got[2].UpdateMS, 0}, {got[2].SpeedUp, 0}, // 16 ranks cannot share 8 mini-batches
	} {
		if math.Abs(x[0]-x[1]) > 1e-12 {
			t.Errorf("got %v, want %v, of %+v", x[0], x[1], got)
		}
	}
}
