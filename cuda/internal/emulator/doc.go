// Package emulator builds an emulated CUDA driver and cuBLAS from the project's
// own kernels with the C++ compiler of the machine, so that everything built with
// the tag cuda can be tested where there is no GPU.
//
//	internal/device/kernels.cu ───┐ with device.h
//	cuda/probe/probe.cu ──────────┤
//	their PTX, translated to C++ ─┤ with ptx.h
//	driver.cc, fiber.cc, check.cc ┴─ g++ ─▸ libcuda.so.1    ◂─ GCN_CUDA
//	cublas.cc ────────────────────── g++ ─▸ libcublas.so.13 ◂─ GCN_CUBLAS
//
// To run a command on it:
//
//	go run ./cuda/emulate go test -modfile=go.cuda.mod -tags cuda ./ops/
//
// # Errors that it shows
//
// It does everything that a GPU may do to a wrong program:
//
//   - Queued work is done only when something waits for it, and then only the work
//     that it depends on. A missing wait for an event, pinned memory that is written
//     too early, and a result that is read too soon show every time.
//   - Fresh memory, and shared memory at the start of a block, is full of 0xff:
//     NaN, or -1.
//   - Memory of the device faults when the host touches it. A kernel that leaves
//     its memory stops with CUDA_ERROR_ILLEGAL_ADDRESS, and its name, block and
//     thread are printed. A write between the end and the next multiple of 256 is
//     found when the memory is freed. An address that is not a multiple of the size
//     of its value is CUDA_ERROR_MISALIGNED_ADDRESS.
//   - A barrier or shuffle that not all of its threads reach is an error.
//   - PTX that was not compiled from the sources that the emulator was built of is
//     refused.
//
// The variable GCN_EMULATOR changes it; several words are separated by commas:
//
//	ptx           the PTX runs, instruction by instruction, and not the source
//	order=1       threads and blocks run in descending order
//	order=N       from 2 on: in some order
//	check         each access of a kernel is checked. An access one byte outside its
//	              allocation ends the kernel, and so do two threads that access one
//	              word, one of them writing, without a barrier between them; a line
//	              names the threads
//	eager         work is done when it is queued
//	early         the same on all streams but the first one made, which does only the
//	              work that they wait for: a copy that should have waited for more then
//	              overwrites values before they are read
//	pageable      copies read any memory of the host when they run, not when they
//	              are queued, as on devices that have access to it
//	devices=0     there is no device
//	memory=BYTES  it has that much, 16 GiB otherwise
//
// For check, a barrier is __syncthreads, or __syncwarp of a whole warp. Two volatile
// accesses may meet; the four bytes of a word count as one. Check takes three times
// the time, and 17 times the memory that kernels access.
//
// # Limits
//
// It cannot show errors of the assembler that makes machine code of PTX, nor speed, the
// limits of registers and shared memory, or threads that truly run at once. The last
// bits may differ from a GPU's: cuBLAS sums in its own order, the assembler may fuse
// products and sums if PTX allows it, and approximate instructions have other errors.
// There is no legacy stream, no dynamic shared memory, and there are no atomics.
package emulator
