package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
)

// Device is a GPU that models may be trained on: what train.Model.Device names.
// It is for one goroutine at a time; Close frees what lies on it.
type Device = device.Device

// CUDA tells whether this is a build with the tag cuda.
const CUDA = device.Built

// OpenDevice returns the device of that name: nil for "cpu" (and ""), the first
// NVIDIA GPU for "cuda". Graphs are built alike for either; a GPU comes in when
// the model is compiled. The error says in one line what is missing: a build with
// the tag cuda, a driver, or a GPU.
func OpenDevice(name string) (*Device, error) {
	switch name {
	case "", "cpu":
		return nil, nil
	case "cuda":
		return device.Open()
	}
	return nil, fmt.Errorf("ops: no device %q; there are: cpu, cuda", name)
}

// DescribeCUDA says in a line which GPU and driver there are, or why there is none.
func DescribeCUDA() string { return device.Describe() }
