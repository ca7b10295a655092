// Package cu is a small replacement for gorgonia.org/cu: the part of its
// interface that Gorgonia v0.9.18 uses when it is built with the tag cuda, and
// what training on a GPU needs beside it: pinned memory, streams, events,
// captured graphs, counters. It is written from that interface; no code is
// copied.
//
//	gorgonia (-tags cuda)      github.com/gcn-layerwise/gcn (-tags cuda)
//	        │                              │
//	        ▼                              ▼
//	gorgonia.org/cu ◂── gorgonia.org/cu/blas      gorgonia.org/cu/dnn
//	        │                   │                 (nothing in it)
//	        ▼ dlopen            ▼ dlopen
//	   libcuda.so.1      libcublas.so.13, .12 or .11
//
// # What differs
//
// Nothing of NVIDIA's is needed to build, only a C compiler, which Gorgonia
// itself asks for under that tag. Both libraries are found when the first call
// is made, so that a program starts where there is no GPU; then every call
// returns ErrNoDriver or the driver's own error.
//
// A call runs when it is made, on the calling thread, in the device's primary
// context. Nothing is queued on the Go side, so there is nothing to flush. All
// work without a stream of its own (NoStream) goes to one stream of the
// context, its main stream, in the order of the calls; cuBLAS is bound to the
// same stream. Only copies to the host, BatchedContext.Errors, and what is named
// Synchronize, wait.
//
// # Contexts
//
// MakeContext gives every caller the primary context of the device, which the
// CUDA runtime, hence cuBLAS and PyTorch, use too. Memory, modules and streams
// may therefore be shared by all machines of a process. The context lives as
// long as the process.
//
// Functions that belong to no context by their receiver, such as MemAlloc, work
// in the one made last in this process; in a process that uses one GPU, that is
// always the right one. If none was made, they make that of device 0.
//
// Everything here may be called from several goroutines.
//
// # Environment
//
// GCN_CUDA names the driver library, GCN_CUBLAS the cuBLAS library; then no
// other is tried.
package cu
