package session

import (
	"bytes"
	"io"
	"os"
	"sync"
)

// A Stream carries a cell's printed output through a pipe to Jupyter. Displays do not
// pass through it: Flush makes a display wait for output that was printed before.
type Stream struct {
	pipe *os.File // the end that the cell writes to

	mu      sync.Mutex    // one Flush at a time
	reached chan struct{} // the mark has come through
	done    chan struct{} // nothing more will
}

// NewStream returns the stream that is written to pipe. Forward must be called.
func NewStream(pipe *os.File) *Stream {
	return &Stream{pipe: pipe, reached: make(chan struct{}, 1), done: make(chan struct{})}
}

// Flush sends mark through the pipe. The reader takes it out.
var mark = []byte("\x00\x01gcn-kernel-flush\x01\x00")

// Flush returns when all that was written before has been forwarded, or when the
// cell is over.
func (s *Stream) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.pipe.Write(mark); err != nil {
		return // closed: the cell is over
	}
	select {
	case <-s.reached:
	case <-s.done:
	}
}

// Forward copies from the pipe's other end to dst until it is closed or dst fails.
func (s *Stream) Forward(dst io.Writer, src io.Reader) {
	defer close(s.done)
	buffer := make([]byte, 0, 32<<10)
	for {
		n, err := src.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		for {
			before, after, found := bytes.Cut(buffer, mark)
			if !found {
				break
			}
			if !forward(dst, before) {
				return
			}
			s.reached <- struct{}{}
			buffer = append(buffer[:0], after...)
		}
		kept := 0 // the beginning of a mark waits for its rest
		if err == nil {
			kept = overlap(buffer, mark)
		}
		if !forward(dst, buffer[:len(buffer)-kept]) || err != nil {
			return
		}
		buffer = append(buffer[:0], buffer[len(buffer)-kept:]...)
	}
}

// forward reports whether there was nothing to write, or that could be written.
func forward(dst io.Writer, text []byte) bool {
	if len(text) == 0 {
		return true
	}
	_, err := dst.Write(text)
	return err == nil
}

// overlap returns how many of the last bytes of text are the first of mark, but
// not all of it.
func overlap(text, mark []byte) int {
	for n := min(len(text), len(mark)-1); n > 0; n-- {
		if bytes.HasSuffix(text, mark[:n]) {
			return n
		}
	}
	return 0
}

// Data is a display for Jupyter; gophernotes has the same type.
type Data = struct {
	Data      map[string]any
	Metadata  map[string]any
	Transient map[string]any
}

// InOrder returns a display function that shows data after the output that the cell
// printed before.
func InOrder(display func(Data) error, streams ...*Stream) func(Data) error {
	return func(data Data) error {
		for _, s := range streams {
			s.Flush()
		}
		return display(data)
	}
}
