package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
)

// Device is a GPU for training and prediction, as in layers.Model.Device. It is for one
// goroutine at a time. Close frees the arrays on it.
type Device = device.Device

// CUDA reports whether this is a build with the tag cuda.
const CUDA = device.Built

// OpenDevice returns the device of that name: nil for "cpu" and "", the first NVIDIA GPU
// for "cuda". The graph is the same for both. The error says in one line whether the
// build, the driver or the GPU is missing.
func OpenDevice(name string) (*Device, error) {
	switch name {
	case "", "cpu":
		return nil, nil
	case "cuda":
		return device.Open()
	}
	return nil, fmt.Errorf("ops: unknown device %q; there are: cpu, cuda", name)
}

// DescribeCUDA names the GPU and the driver in one line, or says why no GPU can be used.
func DescribeCUDA() string { return device.Describe() }
