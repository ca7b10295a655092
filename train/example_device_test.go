package train_test

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/ops"
)

// A model trains on a GPU where its Device says so; the graph is built as ever.
func Example_device() {
	device, err := ops.OpenDevice("cpu") // or "cuda", in a build with the tag cuda
	if err != nil {
		fmt.Println(err) // one line that says what is missing
		return
	}
	fmt.Println("on the CPU:", device == nil)
	// model.Device = device
	// history, err := train.Fit(ctx, model, data, options)

	// Output: on the CPU: true
}
