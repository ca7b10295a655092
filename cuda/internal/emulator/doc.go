// Package emulator builds an emulated CUDA driver and cuBLAS from the project's
// own kernels with the C++ compiler of the machine, so that everything built with
// the tag cuda can be tested where there is no GPU.
//
//	internal/device/kernels.cu ───┐ with device.h
//	Gorgonia's cuda modules ──────┤
//	their PTX, translated to C++ ─┤ with ptx.h
//	driver.cc, fiber.cc, check.cc ┴─ g++ ─▸ libcuda.so.1    ◂─ GCN_CUDA
//	cublas.cc ────────────────────── g++ ─▸ libcublas.so.13 ◂─ GCN_CUBLAS
//
// To run a command on it:
//
//	go run ./cuda/emulate go test -modfile=go.cuda.mod -tags cuda ./ops/
//
// # What it shows
//
// It is meant to be worse than a GPU in every way that a GPU may be:
//
//   - Queued work is done only when something waits for it, and only what that
//     something depends on. A wait for an event that is missing, pinned memory
//     written too early, a result read too soon all show, every time.
//   - Fresh memory, and shared memory at the start of a block, is full of 0xff:
//     NaN, or -1.
//   - Memory of the device faults when the host touches it. A kernel that leaves
//     its memory stops with CUDA_ERROR_ILLEGAL_ADDRESS, and its name, block and
//     thread are printed; what it writes between the end and the next multiple of
//     256 is found when the memory is freed. An address that is not a multiple of
//     the size of what lies there is CUDA_ERROR_MISALIGNED_ADDRESS.
//   - A barrier or shuffle that not all of its threads reach is an error.
//   - PTX that was not compiled from the sources that the emulator was built of is
//     refused.
//   - What may not be called while a stream is captured is refused.
//
// The variable GCN_EMULATOR changes it; several words are separated by commas:
//
//	ptx           what runs is the PTX, instruction by instruction, and not the source
//	order=1       threads and blocks run in descending order
//	order=N       from 2 on: in some order
//	check         each access of a kernel is looked at: one that leaves its allocation
//	              by a single byte, and two threads at one word, one of them writing,
//	              with no barrier between, end the kernel with a line that says who
//	eager         work is done when it is queued
//	early         so it is on all streams but the first one made, with only what they
//	              wait for on that one: a copy that should have waited for more then
//	              overwrites what is still to be read
//	pageable      copies read any memory of the host when they are done, not when they
//	              are queued, as on devices that have access to it
//	devices=0     there is no device
//	memory=BYTES  it has that much, 16 GiB otherwise
//
// What check takes for a barrier is __syncthreads, and __syncwarp of a whole warp;
// volatile accesses may meet each other, and bytes that share a word of four count
// as one. It takes three times the time, and memory 17 times of what is touched.
//
// # What it cannot show
//
// Errors of the assembler that makes machine code of PTX, speed, the limits of
// registers and shared memory, true simultaneity, the last bits: cuBLAS sums in an
// order of its own, the assembler may fuse products and sums that PTX leaves free,
// and approximate instructions err here otherwise than there, if no less. It has no
// legacy stream, dynamic shared memory or atomics.
package emulator
