//go:build nodlopen || !(amd64 || arm64) || !(linux || darwin)

package blas

import "fmt"

// Open reports that shared libraries cannot be loaded in this build: the
// platform is not supported, or the build tag nodlopen is set.
func Open(path string) (BLAS, error) {
	return nil, fmt.Errorf("blas: %s: this build cannot load shared libraries", path)
}

func libraries() []string { return nil }
