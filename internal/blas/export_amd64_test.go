//go:build amd64 && !noasm

package blas

import "github.com/gcn-layerwise/gcn/internal/simd"

// NativeLevels returns Native at every level that this machine has.
func NativeLevels() []BLAS {
	var list []BLAS
	for l := simd.AVX2; l <= simd.Available(); l++ {
		list = append(list, newNative(l))
	}
	return list
}
