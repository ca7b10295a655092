// Package device runs work on an NVIDIA GPU through gorgonia.org/cu: it holds the
// memory, copies arrays and launches the kernels of the ops.
//
//	ops, layers, train ─▶ device ─▶ gorgonia.org/cu ─▶ libcuda, libcublas
//	                        │
//	                        └─ kernels.cu ─(compiled beforehand)─▶ kernels.ptx
//
// Open opens the first GPU. In a build without the tag cuda it returns an error that
// says how to build with it. The rest of the package compiles in every build.
//
// Work is queued on one stream and runs in that order. A call that waits for the
// device says so. An Uploader sends the arrays of a mini-batch on a second stream,
// from page-locked memory, while the step before is computed.
//
// Matrices are row-major float32. A Device is for one goroutine at a time. Kernels do
// not check sizes.
package device
