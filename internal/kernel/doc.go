// Package kernel has the inner loops of a graph convolution: sparse
// times dense products, gathers, activations with dropout, losses and the Adam
// update, as plain functions over slices.
//
//	parallel ◀─ graph ◀─ ┌────────┐ ◀─ ops (autodiff) ◀─ layers ◀─ train
//	                     │ kernel │ ◀─ chunked full-neighbour inference
//	                     └────────┘
//
// # Conventions
//
// Matrices are dense, row-major float32 slices: row i of a matrix of the given
// width is x[i·width : (i+1)·width]. A function overwrites the requested rows of its
// dst, and does not touch memory behind them. dst must not overlap the other
// arguments unless the function says so.
//
// Callers check shapes. A kernel panics if a slice is too short for the given sizes,
// before it writes outside the slice. Only functions that take a context return an
// error. A function keeps no reference to its arguments unless it says so.
//
// # Speed and reproducibility
//
// Rows are spread over the cores with package parallel. A sum over rows is cut
// at places that depend on the sizes alone and combined in order, in float64,
// so that results are the same bits for every number of cores. They may differ
// in the last bit between machines: on amd64 processors with AVX2 or AVX-512
// the inner loops are assembly with fused multiply-add; elsewhere, and with
// the build tag noasm, the portable Go beside them runs. Tests compare them.
//
// Neither Gorgonia nor the sampling is known here.
package kernel
