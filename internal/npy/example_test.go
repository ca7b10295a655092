package npy_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/npy"
)

// Scores of three nodes and two classes, written and read back.
func Example() {
	var file bytes.Buffer
	if err := npy.Write(&file, []float32{0.9, 0.1, 0.4, 0.6, 0.2, 0.8}, 3, 2); err != nil {
		fmt.Println(err)
		return
	}
	r, err := npy.NewReader("scores.npy", &file, int64(file.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	scores, err := npy.All[float32](context.Background(), r)
	fmt.Println(r.Descr, r.Shape, scores, err)
	// Output: <f4 [3 2] [0.9 0.1 0.4 0.6 0.2 0.8] <nil>
}
