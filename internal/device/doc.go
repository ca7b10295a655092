// Package device computes on an NVIDIA GPU through gorgonia.org/cu: the memory,
// the copies and the kernels of the ops.
//
//	ops, layers, train ─▶ device ─▶ gorgonia.org/cu ─▶ libcuda, libcublas
//	                        │
//	                        └─ kernels.cu ─(compiled beforehand)─▶ kernels.ptx
//
// Open finds the first GPU. Only builds with the tag cuda can do so; in others it
// is an error that says how to build one, and the package holds nothing else.
//
// Everything is queued on one stream and runs in that order, so that no call
// waits, except Read and Sync. The arrays of a mini-batch are copied on a second
// stream, from page-locked memory, while the step before it computes (see Uploader).
//
// Matrices are row-major float32. A Device is for one goroutine at a time. What
// sizes a kernel is given must be right: it checks nothing.
package device
