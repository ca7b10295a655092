//go:build !amd64 || noasm

package simd

// Available returns Portable: there is no assembly for this build.
func Available() Level { return Portable }
