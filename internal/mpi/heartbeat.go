package mpi

import (
	"context"
	"runtime"
	"time"
	"unsafe"
)

const (
	valuesTag = 0 // of the messages of an exchange
	beatTag   = 1 // of heartbeats
)

// heartbeat tells the other ranks at intervals that this process runs, also while it
// computes and makes no call. So a rank that computes for an hour does not count as stopped
// or cut off.
//
// Time is counted in this process's own intervals: a process that was stopped itself, or
// that had no processor, does not blame the others.
type heartbeat struct {
	interval time.Duration
	limit    int // intervals without a beat after which a rank is lost; 0: never

	silent   []int     // intervals since the last beat of each rank
	received []uint32  // beats of each rank
	sent     []uint32  // beats to each rank
	sending  []handle  // the last beat to each rank; none once it has been sent
	value    []float32 // the contents of a beat
	pinned   runtime.Pinner

	quit, done chan struct{}
}

// startHeartbeat sends beats until the World is closed.
func (w *World) startHeartbeat(timeout time.Duration) {
	b := &w.beat
	b.interval = time.Second
	if timeout > 0 {
		b.interval = min(b.interval, timeout/4)
		b.limit = int((timeout + b.interval - 1) / b.interval)
	}
	b.silent, b.received, b.sent = make([]int, w.size), make([]uint32, w.size), make([]uint32, w.size)
	b.sending, b.value = make([]handle, w.size), make([]float32, 2)
	b.pinned.Pin(&b.value[0])
	b.quit, b.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(b.done)
		ticker := time.NewTicker(b.interval)
		defer ticker.Stop()
		for {
			select {
			case <-b.quit:
				return
			case <-ticker.C:
			}
			w.calls.Lock()
			err := w.exchangeBeats()
			w.calls.Unlock()
			if err != nil { // the next exchange meets the same failure, and reports it
				return
			}
		}
	}()
}

// exchangeBeats sends one beat to each rank, and takes the beats that have come.
func (w *World) exchangeBeats() error {
	b := &w.beat
	for rank := range w.size {
		if rank == w.rank {
			continue
		}
		b.silent[rank]++
		if err := w.takeBeats(rank); err != nil {
			return err
		}
		if sent, err := w.beatSent(rank); err != nil || !sent {
			if err != nil {
				return err
			}
			continue
		}
		if err := w.lib.failure("MPI_Isend", w.lib.isend(unsafe.Pointer(&b.value[0]), 1, w.lib.float, int32(rank), beatTag, w.lib.world, &b.sending[rank])); err != nil {
			return err
		}
		b.sent[rank]++
	}
	return nil
}

// beatSent reports whether the last beat to a rank has left this process.
func (w *World) beatSent(rank int) (bool, error) {
	b := &w.beat
	if b.sent[rank] == 0 {
		return true, nil
	}
	var done int32
	err := w.lib.failure("MPI_Test", w.lib.test(&b.sending[rank], &done, unsafe.Pointer(&w.status)))
	return done != 0, err
}

// takeBeats receives the beats of a rank that have come.
func (w *World) takeBeats(rank int) error {
	b := &w.beat
	for {
		var there int32
		if err := w.lib.failure("MPI_Iprobe", w.lib.iprobe(int32(rank), beatTag, w.lib.world, &there, unsafe.Pointer(&w.status))); err != nil || there == 0 {
			return err
		}
		var value float32
		if err := w.lib.failure("MPI_Recv", w.lib.recv(unsafe.Pointer(&value), 1, w.lib.float, int32(rank), beatTag, w.lib.world, unsafe.Pointer(&w.status))); err != nil {
			return err
		}
		b.received[rank]++
		b.silent[rank] = 0
	}
}

// timeout is the time without a beat after which a rank is lost; 0: never.
func (b *heartbeat) timeout() time.Duration { return time.Duration(b.limit) * b.interval }

// settleBeats receives all beats that other ranks have sent, since none may be under way
// when MPI ends.
func (w *World) settleBeats(ctx context.Context) error {
	b := &w.beat
	want := make([]uint32, w.size)
	send, receive := make([][]float32, w.size), make([][]float32, w.size)
	for rank := range w.size {
		send[rank] = asFloats(b.sent[rank : rank+1])
		receive[rank] = asFloats(want[rank : rank+1])
	}
	if err := w.exchange(ctx, send, receive); err != nil {
		return err
	}
	for rank := range w.size {
		for left := rank != w.rank; left; {
			if err := w.takeBeats(rank); err != nil {
				return err
			}
			sent, err := w.beatSent(rank)
			if err != nil {
				return err
			}
			if left = !sent || b.received[rank] < want[rank]; left {
				pause(shortestPause)
				if err := ctx.Err(); err != nil {
					return err
				}
			}
		}
	}
	b.pinned.Unpin()
	return nil
}

func asFloats(values []uint32) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}
