//go:build !linux

package mpi

import "time"

func pause(d time.Duration) { time.Sleep(d) }
