package train

import "github.com/gcn-layerwise/gcn/internal/ranks"

// newLocalGroup returns ranks that are goroutines of this process.
func newLocalGroup(size int) []Group { return ranks.NewLocal(size) }
