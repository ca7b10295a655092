// Package cu is a small replacement for gorgonia.org/cu. It has the part of the
// interface that Gorgonia v0.9.18 uses when it is built with the tag cuda, and for
// training on a GPU pinned memory, streams, events and counters. It is written from
// that interface; no code is copied.
//
//	gorgonia (-tags cuda)      github.com/gcn-layerwise/gcn (-tags cuda)
//	        │                              │
//	        ▼                              ▼
//	gorgonia.org/cu ◂── gorgonia.org/cu/blas      gorgonia.org/cu/dnn
//	        │                   │                 (nothing in it)
//	        ▼ dlopen            ▼ dlopen
//	   libcuda.so.1      libcublas.so.13, .12 or .11
//
// # Differences
//
// Nothing of NVIDIA's is needed to build, only a C compiler, which Gorgonia
// itself asks for under that tag. Both libraries are loaded at the first call, so a
// program starts where there is no GPU. There, every call returns ErrNoDriver or the
// driver's own error, except for the calls of Gorgonia's engine; see below.
//
// A call runs when it is made, on the calling thread, in the device's primary
// context. Nothing is queued on the Go side, so there is nothing to flush. All
// work without a stream of its own (NoStream) goes to one stream of the
// context, its main stream, in the order of the calls; cuBLAS is bound to the
// same stream. Only copies to the host and methods named Synchronize wait.
//
// # Contexts
//
// MakeContext gives every caller the primary context of the device, which the
// CUDA runtime, and so cuBLAS and PyTorch, use too. Memory, modules and streams
// may therefore be shared by all machines of a process. The context lives as
// long as the process.
//
// Functions without a context as receiver, such as MemAlloc, work in the context
// that was made last in this process; in a process that uses one GPU, that is
// always the right one. If there is none, they make the context of device 0.
//
// # Gorgonia's own machines
//
// Gorgonia's compiler gives every elementwise, product and reshape node to its CUDA
// engine, so each of its machines opens device 0. Where Available is not nil, that
// device is CPU, without a context. Such nodes are not computed, with or without a GPU:
// a run of the machine returns an error. Ops that queue their own work, as those of
// package train do, need nothing of the engine but its order.
//
// Everything here may be called from several goroutines.
//
// # Environment
//
// GCN_CUDA names the driver library, GCN_CUBLAS the cuBLAS library; then no
// other is tried.
package cu
