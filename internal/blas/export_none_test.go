//go:build !amd64 || noasm

package blas

// NativeLevels returns nothing: there is no assembly for this build.
func NativeLevels() []BLAS { return nil }
