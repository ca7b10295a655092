package cu

// #include "driver.h"
import "C"

import (
	"errors"

	"gorgonia.org/cu/internal/count"
)

// Stream is a queue of work on the device. NoStream, the zero value, stands for
// the main stream of the context.
type Stream struct {
	c *context
	h C.handle
}

// NoStream is the main stream of the context that is current.
var NoStream = Stream{}

// StreamFlags say how a stream is ordered against the legacy stream of CUDA.
type StreamFlags uint32

// NonBlocking streams are ordered only by events. The main stream is one.
const NonBlocking StreamFlags = 1

// use is the stream's context and handle.
func (s Stream) use() (*context, C.handle, error) {
	if s.c != nil {
		return s.c, s.h, nil
	}
	c, err := now()
	if err != nil {
		return nil, 0, err
	}
	return c, c.main, nil
}

// MakeStream makes a stream in the current context. Pass NonBlocking.
func MakeStream(flags StreamFlags) (Stream, error) {
	c, err := now()
	if err != nil {
		return Stream{}, err
	}
	s := Stream{c: c}
	err = check(C.gcn_cu_stream_create(c.handle, &s.h, C.uint(flags)), "cuStreamCreate")
	if err != nil {
		return Stream{}, err
	}
	return s, nil
}

// Destroy lets the stream go; work that is queued is still done. The main stream
// stays.
func (s Stream) Destroy() error {
	if s.c == nil || s.h == s.c.main {
		return errors.New("cu: the main stream cannot be destroyed")
	}
	return check(C.gcn_cu_stream_destroy(s.c.handle, s.h), "cuStreamDestroy")
}

// Handle is the driver's own handle, for libraries that want it.
func (s Stream) Handle() (uintptr, error) {
	_, h, err := s.use()
	return uintptr(h), err
}

// Synchronize waits until the stream has done all queued work, and returns its
// error.
func (s Stream) Synchronize() error {
	c, h, err := s.use()
	if err != nil {
		return err
	}
	count.Syncs.Add(1)
	return check(C.gcn_cu_stream_synchronize(c.handle, h), "cuStreamSynchronize")
}

// Wait makes the stream wait, on the device, for the event as last recorded. An
// event that was never recorded is not waited for.
func (s Stream) Wait(e Event) error {
	c, h, err := s.use()
	if err != nil {
		return err
	}
	return check(C.gcn_cu_stream_wait(c.handle, h, e.h), "cuStreamWaitEvent")
}

// Event is a mark in a stream.
type Event struct {
	c *context
	h C.handle
}

// EventFlags say how an event is used.
type EventFlags uint32

// DisableTiming is for an event that only orders work.
const DisableTiming EventFlags = 2

// MakeEvent makes an event in the current context.
func MakeEvent(flags EventFlags) (Event, error) {
	c, err := now()
	if err != nil {
		return Event{}, err
	}
	e := Event{c: c}
	if err := check(C.gcn_cu_event_create(c.handle, &e.h, C.uint(flags)), "cuEventCreate"); err != nil {
		return Event{}, err
	}
	return e, nil
}

var errNoEvent = errors.New("cu: an Event must come from MakeEvent")

// Destroy lets the event go.
func (e Event) Destroy() error {
	if e.c == nil {
		return errNoEvent
	}
	return check(C.gcn_cu_event_destroy(e.c.handle, e.h), "cuEventDestroy")
}

// Record puts the mark after all work that is queued on the stream now.
func (e Event) Record(s Stream) error {
	if e.c == nil {
		return errNoEvent
	}
	_, h, err := s.use()
	if err != nil {
		return err
	}
	return check(C.gcn_cu_event_record(e.c.handle, e.h, h), "cuEventRecord")
}

// Synchronize waits until the stream has come to the mark.
func (e Event) Synchronize() error {
	if e.c == nil {
		return errNoEvent
	}
	count.Syncs.Add(1)
	return check(C.gcn_cu_event_synchronize(e.c.handle, e.h), "cuEventSynchronize")
}

// Done tells whether the stream has come to the mark, without waiting.
func (e Event) Done() (bool, error) {
	if e.c == nil {
		return false, errNoEvent
	}
	r := C.gcn_cu_event_query(e.c.handle, e.h)
	if Result(r) == notReady {
		return false, nil
	}
	err := check(r, "cuEventQuery")
	return err == nil, err
}
