// Package cublas makes the few calls of cuBLAS that this project needs. It lies where
// gorgonia.org/cu/blas lies and has its name.
//
// The library is looked for when it is first needed: the file that GCN_CUBLAS
// names, and then nothing else; else libcublas.so.13, .12 or .11 where the
// dynamic linker looks, in the usual folders of a CUDA installation, and in the
// wheels that pip puts beside PyTorch (nvidia/cublas/lib, nvidia/cu13/lib).
//
// There is one Handle for each context of the process, bound to the main stream
// of the context: products and kernels are in order without waiting. It has a
// workspace of its own, so that equal calls give equal bits, and computes
// float32 in float32.
//
// All matrices are by columns, as in Fortran.
package cublas
