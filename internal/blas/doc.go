// Package blas multiplies dense float32 matrices with the fastest library that
// the machine has, found at run time and without cgo.
//
//	ops, inference ─▶ BLAS.Sgemm ─▶ fixed tiles of C ─▶ package parallel
//	                                     │ one tile, one thread
//	                     ┌───────────────┼──────────────────┐
//	                  OpenBLAS         gonum             (others)
//	                  MKL, BLIS     always there
//
// # Choice
//
// The environment variable GCN_BLAS, handed to Find by Default, selects:
//
//	auto, or empty   the first of OpenBLAS, MKL, BLIS (Accelerate on macOS)
//	                 that the dynamic linker finds; without any, gonum
//	gonum            the pure Go implementation of gonum.org/v1/gonum
//	PATH             the shared library at that path, or of that name; an
//	                 error if it cannot be used
//
// # Reproducibility
//
// A library runs on one thread. The product is cut into tiles of C whose size
// depends on the shape alone, and the tiles are spread over GOMAXPROCS
// goroutines: results are the same bits for every number of cores, though not
// from one library to another.
package blas
