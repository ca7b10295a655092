//go:build !amd64 || noasm

package blas

// Native returns nil: there is no assembly for this build.
func Native() BLAS { return nil }
