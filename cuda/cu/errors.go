package cu

// #include "driver.h"
import "C"

import (
	"errors"
	"fmt"
)

// ErrNoDriver is in the chain of every error that comes of not having found
// libcuda.
var ErrNoDriver = errors.New("no NVIDIA driver")

// Result is the result of a call of the driver that failed: a CUresult other than
// CUDA_SUCCESS. It is an error.
type Result int32

// Results that callers tell apart. The driver has a hundred more.
const (
	InvalidValue      Result = 1
	OutOfMemory       Result = 2
	NoDevice          Result = 100
	InvalidContext    Result = 201
	InvalidPTX        Result = 218
	NotFound          Result = 500
	IllegalAddress    Result = 700
	MisalignedAddress Result = 716
	LaunchFailed      Result = 719
)

// Error is the driver's name of the result, its number, and its explanation.
func (r Result) Error() string {
	name := C.gcn_cu_error_name(C.CUresult(r))
	text := C.gcn_cu_error_text(C.CUresult(r))
	switch {
	case name == nil:
		return fmt.Sprintf("CUDA error %d", int32(r))
	case text == nil:
		return fmt.Sprintf("%s (%d)", C.GoString(name), int32(r))
	}
	return fmt.Sprintf("%s (%d): %s", C.GoString(name), int32(r), C.GoString(text))
}

const notReady Result = 600

// CallError says which call of the driver failed, and how. Because kernels run
// after the call that launches them has returned, the fault may lie in an
// earlier one.
type CallError struct {
	Call   string // such as "cuMemAlloc(1024 bytes)"
	Result Result
	Log    string // messages of the compiler of PTX; else ""
}

func (e *CallError) Error() string {
	if e.Log != "" {
		return fmt.Sprintf("cu: %s: %v: %s", e.Call, e.Result, e.Log)
	}
	return fmt.Sprintf("cu: %s: %v", e.Call, e.Result)
}

// Unwrap gives the Result, so that errors.Is(err, cu.OutOfMemory) works.
func (e *CallError) Unwrap() error { return e.Result }

func check(r C.CUresult, call string) error {
	if r == 0 {
		return nil
	}
	return &CallError{Call: call, Result: Result(r)}
}

// checkf is check with a call that is only written out if it failed.
func checkf(r C.CUresult, format string, args ...any) error {
	if r == 0 {
		return nil
	}
	return &CallError{Call: fmt.Sprintf(format, args...), Result: Result(r)}
}
