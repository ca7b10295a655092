//go:build !cuda

package device

// Built tells whether this is a build with the tag cuda.
const Built = false

func openDriver() (driver, error) { return nil, ErrNotBuilt }

func describe() string { return "not built in" }
