//go:build !cuda

package device

// Built reports whether this is a build with the tag cuda.
const Built = false

func openDriver() (driver, error) { return nil, ErrNotBuilt }

// Describe names the GPU, the driver and cuBLAS in one line, or says why no GPU can be
// used.
func Describe() string { return "not built in" }
