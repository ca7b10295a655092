package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gcn-layerwise/gcn/internal/filelock"
)

// release is one version of a file on a mirror.
type release struct {
	content            []byte
	etag, lastModified string
}

func (v release) sum() string {
	sum := sha256.Sum256(v.content)
	return hex.EncodeToString(sum[:])
}

// answer sends the bytes [from, end), ignoring If-Range.
func (v release) answer(w http.ResponseWriter, from, end int) {
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Date", "Sun, 01 Mar 2026 12:00:00 GMT")
	if v.etag != "" {
		header.Set("ETag", v.etag)
	}
	if v.lastModified != "" {
		header.Set("Last-Modified", v.lastModified)
	}
	length, status := len(v.content), http.StatusOK
	header.Set("Content-Length", fmt.Sprint(length-from))
	if from > 0 {
		header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, length-1, length))
		status = http.StatusPartialContent
	}
	w.WriteHeader(status)
	w.Write(v.content[from:min(end, len(v.content))])
	if end < len(v.content) {
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// testClient returns a client that waits for nothing.
func testClient(cache string) *Client {
	return &Client{Cache: cache, Pause: time.Millisecond, Stall: time.Minute, Progress: func(Progress) {}}
}

func silent(string, int64, int64) {}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A broken download is resumed only with the version of its first part, in this
// process or a later one, even if the server ignores If-Range.
func TestDownloadIsOfOneVersion(t *testing.T) {
	const january, february = "Thu, 01 Jan 2026 00:00:00 GMT", "Sun, 01 Feb 2026 00:00:00 GMT"
	before, after := bytes.Repeat([]byte("before"), 2000), bytes.Repeat([]byte("after."), 2000)
	longer := append(bytes.Clone(after), "more"...)
	for _, c := range []struct {
		name       string
		first, now release
		from       int // where the second request begins
		requests   int
	}{
		{"unchanged", release{before, `"1"`, january}, release{before, `"1"`, january}, 6000, 2},
		{"unchanged, the date left out", release{before, `"1"`, january}, release{before, `"1"`, ""}, 6000, 2},
		{"another tag", release{before, `"1"`, ""}, release{after, `"2"`, ""}, 6000, 3},
		{"another tag and length", release{before, `"1"`, january}, release{longer, `"2"`, january}, 6000, 3},
		{"no tag any more", release{before, `"1"`, ""}, release{after, "", ""}, 6000, 3},
		{"another weak tag", release{before, `W/"1"`, january}, release{after, `W/"2"`, january}, 0, 2},
		{"another date, no tags", release{before, "", january}, release{after, "", february}, 0, 2},
		{"tags that tell nothing", release{before, `W/"1"`, ""}, release{after, `W/"1"`, ""}, 0, 2},
		{"no tags", release{before, "", ""}, release{after, "", ""}, 0, 2},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %v", c.name, restart), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "f")
				ctx, cancel := context.WithCancel(t.Context())
				var asked []int
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					from := 0
					fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
					asked = append(asked, from)
					if from > 0 && r.Header.Get("If-Range") == "" {
						t.Error("no If-Range")
					}
					if len(asked) > 1 {
						c.now.answer(w, from, len(c.now.content))
						return
					}
					c.first.answer(w, from, 6000)
				}))
				defer server.Close()
				sum, err := testClient("").download(ctx, server.URL, path, "", func(_ string, done, _ int64) {
					if restart && done == 6000 {
						cancel() // as if the process ended here
					}
				})
				if restart {
					if err == nil {
						t.Fatal("it was not broken off")
					}
					sum, err = testClient("").download(t.Context(), server.URL, path, "", silent)
				}
				cancel()
				if err != nil {
					t.Fatal(err)
				}
				if sum != c.now.sum() {
					t.Errorf("bytes of another version: SHA-256 %s", sum)
				}
				if len(asked) != c.requests || asked[1] != c.from {
					t.Errorf("asked for the bytes from %v, want %d requests, the second from %d", asked, c.requests, c.from)
				}
				if left, _ := filepath.Glob(path + "?*"); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
			})
		}
	}
}

// A part without a tag is downloaded from its start. Of a complete part no byte is sent again.
func TestDownloadFindsAPart(t *testing.T) {
	content := bytes.Repeat([]byte("x"), 1000)
	v := release{content, `"1"`, ""}
	for _, c := range []struct {
		name, tag string
		part      []byte
		asked     string
	}{
		{"good", `"1"`, content[:400], "[400]"},
		{"whole", `"1"`, content, "[1000]"},
		{"of no version", "", content[:400], "[0]"},
		{"of another version", `"0"`, content[:400], "[400 0]"},
		{"too long", `"1"`, append(bytes.Clone(content), "more"...), "[1004 0]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := []int{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				from := 0
				fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
				asked = append(asked, from)
				if from >= len(content) {
					w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", len(content)))
					w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
					return
				}
				v.answer(w, from, len(content))
			}))
			defer server.Close()
			path := filepath.Join(t.TempDir(), "f")
			write(t, path+".part", c.part)
			if c.tag != "" {
				write(t, path+".part.etag", []byte(c.tag))
			}
			if sum, err := testClient("").download(t.Context(), server.URL, path, "", silent); err != nil || sum != v.sum() {
				t.Errorf("%s, %v", sum, err)
			}
			if fmt.Sprint(asked) != c.asked {
				t.Errorf("asked for the bytes from %v, want %s", asked, c.asked)
			}
		})
	}
}

// A web page instead of the file, such as a network's login page, does not change the
// downloaded part.
func TestDownloadAfterAWebPage(t *testing.T) {
	v := release{bytes.Repeat([]byte("x"), 1000), `"1"`, ""}
	var asked []int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := 0
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
		asked = append(asked, from)
		switch len(asked) {
		case 1:
			v.answer(w, from, 400)
		case 2:
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("ETag", `"page"`)
			fmt.Fprint(w, "<p>please log in")
		default:
			v.answer(w, from, len(v.content))
		}
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "f")
	if _, err := testClient("").download(t.Context(), server.URL, path, "", silent); err == nil || !strings.Contains(err.Error(), "web page") {
		t.Errorf("a web page: %v", err)
	}
	if sum, err := testClient("").download(t.Context(), server.URL, path, "", silent); err != nil || sum != v.sum() || fmt.Sprint(asked) != "[0 400 400]" {
		t.Errorf("afterwards: %v, asked for the bytes from %v", err, asked)
	}
}

// A download with more bytes than the file starts again.
func TestDownloadTooLong(t *testing.T) {
	content := bytes.Repeat([]byte("x"), 1000)
	var asked []int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := 0
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
		asked = append(asked, from)
		switch len(asked) {
		case 1:
			release{content, `"1"`, ""}.answer(w, 0, 400)
		case 2:
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Content-Range", "bytes 400-999/1000")
			w.WriteHeader(http.StatusPartialContent)
			w.Write(append(bytes.Clone(content[400:]), "more"...))
		case 3:
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		default:
			release{content, `"1"`, ""}.answer(w, from, len(content))
		}
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "f")
	sum, err := testClient("").download(t.Context(), server.URL, path, "", silent)
	if want := (release{content, "", ""}).sum(); err != nil || sum != want || fmt.Sprint(asked) != "[0 400 1004 0]" {
		t.Errorf("%s, %v, asked for the bytes from %v", sum, err, asked)
	}
}

// SHA-256 decides: a wrong file is removed, and its download is not resumed.
func TestDownloadOfAnotherSum(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("content")) }))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "f")
	want := release{[]byte("other"), "", ""}.sum()
	if _, err := testClient("").download(t.Context(), server.URL, path, want, silent); err == nil || !strings.Contains(err.Error(), "want "+want) {
		t.Errorf("another file: %v", err)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// An address that begins with https may not lead to one without it.
func TestRedirectToHTTP(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	server := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	defer server.Close()
	was := http.DefaultTransport
	http.DefaultTransport = server.Client().Transport
	defer func() { http.DefaultTransport = was }()
	_, err := testClient("").download(t.Context(), server.URL, filepath.Join(t.TempDir(), "f"), "", silent)
	if err == nil || !strings.Contains(err.Error(), "redirected from https to http") {
		t.Errorf("error %v", err)
	}
}

// The table has the checksums of the real files, where those are available.
func TestChecksums(t *testing.T) {
	for _, name := range []string{"cora", "citeseer"} {
		dir := filepath.Join("..", "..", "..", "shared", "data", name+"-planetoid")
		if missing(dir) {
			t.Skipf("%s is not there", dir)
		}
		set, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range set.Files {
			sum, err := hash(t.Context(), filepath.Join(dir, file.Name))
			if err != nil || file.SHA256 == "" || sum != file.SHA256 {
				t.Errorf("%s: %v, SHA-256 %s", file.Name, err, sum)
			}
		}
	}
}

// get fetches the files of a set, and returns their SPEC and notes. It keeps the files: the caller fails.
func get(ctx context.Context, c *Client, set *Set) (spec string, notes []string, err error) {
	ready := errors.New("ready")
	err = c.Fetch(ctx, set, func() (bool, error) { return false, nil }, func(s string, n []string) error {
		spec, notes = s, n
		return ready
	})
	if errors.Is(err, ready) {
		err = nil
	}
	return spec, notes, err
}

// A process that finds the files taken says so and waits. It stops when it is cancelled.
func TestFetchWaits(t *testing.T) {
	client := testClient(t.TempDir())
	lock := filepath.Join(client.Cache, "downloads", "made.lock")
	write(t, lock, nil)
	taken, err := os.Open(lock)
	if err != nil {
		t.Fatal(err)
	}
	if err := filelock.Try(taken); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err) // not every system has locks
	}
	ctx, cancel := context.WithCancel(t.Context())
	said := 0
	client.Progress = func(p Progress) {
		if said++; p.Stage != "note" || !strings.Contains(p.Text, "waiting") {
			t.Errorf("said %+v", p)
		}
		time.AfterFunc(250*time.Millisecond, cancel)
	}
	set, found := &Set{Name: "made"}, false
	fetch := func(ctx context.Context) error {
		return client.Fetch(ctx, set, func() (bool, error) { found = true; return true, nil }, nil)
	}
	if err := fetch(ctx); !errors.Is(err, context.Canceled) || said != 1 || found {
		t.Errorf("while the files are taken: %v, said %d times", err, said)
	}
	client.Progress = func(Progress) { time.AfterFunc(50*time.Millisecond, func() { taken.Close() }) }
	if err := fetch(t.Context()); err != nil || !found {
		t.Errorf("afterwards: %v", err)
	}
}

// A large set is downloaded only if the disk has room for its archive and its files.
func TestLargeNeedsRoom(t *testing.T) {
	dir := t.TempDir()
	if _, known := freeSpace(dir); !known {
		t.Skip("the system does not tell the free space")
	}
	client := testClient(dir)
	client.Mirror = "http://127.0.0.1:1" // nobody answers
	set := &Set{Name: "made", Files: []File{{Name: "a.zip"}}, Zipped: true, Archive: 1 << 20, Unpacked: 1 << 60}
	if _, _, err := get(t.Context(), client, set); err == nil || !strings.Contains(err.Error(), "to download") || !strings.Contains(err.Error(), "are free") || !strings.Contains(err.Error(), "--cache") {
		t.Errorf("more than there is: %v", err)
	}
	set.Unpacked = 1 << 20
	noted := ""
	client.Progress = func(p Progress) { noted += p.Text }
	if _, _, err := get(t.Context(), client, set); err == nil || !strings.Contains(err.Error(), "refused") || !strings.Contains(noted, "1.05 MB to download") {
		t.Errorf("little: %v, noted %q", err, noted)
	}
}

// A slow connection is not a broken one.
func TestDownloadSlowly(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Content-Length", "16")
		for range 16 {
			w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			time.Sleep(50 * time.Millisecond)
		}
	}))
	defer server.Close()
	client := testClient("")
	client.Stall = 500 * time.Millisecond
	if _, err := client.download(t.Context(), server.URL, filepath.Join(t.TempDir(), "f"), "", silent); err != nil || asked != 1 {
		t.Errorf("%v, %d requests", err, asked)
	}
}
