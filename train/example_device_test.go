package train_test

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/ops"
)

// A model whose Device is a GPU trains there. Its graph is built as for the CPU.
func Example_device() {
	device, err := ops.OpenDevice("cpu") // or "cuda", in a build with the tag cuda
	if err != nil {
		fmt.Println(err) // names the missing driver or device
		return
	}
	fmt.Println("on the CPU:", device == nil)
	// model.Device = device
	// history, err := train.Fit(ctx, model, data, options)

	// Output: on the CPU: true
}
