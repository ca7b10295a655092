package reproduce_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/reproduce"
)

// A small stand-in for the paper's main table: two methods, two seeds.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "reproduce")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	settings, err := reproduce.Paper(context.Background())
	if err != nil {
		panic(err)
	}
	settings.Batch, settings.Hidden, settings.MaxBatches, settings.Runs = 64, 16, 60, 2
	results, err := reproduce.Run(context.Background(), "table4", reproduce.Options{
		Settings: &settings, Data: []string{"synth:demo?nodes=1000&edges=6000"}, Methods: []string{"full", "ladies-flat-debiased"}, Samples: []int{64, 128}, Dir: dir,
		Compute: reproduce.ComputeAll, Log: func(string) {}, Open: func(ctx context.Context, spec string) (*datasets.Data, error) {
			return datasets.Open(ctx, spec, datasets.Options{})
		},
	})
	if err != nil {
		panic(err)
	}
	for _, row := range results.Reports[0].Rows {
		if strings.HasPrefix(row.Quantity, "test") { // the table has times too
			fmt.Println(row.Label, row.Samples, row.Quantity, row.N, "runs")
		}
	}
	// Output:
	// Full-batch [] test accuracy, % 2 runs
	// LADIES w/ flat & debias [64 128] test accuracy, % 2 runs
}
