package figure_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/study/figure"
)

func ExampleFigure_Save() {
	dir, err := os.MkdirTemp("", "figure")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	f := figure.Figure{Panels: []figure.Panel{{
		Title: "error over the sample size", X: "nodes drawn", Y: "error", LogX: true,
		Lines: []figure.Series{
			{Name: "ladies", X: []float64{256, 512, 1024}, Y: []float64{378, 286, 197}, Error: []float64{4, 3, 2}},
			{Name: "ladies-flat", X: []float64{256, 512, 1024}, Y: []float64{264, 180, 119}},
		},
	}}}
	if err := f.Save(filepath.Join(dir, "errors")); err != nil {
		panic(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		fmt.Println(filepath.Base(file))
	}
	// Output:
	// errors.png
	// errors.svg
}
