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
// width is x[i·width : (i+1)·width]. A function overwrites its dst and leaves
// the memory behind the rows it was asked for alone; dst must not overlap the
// other arguments unless the function says so.
//
// Callers check shapes; a kernel that is handed slices too short for the sizes
// it is given panics before it writes anything outside them. Nothing here
// returns an error, and nothing keeps a reference to its arguments.
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
