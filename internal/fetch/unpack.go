package fetch

import (
	"archive/zip"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode"
)

// An archive may unpack to a multiple of its own size: data sets are numbers and text,
// which are seldom packed better.
const (
	unpackedSlack   = 64 << 20
	unpackedPerByte = 40
)

// unpack unpacks a zip archive into a new folder. An archive comes from the network: a name
// that leaves the folder or that some systems do not have, an entry that is neither file nor
// folder, and too many bytes are errors before anything is written. show is called with
// the number of bytes read. The error names no archive.
func unpack(ctx context.Context, archive, dir string, show func(done, total int64)) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	done, size := int64(0), info.Size()
	z, err := zip.NewReader(progressAt{f, func(n int) error {
		done += int64(n)
		show(min(done, size), size) // the directory is read twice
		return ctx.Err()
	}}, size)
	if err != nil {
		return err
	}
	most, total := uint64(unpackedSlack+unpackedPerByte*size), uint64(0)
	for _, entry := range z.File {
		name := strings.TrimSuffix(entry.Name, "/")
		switch {
		case !fs.ValidPath(name) || strings.ContainsFunc(name, isOdd):
			return fmt.Errorf("entry %.80q: not the name of a file inside a folder on every system", entry.Name)
		case !entry.Mode().IsRegular() && !entry.Mode().IsDir():
			return fmt.Errorf("entry %.80q is neither file nor folder", entry.Name)
		case entry.UncompressedSize64 > most-total:
			return fmt.Errorf("more than %d bytes unpacked, of %d", most, size)
		}
		total += entry.UncompressedSize64 // the reader of an entry with more bytes fails
	}
	return os.CopyFS(dir, z)
}

// isOdd tells whether a character is missing in the names of files on some systems, or
// spoils a line of text.
func isOdd(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune(`\:*?"<>|`, r) }

// progress is a writer that is called with the number of bytes. Its error ends the copying.
type progress func(n int) error

func (p progress) Write(b []byte) (int, error) { return len(b), p(len(b)) }

// progressAt calls seen after each read.
type progressAt struct {
	r    io.ReaderAt
	seen progress
}

func (p progressAt) ReadAt(b []byte, at int64) (int, error) {
	n, err := p.r.ReadAt(b, at)
	return n, cmp.Or(p.seen(n), err)
}
