package serve

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/filelock"
	"github.com/gcn-layerwise/gcn/internal/regularfile"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/train"
)

// LogFile is the name of the log in a run's folder.
const LogFile = "changes.log"

// changeLog is the file of all changes, one a line: the CRC-32C of the text in hexadecimal, a
// space, and the change as JSON. The first line says which data the changes belong to. A line
// that ends at a line feed was answered, or was about to be. Without a file nothing is kept.
type changeLog struct {
	file   logFile
	size   int64
	broken error // what the file holds is not known, or it is closed
}

// logFile is an *os.File.
type logFile interface {
	io.WriteCloser
	Sync() error
	Truncate(size int64) error
}

// headOf returns the text of the first line of a log of changes of d.
func headOf(d *datasets.Data) []byte {
	return fmt.Appendf(nil, `{"schema":1,"data":%q,"nodes":%d,"edges":%d}`, train.Fingerprint(d), d.Nodes(), d.Edges())
}

// openLog opens the log at path, or makes it, and makes the changes in it. It cuts off a last
// line without its end: that change was not answered. The error names the file and the line. No
// other process can open the log until it is closed, also after an error.
func (s *Server) openLog(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	s.log.file = file
	if err = filelock.Try(file); err == nil {
		s.log.size, err = s.replay(file, path)
	}
	if err == nil {
		err = file.Truncate(s.log.size)
	}
	if err != nil || s.log.size > 0 {
		return err
	}
	if folder, failed := os.Open(filepath.Dir(path)); failed == nil { // the name of a new file
		_ = folder.Sync() // not all systems can
		_ = folder.Close()
	}
	return s.log.append(record(nil, headOf(s.data)))
}

// replay makes the changes of a log, in one version, and returns the size of the whole lines.
func (s *Server) replay(file io.Reader, path string) (size int64, err error) {
	lines, head, next := bufio.NewReaderSize(file, 1<<20), headOf(s.data), s.draft()
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			s.now.Store(next)
			return size, next.graph.Finish()
		}
		text, damaged := checked(line)
		switch err = cmp.Or(err, damaged); {
		case err != nil:
		case n > 1:
			var c *change
			if c, err = s.readChange(text); err == nil {
				err = s.apply(next, c)
			}
		case !bytes.Equal(text, head):
			err = fmt.Errorf("the changes are of other data: of %s, and here are %s", text, head)
		}
		if err != nil {
			return 0, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		size += int64(len(line))
	}
}

// record appends a line to b.
func record(b, text []byte) []byte {
	return fmt.Appendf(b, "%08x %s\n", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)), text)
}

// checked returns the text of a line.
func checked(line []byte) ([]byte, error) {
	_, text, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	if !bytes.Equal(line, record(nil, text)) {
		return nil, errors.New("the line is damaged: its checksum does not fit. Take a copy of the file, cut it before this line to go back to the changes before")
	}
	return text, nil
}

// append writes records and waits until they are on disk. After an error, which wraps
// errUnavailable, the log is as before, or broken if that is not known.
func (l *changeLog) append(records []byte) error {
	if l.file == nil || len(records) == 0 {
		return nil
	}
	written, err := l.file.Write(records)
	if err == nil {
		err = l.file.Sync()
	}
	if err == nil {
		l.size += int64(written)
		return nil
	}
	// After a failed fsync the system may have dropped the records from its cache.
	if failed := l.file.Truncate(l.size); failed != nil || written == len(records) {
		l.broken = fmt.Errorf("%w: the log failed before, start the server again: %w", errUnavailable, cmp.Or(failed, err))
	}
	return fmt.Errorf("%w: %w", errUnavailable, err)
}

// Scheme is the SPEC serve:DIR for datasets.Options.Schemes: the data of the run in the folder DIR
// with the changes in its log. A server may be at work meanwhile.
func Scheme() datasets.Scheme {
	return datasets.Scheme{
		Name: "serve", Path: "DIR", Summary: "the data of a run, with the changes that gcn serve made",
		Open: func(ctx context.Context, spec *datasets.Spec, _ datasets.Options) (*datasets.Data, error) {
			opened, err := run.Open(ctx, spec.Path, run.OpenOptions{})
			if err != nil {
				return nil, err
			}
			defer opened.Data.Close() // it was only read
			s, err := unchanged(opened.Data)
			if err != nil {
				return nil, err
			}
			path := filepath.Join(spec.Path, LogFile)
			file, err := regularfile.Open(path)
			if err != nil {
				return nil, fmt.Errorf("serve: gcn serve has made no changes: %w", err)
			}
			defer file.Close()
			if _, err := s.replay(file, path); err != nil {
				return nil, fmt.Errorf("serve: %w", err)
			}
			return s.Data()
		},
	}
}
