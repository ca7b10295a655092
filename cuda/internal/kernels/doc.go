// Package kernels knows the CUDA kernels of this project: where the source of
// each module lies, where its PTX, and whether the two agree.
//
//	*.cu ──clang (go run ./cuda/ptx)──▸ *.ptx, committed ──go:embed──▸ the driver
//	  │                                   ▲
//	  └──g++ (package emulator)           └ Check: hash of the source in the header
//
// A PTX file starts with comments that name every source file that went into it
// with its SHA-256, and hold that of the PTX below them. Whoever changes a kernel
// and forgets to compile it fails a test that needs no compiler, and fails again
// on the emulated driver, which refuses such PTX.
package kernels
