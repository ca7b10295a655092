package datasets

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of an archive. It may unpack to a multiple of its own size: data sets are
// numbers and text, which are seldom packed better.
const (
	mostEntries     = 10_000
	mostDirectory   = 16 << 20 // bytes of the list of entries
	unpackedSlack   = 64 << 20
	unpackedPerByte = 40
)

// Limits of an entry's name, so that any system can keep it.
const (
	mostNameBytes   = 255 // of a file or folder
	mostNameFolders = 32
)

// unpack unpacks a zip archive into a new folder. Archives come from the network, so
// these are errors: an entry that is neither file nor folder or has another size
// than it claims; a name that leaves the folder, comes twice, or is impossible on
// some systems; too many entries or too many bytes. report, if not nil, is called with the
// number of bytes written.
func unpack(ctx context.Context, archive, dir string, report func(done, total int64)) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("datasets: %s: %w", archive, fmt.Errorf(format, args...))
	}
	f, err := os.Open(archive)
	if err != nil {
		return fail("%w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fail("%w", err)
	}
	content := &meteredReader{f, mostDirectory}
	z, err := zip.NewReader(content, info.Size())
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are checked below
		return fail("%w", err)
	}
	content.left = math.MaxInt64
	if err := checkEntries(z.File, info.Size()); err != nil {
		return fail("%w", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fail("%w", err)
	}
	root, err := os.OpenRoot(dir) // keeps all names inside the folder
	if err != nil {
		return fail("%w", err)
	}
	defer root.Close()
	count := &countingReader{report: report}
	for _, entry := range z.File {
		count.total += int64(entry.UncompressedSize64)
	}
	for _, entry := range z.File {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := unpackEntry(ctx, root, entry, count); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fail("entry %.80q: %w", entry.Name, err)
		}
	}
	return nil
}

// meteredReader fails once it has read more than left bytes. An archive's directory
// is read whole before its length is known.
type meteredReader struct {
	r    io.ReaderAt
	left int64
}

func (m *meteredReader) ReadAt(p []byte, at int64) (int, error) {
	if m.left -= int64(len(p)); m.left < 0 {
		return 0, fmt.Errorf("a directory of more than %d bytes", mostDirectory)
	}
	return m.r.ReadAt(p, at)
}

// checkEntries checks the entries of an archive of size bytes, before any is
// unpacked.
func checkEntries(entries []*zip.File, size int64) error {
	if len(entries) > mostEntries {
		return fmt.Errorf("%d entries, at most %d are unpacked", len(entries), mostEntries)
	}
	left := uint64(unpackedSlack + unpackedPerByte*size)
	most := left
	names := map[string]entryName{}
	for _, entry := range entries {
		name, kind := strings.TrimSuffix(entry.Name, "/"), entry.Mode()
		err := checkEntryName(name)
		switch {
		case err != nil:
		case !kind.IsRegular() && !kind.IsDir():
			err = errors.New("is neither file nor folder")
		case kind.IsDir() != strings.HasSuffix(entry.Name, "/"):
			err = errors.New("has a name and a kind that disagree")
		case entry.UncompressedSize64 > left:
			return fmt.Errorf("more than %d bytes unpacked, of %d", most, size)
		default:
			err = addEntryName(names, name, kind.IsDir())
		}
		if err != nil {
			return fmt.Errorf("entry %.80q %w", entry.Name, err)
		}
		left -= entry.UncompressedSize64
	}
	return nil
}

// checkEntryName checks the name of an entry, without the slash at its end.
func checkEntryName(name string) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name {
		return errors.New("lies outside the folder")
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || strings.ContainsAny(name, `\:*?"<>|`) {
		return errors.New("has a character that not all systems have in names")
	}
	words := strings.Split(name, "/")
	if len(words) > mostNameFolders {
		return fmt.Errorf("lies in %d folders, at most %d are made", len(words)-1, mostNameFolders-1)
	}
	for _, word := range words {
		if len(word) > mostNameBytes {
			return fmt.Errorf("has a name of %d bytes, at most %d are possible", len(word), mostNameBytes)
		}
	}
	return nil
}

// entryName is the name of a file or folder in an archive.
type entryName struct {
	name   string
	folder bool
}

// addEntryName adds the name of an entry, and the names of its folders, to names. The
// keys are in lower case: some systems do not tell it from upper case.
func addEntryName(names map[string]entryName, name string, folder bool) error {
	for end := range len(name) + 1 {
		if end < len(name) && name[end] != '/' {
			continue
		}
		part := entryName{name[:end], folder || end < len(name)}
		key := strings.ToLower(part.name)
		other, found := names[key]
		switch {
		case !found:
			names[key] = part
		case other.name != part.name:
			return fmt.Errorf("differs from %.80q in upper and lower case alone", other.name)
		case other.folder != part.folder:
			return fmt.Errorf("makes %.80q a file and a folder", part.name)
		case !part.folder:
			return errors.New("comes twice")
		}
	}
	return nil
}

func unpackEntry(ctx context.Context, root *os.Root, entry *zip.File, count *countingReader) (err error) {
	name := filepath.FromSlash(strings.TrimSuffix(entry.Name, "/"))
	if entry.Mode().IsDir() {
		return root.MkdirAll(name, 0o755)
	}
	if parent := filepath.Dir(name); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return err
		}
	}
	content, err := entry.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if closing := f.Close(); err == nil {
			err = closing
		}
	}()
	size := int64(entry.UncompressedSize64)
	count.r = contextReader{ctx, io.LimitReader(content, size+1)}
	n, err := io.Copy(f, count)
	if err == nil && n != size {
		err = fmt.Errorf("%d bytes or more, its header says %d", n, size)
	}
	return err
}
