package fetch

import (
	"archive/zip"
	"cmp"
	"context"
	"fmt"
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
// folder, and too many bytes are errors before anything is written.
func unpack(ctx context.Context, archive, dir string) error {
	info, err := os.Stat(archive)
	if err != nil {
		return err
	}
	z, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer z.Close()
	defer context.AfterFunc(ctx, func() { z.Close() })() // reading then ends
	most := uint64(unpackedSlack + unpackedPerByte*info.Size())
	total := uint64(0)
	for _, entry := range z.File {
		name := strings.TrimSuffix(entry.Name, "/")
		switch {
		case !fs.ValidPath(name) || strings.ContainsFunc(name, isOdd):
			return fmt.Errorf("entry %.80q: not the name of a file inside a folder on every system", entry.Name)
		case !entry.Mode().IsRegular() && !entry.Mode().IsDir():
			return fmt.Errorf("entry %.80q is neither file nor folder", entry.Name)
		case entry.UncompressedSize64 > most-total:
			return fmt.Errorf("more than %d bytes unpacked, of %d", most, info.Size())
		}
		total += entry.UncompressedSize64 // the reader of an entry with more bytes fails
	}
	err = os.CopyFS(dir, z)
	return cmp.Or(ctx.Err(), err)
}

// isOdd tells whether a character is missing in the names of files on some systems, or
// spoils a line of text.
func isOdd(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune(`\:*?"<>|`, r) }
