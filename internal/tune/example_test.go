package tune_test

import (
	"context"
	"fmt"
	"strconv"

	"github.com/gcn-layerwise/gcn/internal/tune"
)

// The score of this training is best at a step size of 0.003, and grows with training.
func ExampleSearch() {
	lr, err := tune.ParseDimension("lr", "0.001,0.003,0.01,0.03")
	if err != nil {
		panic(err)
	}
	space := []tune.Dimension{lr}
	settings, err := tune.Draw(space, 0, 1) // all of them
	if err != nil {
		panic(err)
	}
	search := tune.Search{
		Settings: settings, Seeds: 1, Rungs: 2, Reduce: 2, Batches: 100, Jobs: 2,
		Train: func(_ context.Context, t tune.Trial) (float64, error) {
			lr, err := strconv.ParseFloat(settings[t.Setting-1]["lr"], 64)
			return 0.9 - 10*max(lr-0.003, 0.003-lr) - 1/float64(t.Batches), err
		},
		Ranked: func([]tune.Row) error { return nil },
	}
	rows, err := search.Run(context.Background())
	if err != nil {
		panic(err)
	}
	for _, r := range rows {
		fmt.Printf("%3d mini-batches, lr %s: %.3f\n", r.Batches, r.Options["lr"], r.Valid)
	}
	// Output:
	//  50 mini-batches, lr 0.003: 0.880
	//  50 mini-batches, lr 0.001: 0.860
	//  50 mini-batches, lr 0.01: 0.810
	//  50 mini-batches, lr 0.03: 0.610
	// 100 mini-batches, lr 0.003: 0.890
	// 100 mini-batches, lr 0.001: 0.870
}
