//go:build unix

package filelock

import "golang.org/x/sys/unix"

const taken = unix.EWOULDBLOCK

func lock(fd uintptr) error { return unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB) }
