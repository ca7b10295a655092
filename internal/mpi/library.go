package mpi

import (
	"fmt"
	"unsafe"
)

// handle is a value of an opaque MPI type: an int in MPICH, an address elsewhere. The
// calling conventions pass both alike.
type handle uintptr

// library is a loaded MPI library. Its functions return 0, or an error code.
type library struct {
	version string // as the library names itself

	world, float handle // MPI_COMM_WORLD, MPI_FLOAT
	serialized   int32  // MPI_THREAD_SERIALIZED

	initThread  func(argc, argv unsafe.Pointer, required int32, provided *int32) int32
	finalize    func() int32
	abort       func(comm handle, code int32) int32
	commRank    func(comm handle, rank *int32) int32
	commSize    func(comm handle, size *int32) int32
	isend       func(data unsafe.Pointer, count int32, datatype handle, to, tag int32, comm handle, request *handle) int32
	irecv       func(data unsafe.Pointer, count int32, datatype handle, from, tag int32, comm handle, request *handle) int32
	recv        func(data unsafe.Pointer, count int32, datatype handle, from, tag int32, comm handle, status unsafe.Pointer) int32
	iprobe      func(from, tag int32, comm handle, there *int32, status unsafe.Pointer) int32
	test        func(request *handle, done *int32, status unsafe.Pointer) int32
	errorString func(code int32, text *byte, length *int32) int32

	exit func(code int32) // C's
}

// failure returns the error of a call that returned code, or nil.
func (l *library) failure(call string, code int32) error {
	if code == 0 {
		return nil
	}
	text := make([]byte, 1<<10) // the standard's limit is 512
	var length int32
	if l.errorString(code, &text[0], &length) != 0 {
		length = 0
	}
	return fmt.Errorf("mpi: %s: error %d: %s", call, code, text[:min(max(int(length), 0), len(text))])
}
