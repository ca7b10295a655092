package reproduce_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/reproduce"
)

// A small stand-in for the paper's main table: two methods, two seeds.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "reproduce")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	report, err := reproduce.Run(context.Background(), "table4", reproduce.Options{
		Data: []string{"synth:demo?nodes=1000&edges=6000"}, Methods: []string{"full", "ladies-flat-debiased"}, Samples: []int{64, 128},
		Config: reproduce.Config{Batch: 64, Hidden: 16, MaxBatches: 60}, Runs: reproduce.PerData{Each: 2}, Dir: dir,
	})
	if err != nil {
		panic(err)
	}
	for _, row := range report.Rows {
		if strings.HasPrefix(row.Quantity, "test") { // the table has times too
			fmt.Println(row.Label, row.Samples, row.Quantity, row.N, "runs")
		}
	}
	// Output:
	// Full-batch [] test accuracy, % 2 runs
	// LADIES w/ flat & debias [64 128] test accuracy, % 2 runs
}
