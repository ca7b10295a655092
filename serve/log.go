package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/filelock"
)

// changeLog is the file of all changes, one a line: the CRC-32C of the text in hexadecimal, a
// space, and the change as JSON. The first line is a logHead. A line that ends at a line feed
// was answered, or was about to be.
type changeLog struct {
	file   logFile
	size   int64
	broken error // what the file holds is not known
}

// logFile is an *os.File.
type logFile interface {
	io.Writer
	io.Closer
	Sync() error
	Truncate(size int64) error
}

// logHead says which data the changes belong to.
type logHead struct {
	Schema   int   `json:"schema"`
	Nodes    int   `json:"nodes"`
	Edges    int64 `json:"edges"`
	Features int   `json:"features"`
}

func headOf(d *datasets.Data) logHead {
	return logHead{Schema: 1, Nodes: d.Nodes(), Edges: d.Edges(), Features: d.Features.Cols}
}

// openLog opens the log at path, or makes it, and calls replay for each change in it. It cuts
// off a last line without its end: that change was not answered. The error names the file and
// the line. No other process can open the log until it is closed.
func openLog(path string, head logHead, replay func(text []byte) error) (l *changeLog, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	if err := filelock.Try(file); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	size, err := readLog(file, path, head, replay)
	if err != nil {
		return nil, err
	}
	if err := file.Truncate(size); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	l = &changeLog{file: file, size: size}
	if size == 0 {
		text, _ := json.Marshal(head) // numbers only
		err = l.append(record(nil, text))
		if folder, failed := os.Open(filepath.Dir(path)); failed == nil { // the name of a new file
			_ = folder.Sync() // not all systems can
			_ = folder.Close()
		}
	}
	return l, err
}

// readLog calls replay for each change and returns the size of the whole lines.
func readLog(file io.Reader, path string, head logHead, replay func(text []byte) error) (size int64, err error) {
	lines := bufio.NewReaderSize(file, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return size, nil
		}
		if err != nil {
			return 0, fmt.Errorf("serve: %w", err)
		}
		size += int64(len(line))
		text, err := checked(line)
		if err == nil && n == 1 {
			err = head.check(text)
		} else if err == nil {
			err = replay(text)
		}
		if err != nil {
			return 0, fmt.Errorf("serve: %s:%d: %w", path, n, err)
		}
	}
}

func (h logHead) check(text []byte) error {
	var had logHead
	if err := json.Unmarshal(text, &had); err != nil {
		return err
	}
	if had != h {
		return fmt.Errorf("the changes are of other data: of %d nodes, %d edges and %d features, schema %d; here are %d, %d and %d, schema %d",
			had.Nodes, had.Edges, had.Features, had.Schema, h.Nodes, h.Edges, h.Features, h.Schema)
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record appends a line to b.
func record(b, text []byte) []byte {
	b = fmt.Appendf(b, "%08x ", crc32.Checksum(text, castagnoli))
	return append(append(b, text...), '\n')
}

// checked returns the text of a line.
func checked(line []byte) ([]byte, error) {
	sum, text, found := bytes.Cut(line[:len(line)-1], []byte(" "))
	if !found || string(sum) != fmt.Sprintf("%08x", crc32.Checksum(text, castagnoli)) {
		return nil, errors.New("the line is damaged: its checksum does not fit. Take a copy of the file, cut it before this line to go back to the changes before")
	}
	return text, nil
}

// append writes records and waits until they are on disk. After an error the log is as before;
// if that fails too, all later calls return the error.
func (l *changeLog) append(records []byte) error {
	if l.broken != nil {
		return l.broken
	}
	_, err := l.file.Write(records)
	if err == nil {
		if err = l.file.Sync(); err != nil { // the system may have dropped what it could not write
			l.broken = fmt.Errorf("serve: the log failed before, start the server again: %w", err)
		}
	}
	if err != nil {
		if failed := l.file.Truncate(l.size); failed != nil && l.broken == nil {
			l.broken = fmt.Errorf("serve: the log failed before, start the server again: %w", failed)
		}
		return fmt.Errorf("serve: the change is not in the log: %w", err)
	}
	l.size += int64(len(records))
	return nil
}
