package table

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
)

const (
	blockSize   = 1 << 20 // bytes parsed at a time
	longestLine = 1 << 24 // bytes in a line
)

// ErrNoData is the error of a file without a line of data.
var ErrNoData = errors.New("it holds no data")

// File is an open file of text or Parquet. It is read once, from its start to its end.
type File struct {
	Path    string
	Parquet bool // the first line has the names of the columns, and lines are rows

	// LeftOut names the columns of lists and records of a Parquet file, which are not read.
	LeftOut []string

	// Scan sets the rest.
	Sep     byte
	Width   int      // cells of a line of data
	First   [][]byte // cells of the first line of data
	Line    int64    // its number, from 1
	Skipped atomic.Int64

	comments string // "1": every line that begins with a sign is one; "0": none is
	started  bool   // head and headErr are what is read already
	head     Block
	headErr  error

	file   *os.File
	zstd   *zstd.Decoder
	text   io.Reader
	source interface{ next() (Block, error) }
}

// Open opens a file of text, and reads the beginning. The text must be UTF-8; its byte-order
// mark is left out.
func Open(path string) (*File, error) { return open(path, false) }

// OpenTable is Open for a table, which may be a Parquet file.
func OpenTable(path string) (*File, error) { return open(path, true) }

func open(path string, parquet bool) (*File, error) {
	file, err := regularfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	f := &File{Path: path, file: file}
	if err := f.start(parquet); err != nil {
		f.Close()
		return nil, fmt.Errorf("datasets: %s: %w", path, err)
	}
	return f, nil
}

// begin reads the first block.
func (f *File) begin() {
	if !f.started {
		f.started = true
		f.head, f.headErr = f.source.next()
	}
}

// Close closes the file.
func (f *File) Close() error {
	if f.zstd != nil {
		f.zstd.Close()
	}
	return f.file.Close()
}

// start finds out how the file is packed.
func (f *File) start(parquet bool) error {
	buffered := bufio.NewReaderSize(f.file, 1<<18)
	start, err := buffered.Peek(4)
	if err != nil && err != io.EOF {
		return err
	}
	switch {
	case parquet && bytes.Equal(start, []byte("PAR1")):
		f.Parquet = true
		f.source, err = openParquet(f)
		return err
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return cutShort("gzip", err)
		}
		buffered = bufio.NewReaderSize(unpacked{z, "gzip"}, 1<<18)
	case bytes.Equal(start, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		const window = 128 << 20 // bytes that a frame may refer to, as the program zstd allows
		f.zstd, err = zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
		if err != nil {
			return err
		}
		buffered = bufio.NewReaderSize(unpacked{f.zstd, "zstd"}, 1<<18)
	}
	if err := skipByteOrderMark(buffered); err != nil {
		return err
	}
	start, _ = buffered.Peek(4096)
	if err := recognise(f.Path, start, foreignFormats); err != nil {
		return err
	}
	f.text, f.source = buffered, &textSource{path: f.Path, r: buffered, number: 1}
	return nil
}

// skipByteOrderMark skips UTF-8's byte-order mark, and reports the marks of other
// encodings. An error of reading comes again with the next read.
func skipByteOrderMark(r *bufio.Reader) error {
	start, _ := r.Peek(4)
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		r.Discard(3) // they are in the buffer
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return errors.New("text in UTF-16, which is not read: save it as UTF-8")
	case bytes.Equal(start, []byte("\x00\x00\xfe\xff")):
		return errors.New("text in UTF-32, which is not read: save it as UTF-8")
	}
	return nil
}

// unpacked reports a packed file that is cut short.
type unpacked struct {
	r    io.Reader
	kind string
}

func (u unpacked) Read(b []byte) (int, error) {
	n, err := u.r.Read(b)
	if err != nil && err != io.EOF {
		err = cutShort(u.kind, err)
	}
	return n, err
}

func cutShort(kind string, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New(kind + " data cut short")
	}
	return err
}

// Read reads text, for a reader that needs no lines. It must not be mixed with lines.
func (f *File) Read(b []byte) (int, error) { return f.text.Read(b) }

// next returns the next block, io.EOF after the last one.
func (f *File) next() (Block, error) {
	f.begin()
	if f.head.Data != nil {
		b := f.head
		f.head = Block{}
		return b, nil
	}
	if f.headErr != nil {
		return Block{}, f.headErr
	}
	return f.source.next()
}

// textSource cuts a text into blocks that end with a line.
type textSource struct {
	path   string
	r      io.Reader
	rest   []byte // the beginning of a line whose end has not been read
	number int64  // of the next line
	ended  bool
}

func (s *textSource) next() (Block, error) {
	for !s.ended {
		data := make([]byte, len(s.rest)+blockSize)
		n := copy(data, s.rest)
		m, err := io.ReadFull(s.r, data[n:])
		data = data[:n+m]
		s.ended = err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !s.ended {
			return Block{}, fmt.Errorf("datasets: %s: after line %d: %w", s.path, s.number+int64(bytes.Count(data, []byte{'\n'}))-1, err)
		}
		whole := len(data)
		if !s.ended {
			whole = bytes.LastIndexByte(data, '\n') + 1
		}
		if s.rest = data[whole:]; len(s.rest) > longestLine {
			return Block{}, fmt.Errorf("datasets: %s:%d: line of more than %d bytes", s.path, s.number, longestLine)
		}
		if data = data[:whole]; len(data) > 0 {
			b := Block{Path: s.path, Number: s.number, Data: data}
			s.number += int64(bytes.Count(data, []byte{'\n'}))
			return b, nil
		}
	}
	return Block{}, io.EOF
}

// NewTally returns a tally of the memory for reading a file. The file's size does not
// bound it: gzip shrinks a text by up to a thousand.
func NewTally(path string) memory.Tally {
	return memory.Tally{What: "datasets: " + path + ": reading it"}
}
