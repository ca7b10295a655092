//go:build cuda

package ops

import (
	"gorgonia.org/cu"
	G "gorgonia.org/gorgonia"
)

// Gorgonia built with the tag cuda gives every plain elementwise node to its CUDA
// engine, and its release has no compiled kernels for them. These run on the CPU.
func init() {
	G.AddToStdLib("elembinop", cu.Elementwise, cu.BinaryKernels())
	G.AddToStdLib("elemunaryop", cu.Elementwise, cu.UnaryKernels())
}
