// Package blas multiplies dense float32 matrices, as fast as the machine allows
// and without cgo.
//
//	ops, inference ─▶ BLAS.Sgemm ─▶ tiles of C, cut by the shape ─▶ package parallel
//	                                     │ one tile, one thread
//	           ┌──────────────┬──────────┴───┬──────────────┐
//	        native         OpenBLAS, MKL   Accelerate     gonum
//	    AVX2, AVX-512       BLIS, by name   on macOS    pure Go, always
//
// RowBLAS, which native is, also leaves rows out of a product where they lie.
//
// # Choice
//
// The environment variable GCN_BLAS, which Default hands to Find, selects:
//
//	auto, or empty   native; else the first library found; else gonum
//	native           this package's own assembly for amd64
//	library          the first of OpenBLAS (libopenblas.so.0, .so), MKL
//	                 (libmkl_rt.so.2, .1, .so) and BLIS (libblis.so.4, .3, .so)
//	                 that the dynamic linker finds; on macOS Accelerate, then
//	                 Homebrew's OpenBLAS
//	gonum            the pure Go implementation of gonum.org/v1/gonum
//	PATH             the shared library at that path, or of that name
//
// An implementation that is asked for by name and cannot be had is an error.
// auto prefers native: a row of a product has the same bits whatever the other rows are, with
// any library installed, or none. It never was slower than a library where both were measured.
//
// Libraries are loaded through github.com/ebitengine/purego, which makes the
// executable need the system's dynamic linker even without cgo. The build tag
// nodlopen leaves that out, the tag noasm the assembly.
//
// # Reproducibility
//
// A library runs on one thread. The product is cut into tiles of C whose size
// depends on the shape alone, and the tiles are spread over GOMAXPROCS
// goroutines: results are the same bits for every number of cores, though not
// from one implementation to another.
package blas
