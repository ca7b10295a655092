package datasets

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/memory"
)

// packed is one entry of an archive.
type packed struct {
	name    string
	mode    fs.FileMode // 0: a plain file
	content []byte
	size    uint32 // that the archive says it has; 0: its own
}

// archiveOf packs entries, good or bad, in their order.
func archiveOf(t testing.TB, entries ...packed) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.mode == 0 {
			e.mode = 0o644
		}
		header.SetMode(e.mode)
		w, err := z.CreateHeader(header)
		if err == nil && !strings.HasSuffix(e.name, "/") {
			_, err = w.Write(e.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	archive := b.Bytes()
	for _, e := range entries {
		if e.size > 0 { // in the directory, behind the entries
			at := bytes.LastIndex(archive, []byte(e.name)) - 46
			binary.LittleEndian.PutUint32(archive[at+24:], e.size)
		}
	}
	return archive
}

// longDirectory returns an archive that holds only a directory of many entries, and
// claims that it has few.
func longDirectory(entries int) []byte {
	header := make([]byte, 47)
	copy(header, "PK\x01\x02")
	header[28] = 1 // byte of name
	header[46] = 'a'
	b := bytes.Repeat(header, entries)
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	binary.LittleEndian.PutUint16(end[8:], uint16(entries))
	binary.LittleEndian.PutUint16(end[10:], uint16(entries))
	binary.LittleEndian.PutUint32(end[12:], uint32(len(b)))
	return append(b, end...)
}

// badArchive is an archive that must not be unpacked, with words of the error.
type badArchive struct {
	name    string
	archive []byte
	words   string
}

func badArchives(t testing.TB) []badArchive {
	x := []byte("x")
	long := strings.Repeat("n", 256)
	many := make([]packed, mostEntries+1)
	for k := range many {
		many[k].name = fmt.Sprint(k)
	}
	one := archiveOf(t, packed{name: "file", content: x})
	unknown := bytes.Clone(one)
	unknown[bytes.LastIndex(unknown, []byte("PK\x01\x02"))+10] = 99
	spoiled := archiveOf(t, packed{name: "file", content: []byte("some words to pack, some words to pack")})
	binary.LittleEndian.PutUint32(spoiled[bytes.LastIndex(spoiled, []byte("PK\x01\x02"))+16:], crc32.ChecksumIEEE(x))
	return []badArchive{
		{"up", archiveOf(t, packed{name: "../evil", content: x}), "../evil"},
		{"up inside", archiveOf(t, packed{name: "a/../../evil", content: x}), "a/../../evil"},
		{"up and down", archiveOf(t, packed{name: "a/../b", content: x}), "a/../b"},
		{"absolute", archiveOf(t, packed{name: "/tmp/evil", content: x}), "/tmp/evil"},
		{"backslash", archiveOf(t, packed{name: `..\evil`, content: x}), "evil"},
		{"drive", archiveOf(t, packed{name: `C:evil`, content: x}), "C:evil"},
		{"empty name", archiveOf(t, packed{name: "", content: x}), `entry ""`},
		{"odd name", archiveOf(t, packed{name: "a//b", content: x}), "a//b"},
		{"a dot", archiveOf(t, packed{name: "./a", content: x}), "./a"},
		{"link", archiveOf(t, packed{name: "link", mode: fs.ModeSymlink | 0o777, content: []byte("/etc/passwd")}), `"link"`},
		{"link, and a file in it", archiveOf(t, packed{name: "link", mode: fs.ModeSymlink | 0o777, content: []byte("/tmp")}, packed{name: "link/evil", content: x}), `"link"`},
		{"pipe", archiveOf(t, packed{name: "pipe", mode: fs.ModeNamedPipe | 0o644}), `"pipe"`},
		{"device", archiveOf(t, packed{name: "dev", mode: fs.ModeDevice | 0o644}), `"dev"`},
		{"twice", archiveOf(t, packed{name: "dir/a", content: x}, packed{name: "dir/a", content: []byte("y")}), `"dir/a",comes twice`},
		{"twice except for the case", archiveOf(t, packed{name: "dir/a", content: x}, packed{name: "dir/A", content: x}), `"dir/A","dir/a"`},
		{"folders alike but for the case", archiveOf(t, packed{name: "dir/a", content: x}, packed{name: "DIR/b", content: x}), `"DIR/b","dir"`},
		{"file, then folder", archiveOf(t, packed{name: "a", content: x}, packed{name: "a/b", content: x}), `"a/b","a"`},
		{"folder, then file", archiveOf(t, packed{name: "a/b", content: x}, packed{name: "a", content: x}), `entry "a"`},
		{"file and empty folder", archiveOf(t, packed{name: "a", content: x}, packed{name: "a/"}), `entry "a/"`},
		{"long name", archiveOf(t, packed{name: long, content: x}), "nnn,256 bytes"},
		{"long name of a folder", archiveOf(t, packed{name: long + "/a", content: x}), "nnn,256 bytes"},
		{"long path", archiveOf(t, packed{name: strings.Repeat("folder/", 900) + "a", content: x}), "folder/folder/"},
		{"deep path", archiveOf(t, packed{name: strings.Repeat("d/", 100) + "a", content: x}), "d/d/d/"},
		{"NUL", archiveOf(t, packed{name: "a\x00b", content: x}), `a\x00b`},
		{"control character", archiveOf(t, packed{name: "a\x1b[2Jb", content: x}), `a\x1b[2Jb`},
		{"line break", archiveOf(t, packed{name: "a\nb", content: x}), `a\nb`},
		{"question mark", archiveOf(t, packed{name: "a?b/raw", content: x}), `a?b`},
		{"no UTF-8", archiveOf(t, packed{name: "a\xffb", content: x}), `a\xffb`},
		{"larger than it says", archiveOf(t, packed{name: "file", content: bytes.Repeat([]byte("abc"), 1000), size: 10}), `"file"`},
		{"smaller than it says", archiveOf(t, packed{name: "file", content: bytes.Repeat([]byte("abc"), 1000), size: 4000}), `"file"`},
		{"bomb", archiveOf(t, packed{name: "bomb", content: make([]byte, unpackedSlack+unpackedSlack/2)}), "bytes unpacked"},
		{"huge by its own word", archiveOf(t, packed{name: "a", content: x, size: 1<<32 - 2}), "bytes unpacked"},
		{"many", archiveOf(t, many...), "10001 entries"},
		{"long directory", longDirectory(1 << 19), "directory of more than"},
		{"unknown compression", unknown, `"file"`},
		{"wrong checksum", spoiled, `"file"`},
		{"not a zip", []byte("PK"), "not a valid zip"},
		{"cut", one[:60], "not a valid zip"},
		{"marker is a file", archiveOf(t, packed{name: "arxiv/raw", content: x}), ""},
		{"files are folders", archiveOf(t, packed{name: "arxiv/raw/edge.csv.gz/"}, packed{name: "arxiv/raw/num-node-list.csv.gz/"}), ""},
	}
}

func TestUnpackHostile(t *testing.T) {
	for _, c := range badArchives(t) {
		if c.words == "" {
			continue // it can be unpacked, but not read
		}
		t.Run(c.name, func(t *testing.T) {
			outer := t.TempDir()
			path := filepath.Join(outer, "in", "a.zip")
			write(t, path, c.archive)
			dir := filepath.Join(outer, "in", "out")
			err := unpack(context.Background(), path, dir, nil)
			if err == nil {
				t.Fatal("unpacked")
			}
			for _, word := range strings.Split(c.words, ",") {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error does not mention %s: %v", word, err)
				}
			}
			if strings.ContainsAny(err.Error(), "\n\x00\x1b") || len(err.Error()) > 1000 {
				t.Errorf("no line to print: %.2000q", err)
			}
			if left, _ := filepath.Glob(filepath.Join(outer, "*")); len(left) != 1 {
				t.Errorf("outside: %q", left)
			}
			if left, _ := filepath.Glob(filepath.Join(outer, "in", "*")); len(left) > 2 {
				t.Errorf("outside: %q", left)
			}
		})
	}
}

// A bad archive is downloaded again by the next call, which may find a good one.
func TestFetchBadArchives(t *testing.T) {
	for _, c := range badArchives(t) {
		t.Run(c.name, func(t *testing.T) {
			p := newMirror(t)
			want := provide(t, p, "ogbn-arxiv")
			good := p.files["/ogbn-arxiv/arxiv.zip"]
			p.files["/ogbn-arxiv/arxiv.zip"] = c.archive
			cache := t.TempDir()
			_, err := fetcherOf(p, cache).fetch(context.Background(), "ogbn-arxiv")
			if err == nil || !strings.Contains(err.Error(), "the downloaded files cannot be used") {
				t.Errorf("error %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(cache, "downloads", "ogbn-arxiv", "*")); len(left) > 0 {
				t.Errorf("kept: %q", left)
			}
			p.files["/ogbn-arxiv/arxiv.zip"] = good
			if _, err := fetcherOf(p, cache).fetch(context.Background(), "ogbn-arxiv"); err != nil {
				t.Fatalf("afterwards: %v", err)
			}
			d, err := Open(context.Background(), "ogbn-arxiv", Options{Cache: cache, Offline: true})
			if err != nil {
				t.Fatal(err)
			}
			sameData(t, d, want)
			if len(p.asked) != 2 {
				t.Errorf("%d requests, want 2", len(p.asked))
			}
		})
	}
}

// isLocal tells faults of this machine from faults of the files.
func TestIsLocal(t *testing.T) {
	path := func(errno error) error {
		return fmt.Errorf("datasets: %w", &fs.PathError{Op: "write", Path: "x", Err: errno})
	}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{path(syscall.ENOSPC), true}, {path(syscall.EACCES), true}, {path(syscall.EROFS), true},
		{path(syscall.EIO), true}, {path(syscall.EMFILE), true}, {path(syscall.ENOMEM), true},
		{fmt.Errorf("mmap: %w", syscall.ENOMEM), true}, {memory.Check("x", -1), true},
		{path(syscall.ENOENT), false}, {path(syscall.ENOTDIR), false}, {path(syscall.EISDIR), false},
		{path(syscall.EEXIST), false}, {path(syscall.ENAMETOOLONG), false},
		{errors.New("bad"), false}, {zip.ErrChecksum, false},
	} {
		if got := isLocal(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}

func TestUnpack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.zip")
	write(t, path, zipOf(t, "top/", map[string][]byte{"a": []byte("1"), "b/c": []byte("2")}))
	dir := path + ".out"
	if err := unpack(context.Background(), path, dir, nil); err != nil {
		t.Fatal(err)
	}
	if a, b := readBytes(t, filepath.Join(dir, "top", "a")), readBytes(t, filepath.Join(dir, "top", "b", "c")); string(a) != "1" || string(b) != "2" {
		t.Errorf("%q, %q", a, b)
	}
}
