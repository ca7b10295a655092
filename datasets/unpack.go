package datasets

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// What an archive may hold: so many entries, and bytes in all up to a multiple
// of its own size. Data sets are numbers and text, seldom packed better.
const (
	mostEntries     = 10_000
	unpackedSlack   = 64 << 20
	unpackedPerByte = 40
)

// unpack unpacks a zip archive into a new folder. Archives come from the
// network: an entry that is no plain file or folder, whose name leaves the
// folder or comes twice, or that is larger than it says, or too many or too
// large ones, are errors.
func unpack(ctx context.Context, archive, dir string) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("datasets: %s: %w", archive, fmt.Errorf(format, args...))
	}
	z, err := zip.OpenReader(archive)
	if errors.Is(err, zip.ErrInsecurePath) {
		err = nil // names are checked below, with a clearer error
	}
	if err != nil {
		return fail("%w", err)
	}
	defer z.Close()
	info, err := os.Stat(archive)
	if err != nil {
		return fail("%w", err)
	}
	if len(z.File) > mostEntries {
		return fail("%d entries, at most %d are unpacked", len(z.File), mostEntries)
	}
	left := uint64(unpackedSlack + unpackedPerByte*info.Size())
	most := left
	for _, entry := range z.File {
		name := strings.TrimSuffix(entry.Name, "/")
		kind := entry.Mode()
		switch {
		case name == "" || !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, `\:`) || path.Clean(name) != name:
			return fail("entry %.80q lies outside the folder", entry.Name)
		case !kind.IsRegular() && !kind.IsDir():
			return fail("entry %.80q is neither file nor folder", entry.Name)
		case kind.IsDir() != strings.HasSuffix(entry.Name, "/"):
			return fail("entry %.80q: name and kind disagree", entry.Name)
		case entry.UncompressedSize64 > left:
			return fail("more than %d bytes unpacked, of %d", most, info.Size())
		}
		left -= entry.UncompressedSize64
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fail("%w", err)
	}
	root, err := os.OpenRoot(dir) // nothing outside it can be reached
	if err != nil {
		return fail("%w", err)
	}
	defer root.Close()
	for _, entry := range z.File {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := unpackEntry(ctx, root, entry); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fail("entry %.80q: %w", entry.Name, err)
		}
	}
	return nil
}

func unpackEntry(ctx context.Context, root *os.Root, entry *zip.File) (err error) {
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
	n, err := io.Copy(f, contextReader{ctx, io.LimitReader(content, size+1)})
	if err == nil && n != size {
		err = fmt.Errorf("%d bytes or more, its header says %d", n, size)
	}
	return err
}
