package datasets_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/datasets"
)

// A generated data set is kept as a store. From the second opening on, a large store
// opens as fast as a small one.
func ExampleConvert() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	o := datasets.Options{Cache: filepath.Join(dir, "cache")}
	ctx := context.Background()
	spec, err := datasets.Convert(ctx, "synth:demo?nodes=1000&edges=5000", filepath.Join(dir, "small.store"), o)
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := datasets.Open(ctx, spec, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	fmt.Println(d.Nodes(), "nodes,", d.Edges(), "edges,", d.Notes[0])
	// Output: 1000 nodes, 5000 edges, made from synth:demo?nodes=1000&edges=5000
}
