// Package kernels knows the CUDA kernels of this project: where the source of
// each module lies, where its PTX, and whether the two agree.
//
//	*.cu ──clang (go run ./cuda/ptx)──▸ *.ptx, committed ──go:embed──▸ the driver
//	  │                                   ▲
//	  └──g++ (package emulator)           └ Check: hash of the source in the header
//
// A PTX file starts with comments that name every source file that went into it
// with its SHA-256, and the SHA-256 of the PTX below them. If a kernel was changed and
// not compiled, a test fails that needs no compiler, and the emulated driver refuses
// its PTX.
package kernels
