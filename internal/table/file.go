package table

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/gcn-layerwise/gcn/internal/regularfile"
)

const (
	blockSize   = 1 << 20 // bytes parsed at a time
	longestLine = 1 << 24 // bytes in a line
)

// File is an open file of text or Parquet. It is read once, from its start to its end.
type File struct {
	Path    string
	Parquet bool // the first line has the names of the columns, and lines are rows

	// LeftOut names the columns of lists and records of a Parquet file, which are not read.
	LeftOut []string

	// Text is the unpacked text, for a reader that needs no lines. It must not be mixed with
	// Scan and EachRows.
	Text *bufio.Reader

	// Scan sets the rest.
	Sep     byte
	Width   int      // cells of a line of data
	First   [][]byte // cells of the first line of data
	Line    int64    // its number, from 1
	Skipped int64    // lines of comments so far

	comments string // "1": every line that begins with a sign is one; "0": none is
	first    Block  // the first line of data
	head     Block  // the lines after it that are in memory

	file   *os.File
	source func() (Block, error) // of the blocks after head; the error after the last one is io.EOF
	number int64                 // of the next line
}

// Open opens a file of text, and reads the beginning. The text must be UTF-8; its byte-order
// mark is left out. A table may be a Parquet file, and is no JSON.
func Open(path string, table bool) (*File, error) {
	file, err := regularfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	f := &File{Path: path, file: file, number: 1}
	if err := f.start(table); err != nil {
		f.Close()
		return nil, fmt.Errorf("datasets: %s: %w", path, err)
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// start finds out how the file is packed, and what it holds.
func (f *File) start(table bool) error {
	packed := bufio.NewReaderSize(f.file, 1<<18)
	start, err := packed.Peek(4)
	var text io.Reader = packed
	switch {
	case err != nil && err != io.EOF:
		return err
	case table && string(start) == "PAR1":
		return f.openParquet()
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		if text, err = gzip.NewReader(packed); err != nil {
			return cutShort(err)
		}
	case string(start) == "\x28\xb5\x2f\xfd":
		const window = 128 << 20 // bytes that a frame may refer to, as the program zstd allows
		// With a concurrency of 1 there is no goroutine to close.
		if text, err = zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window)); err != nil {
			return err
		}
	}
	f.Text, f.source = bufio.NewReaderSize(text, 1<<18), f.nextText
	start, _ = f.Text.Peek(4096) // an error of reading comes again with the next read
	if mark := []byte("\xef\xbb\xbf"); bytes.HasPrefix(start, mark) {
		start = start[len(mark):]
		f.Text.Discard(len(mark)) // they are in the buffer
	}
	return recognise(f.Path, start, table)
}

// cutShort says that the data of a packed file end too early.
func cutShort(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("packed data cut short")
	}
	return err
}

// nextText returns the next block of a text. It ends with a line.
func (f *File) nextText() (Block, error) {
	block := bytes.NewBuffer(make([]byte, 0, blockSize+1<<12)) // with room for the end of a line
	_, err := io.CopyN(block, f.Text, blockSize)
	data := block.Bytes()
	for err == nil && data[len(data)-1] != '\n' && len(data) <= blockSize+longestLine {
		var rest []byte
		if rest, err = f.Text.ReadSlice('\n'); err == bufio.ErrBufferFull {
			err = nil
		}
		data = append(data, rest...)
	}
	b := Block{Number: f.number, Data: data}
	f.number += int64(bytes.Count(data, []byte{'\n'}))
	switch {
	case err != nil && err != io.EOF:
		return Block{}, fmt.Errorf("datasets: %s: after line %d: %w", f.Path, f.number-1, cutShort(err))
	case len(data) > blockSize+longestLine:
		return Block{}, fmt.Errorf("datasets: %s:%d: line of more than %d bytes", f.Path, f.number, longestLine)
	case len(data) == 0:
		return Block{}, io.EOF
	}
	return b, nil
}
