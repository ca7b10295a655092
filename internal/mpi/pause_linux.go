package mpi

import (
	"syscall"
	"time"
)

// pause sleeps for d. Go's timers wait in epoll, whose timeout is in whole milliseconds: if
// the process has nothing else to do, time.Sleep(20µs) takes more than a millisecond, as long
// as a training step.
func pause(d time.Duration) {
	if d >= time.Millisecond {
		time.Sleep(d)
		return
	}
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil) // a signal ends it early, which does no harm
}
