// Package elementwise gives Gorgonia's CUDA backend its own elementwise kernels:
// + - × ÷, powers and comparisons of two tensors or a tensor and a scalar, and
// the unary functions from abs to tanh, in float32 and float64.
//
//	cuda modules/src/*.cu of Gorgonia ──go run ./cuda/ptx──▸ *.ptx ──init──▸ G.AddToStdLib
//
// Gorgonia's release has their source, under Apache-2.0, but not the Go file made
// of them, and without it runs these operations on the processor. The ops of this
// project have kernels of their own; these are for the nodes of Gorgonia's that a
// user puts between layers. Importing the package registers them; without the tag
// cuda it is empty.
package elementwise
