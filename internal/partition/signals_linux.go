//go:build !nodlopen && (amd64 || arm64)

package partition

import (
	"syscall"
	"unsafe"
)

// keepSignals notes how the signals that METIS handles while it runs are
// handled now, and returns what sets them so again. METIS itself puts the
// handlers back, but not their flags, without which Go's are fatal.
func keepSignals() (restore func()) {
	type action [8]uint64 // struct sigaction of the kernel, larger than on any platform
	const maskBytes = 8
	signals := [...]syscall.Signal{syscall.SIGABRT, syscall.SIGTERM}
	var before [len(signals)]action
	for k, signal := range signals {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(signal), 0, uintptr(unsafe.Pointer(&before[k])), maskBytes, 0, 0)
		if errno != 0 {
			return func() {}
		}
	}
	return func() {
		for k, signal := range signals {
			syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(signal), uintptr(unsafe.Pointer(&before[k])), 0, maskBytes, 0, 0)
		}
	}
}
