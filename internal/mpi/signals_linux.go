package mpi

import (
	"syscall"
	"unsafe"
)

// signalActions are the kernel's actions for all signals, in its own layout.
type signalActions [65][64]byte

// saveSignals returns the actions of all signals. MPICH's transport replaces some of
// Go's handlers while it is loaded. Without them a nil dereference that Go would recover
// from kills the process, and profiling signals arrive on the wrong stack. So Open puts
// them back.
func saveSignals() (a signalActions) {
	for signal := 1; signal < len(a); signal++ {
		syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(signal), 0, uintptr(unsafe.Pointer(&a[signal])), 8, 0, 0)
	}
	return a
}

func (a *signalActions) restore() {
	for signal := 1; signal < len(a); signal++ {
		syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(signal), uintptr(unsafe.Pointer(&a[signal])), 0, 8, 0, 0)
	}
}
