package ranks_test

import (
	"context"
	"fmt"
	"log"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/internal/ranks"
)

// Three ranks add five vectors. The sum has the same bits on each, and for any number of ranks.
func Example() {
	const leaves, size = 5, 3
	totals := make([][]float32, size)
	all, ctx := errgroup.WithContext(context.Background())
	for rank, group := range ranks.NewLocal(size) {
		all.Go(func() error {
			sum := ranks.Sum{Leaves: leaves, Length: 2}
			for leaf, end := ranks.Range(leaves, rank, size); leaf < end; leaf++ {
				sum.Add(leaf, []float32{float32(leaf), 1})
			}
			totals[rank] = make([]float32, 2)
			return sum.Total(ctx, group, totals[rank])
		})
	}
	if err := all.Wait(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(totals)
	// Output:
	// [[10 5] [10 5] [10 5]]
}
