package device

import (
	"errors"
	"testing"
)

// eventDriver makes a number of events, and then fails.
type eventDriver struct {
	driver
	left, alive int
}

func (f *eventDriver) sync() error { return nil }

func (f *eventDriver) newEvent() (event, error) {
	if f.left == 0 {
		return nil, errors.New("no more events")
	}
	f.left--
	f.alive++
	return &countedEvent{f: f}, nil
}

type countedEvent struct {
	event
	f *eventDriver
}

func (e *countedEvent) destroy() error {
	e.f.alive--
	return nil
}

// An uploader that cannot be made destroys the events that were made.
func TestNewUploaderFailsHalfWay(t *testing.T) {
	for made := range 2 * ringSize {
		f := &eventDriver{left: made}
		if _, err := (&Device{driver: f}).NewUploader(); err == nil {
			t.Errorf("an uploader with %d events", made)
		}
		if f.alive != 0 {
			t.Errorf("after a failure behind %d events, %d are left", made, f.alive)
		}
	}
}
