//go:build !cuda

package train

import (
	"github.com/gcn-layerwise/gcn/internal/device"
	G "gorgonia.org/gorgonia"
)

// newEngine has no device to compile for in this build.
func newEngine(Model, []parameter, G.Nodes) (engine, error) { return nil, device.ErrNotBuilt }

func (Model) deviceCounts() deviceCounts { return deviceCounts{} }
