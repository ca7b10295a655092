//go:build !cuda

package device

// Built reports whether this is a build with the tag cuda.
const Built = false

func openDriver() (driver, error) { return nil, ErrNotBuilt }

func describe() string { return "not built in" }
