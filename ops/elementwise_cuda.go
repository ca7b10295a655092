//go:build cuda

package ops

import _ "github.com/gcn-layerwise/gcn/internal/elementwise" // for plain nodes in Gorgonia's own machines
