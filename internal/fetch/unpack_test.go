package fetch

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
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

// badArchive is an archive that must not be unpacked, with words of the error.
type badArchive struct {
	name    string
	archive []byte
	words   string
}

func badArchives(t testing.TB) []badArchive {
	x := []byte("x")
	long := strings.Repeat("n", 256)
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
		{"twice", archiveOf(t, packed{name: "dir/a", content: x}, packed{name: "dir/a", content: []byte("y")}), "dir/a,duplicate"},
		{"file, then folder", archiveOf(t, packed{name: "a", content: x}, packed{name: "a/b", content: x}), "a,duplicate"},
		{"folder, then file", archiveOf(t, packed{name: "a/b", content: x}, packed{name: "a", content: x}), "a,duplicate"},
		{"file and empty folder", archiveOf(t, packed{name: "a", content: x}, packed{name: "a/"}), "a,duplicate"},
		{"long name", archiveOf(t, packed{name: long, content: x}), "nnn,too long"},
		{"long name of a folder", archiveOf(t, packed{name: long + "/a", content: x}), "nnn,too long"},
		{"long path", archiveOf(t, packed{name: strings.Repeat("folder/", 900) + "a", content: x}), "folder/folder/,too long"},
		{"NUL", archiveOf(t, packed{name: "a\x00b", content: x}), `a\x00b`},
		{"control character", archiveOf(t, packed{name: "a\x1b[2Jb", content: x}), `a\x1b[2Jb`},
		{"line break", archiveOf(t, packed{name: "a\nb", content: x}), `a\nb`},
		{"question mark", archiveOf(t, packed{name: "a?b/raw", content: x}), `a?b`},
		{"no UTF-8", archiveOf(t, packed{name: "a\xffb", content: x}), `a\xffb`},
		{"larger than it says", archiveOf(t, packed{name: "file", content: bytes.Repeat([]byte("abc"), 1000), size: 10}), "file"},
		{"smaller than it says", archiveOf(t, packed{name: "file", content: bytes.Repeat([]byte("abc"), 1000), size: 4000}), "file"},
		{"bomb", archiveOf(t, packed{name: "bomb", content: make([]byte, unpackedSlack+unpackedSlack/2)}), "bytes unpacked"},
		{"huge by its own word", archiveOf(t, packed{name: "a", content: x, size: 1<<32 - 2}), "bytes unpacked"},
		{"unknown compression", unknown, "unsupported compression"},
		{"wrong checksum", spoiled, "file,checksum"},
		{"not a zip", []byte("PK"), "not a valid zip"},
		{"cut", one[:60], "not a valid zip"},
	}
}

func TestUnpackHostile(t *testing.T) {
	for _, c := range badArchives(t) {
		t.Run(c.name, func(t *testing.T) {
			outer := t.TempDir()
			path := filepath.Join(outer, "in", "a.zip")
			write(t, path, c.archive)
			dir := filepath.Join(outer, "in", "out")
			err := unpack(t.Context(), path, dir)
			if err == nil {
				t.Fatal("unpacked")
			}
			for _, word := range strings.Split(c.words, ",") {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error does not mention %s: %v", word, err)
				}
			}
			if strings.ContainsAny(err.Error(), "\n\x00\x1b") {
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

// A bad archive is kept, and the error says where. Once the folder is deleted, the next call
// downloads it again, and may find a good one.
func TestFetchBadArchives(t *testing.T) {
	good := archiveOf(t, packed{name: "made/raw/a", content: []byte("1")}, packed{name: "made/raw/b/c", content: []byte("2")})
	for _, c := range badArchives(t) {
		t.Run(c.name, func(t *testing.T) {
			content, asked := c.archive, 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				w.Header().Set("Content-Type", "application/zip")
				w.Write(content)
			}))
			defer server.Close()
			client := testClient(t.TempDir())
			client.Mirror = server.URL
			set := &Set{Name: "made", Files: []File{{Name: "made.zip"}}, Spec: "ogb:DIR/unpacked/made", Zipped: true}
			folder := filepath.Join(client.Cache, "downloads", "made")
			for range 2 {
				if _, _, err := get(t.Context(), client, set); err == nil || !strings.Contains(err.Error(), "kept in "+folder) || asked != 1 {
					t.Errorf("error %v after %d requests", err, asked)
				}
			}
			if err := os.RemoveAll(folder); err != nil {
				t.Fatal(err)
			}
			content = good
			for range 2 { // the second time from the cache
				spec, notes, err := get(t.Context(), client, set)
				if err != nil || len(notes) != 1 || !strings.Contains(notes[0], release{good, "", ""}.sum()) || asked != 2 {
					t.Fatalf("afterwards: %v, notes %q, %d requests", err, notes, asked)
				}
				if spec != "ogb:"+folder+"/unpacked/made" {
					t.Errorf("SPEC %s", spec)
				}
			}
		})
	}
}

func TestUnpack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.zip")
	write(t, path, archiveOf(t, packed{name: "top/"}, packed{name: "top/a", content: []byte("1")}, packed{name: "top/b/c", content: []byte("2")}))
	dir := path + ".out"
	if err := unpack(t.Context(), path, dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "1", "b/c": "2"} {
		if got, err := os.ReadFile(filepath.Join(dir, "top", filepath.FromSlash(name))); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := unpack(ctx, path, path+".cancelled"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
