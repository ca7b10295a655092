package datasets

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// testDownloader returns a downloader that waits for nothing.
func testDownloader() *downloader {
	d := newDownloader(Options{})
	d.pause = time.Millisecond
	return d
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
		{"unchanged, by its date", release{before, "", january}, release{before, "", january}, 6000, 2},
		{"unchanged, the date left out", release{before, `"1"`, january}, release{before, `"1"`, ""}, 6000, 2},
		{"another tag", release{before, `"1"`, ""}, release{after, `"2"`, ""}, 6000, 3},
		{"no tag any more", release{before, `"1"`, ""}, release{after, "", ""}, 6000, 3},
		{"another weak tag", release{before, `W/"1"`, january}, release{after, `W/"2"`, january}, 6000, 3},
		{"another date", release{before, `"1"`, january}, release{after, `"1"`, february}, 6000, 3},
		{"another date, no tags", release{before, "", january}, release{after, "", february}, 6000, 3},
		{"another length", release{before, `"1"`, january}, release{longer, `"1"`, january}, 6000, 3},
		{"tags that tell nothing", release{before, `W/"1"`, ""}, release{after, `W/"1"`, ""}, 0, 2},
		{"no tags", release{before, "", ""}, release{after, "", ""}, 0, 2},
		{"changed this second", release{before, "", "Sun, 01 Mar 2026 12:00:00 GMT"}, release{after, "", "Sun, 01 Mar 2026 12:00:00 GMT"}, 0, 2},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %v", c.name, restart), func(t *testing.T) {
				dir, file := t.TempDir(), remoteFile{name: "f"}
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
				d := testDownloader()
				d.report = func(_, _ string, done, _ int64) {
					if restart && done == 6000 {
						cancel() // as if the process ended here
					}
				}
				size, sum, err := d.get(ctx, server.URL, dir, file)
				if restart {
					if err == nil {
						t.Fatal("it was not broken off")
					}
					size, sum, err = testDownloader().get(t.Context(), server.URL, dir, file)
				}
				cancel()
				if err != nil {
					t.Fatal(err)
				}
				if sum != c.now.sum() || size != int64(len(c.now.content)) {
					t.Errorf("%d bytes of another version: %.20q…", size, readBytes(t, filepath.Join(dir, "f"))[5990:])
				}
				if len(asked) != c.requests || asked[1] != c.from {
					t.Errorf("asked for the bytes from %v, want %d requests, the second from %d", asked, c.requests, c.from)
				}
				if left, _ := filepath.Glob(filepath.Join(dir, "f?*")); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
			})
		}
	}
}

// A part with an invalid note is downloaded from its start. A complete part is not
// requested again.
func TestDownloadFindsAPart(t *testing.T) {
	content := bytes.Repeat([]byte("x"), 1000)
	v := release{content, `"1"`, ""}
	for _, c := range []struct {
		name, version string
		part          []byte
		asked         string
	}{
		{"good", `{"address":"%s","etag":"\"1\"","total":1000}`, content[:400], "[400]"},
		{"whole", `{"address":"%s","etag":"\"1\"","total":1000}`, content, "[]"},
		{"of no version", "", content[:400], "[0]"},
		{"of half a note", `{"address":"%s","etag":"\"1`, content[:400], "[0]"},
		{"from elsewhere", `{"address":"http://%s","etag":"\"1\"","total":1000}`, content[:400], "[0]"},
		{"too long", `{"address":"%s","etag":"\"1\"","total":1000}`, append(bytes.Clone(content), "more"...), "[1004 0]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := []int{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				from := 0
				fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
				asked = append(asked, from)
				if from > len(content) {
					w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
					return
				}
				v.answer(w, from, len(content))
			}))
			defer server.Close()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "f.part"), c.part)
			if c.version != "" {
				write(t, versionPath(filepath.Join(dir, "f.part")), []byte(strings.Replace(c.version, "%s", server.URL, 1)))
			}
			if _, sum, err := testDownloader().get(t.Context(), server.URL, dir, remoteFile{name: "f"}); err != nil || sum != v.sum() {
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
	dir := t.TempDir()
	if _, _, err := testDownloader().get(t.Context(), server.URL, dir, remoteFile{name: "f"}); err == nil || !strings.Contains(err.Error(), "web page") {
		t.Errorf("a web page: %v", err)
	}
	if _, sum, err := testDownloader().get(t.Context(), server.URL, dir, remoteFile{name: "f"}); err != nil || sum != v.sum() || fmt.Sprint(asked) != "[0 400 400]" {
		t.Errorf("afterwards: %v, asked for the bytes from %v", err, asked)
	}
}

// A download with more bytes than the file is an error.
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
		default:
			release{content, `"1"`, ""}.answer(w, from, len(content))
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	size, _, err := testDownloader().get(t.Context(), server.URL, dir, remoteFile{name: "f"})
	if err != nil || size != 1000 || fmt.Sprint(asked) != "[0 400 0]" {
		t.Errorf("%d bytes, %v, asked for the bytes from %v", size, err, asked)
	}
}

// A mirror's password is written nowhere.
func TestMirrorsPasswordIsNotShown(t *testing.T) {
	p := newMirror(t)
	provide(t, p, "pubmed")
	cache := t.TempDir()
	f := fetcherOf(p, cache)
	f.downloader.mirror = strings.Replace(p.URL, "://", "://me:secret@", 1)
	f.options.Progress = func(s FetchProgress) {
		if strings.Contains(s.Address, "secret") {
			t.Errorf("shown: %s", s.Address)
		}
	}
	if _, err := f.fetch(context.Background(), "pubmed"); err != nil {
		t.Fatal(err)
	}
	d, err := Open(context.Background(), "pubmed", Options{Cache: cache, Offline: true})
	if err != nil || strings.Contains(strings.Join(d.Notes, "\n"), "secret") {
		t.Errorf("%v, notes %q", err, d.Notes)
	}
	p.files = nil
	if _, err := fetcherOf(p, t.TempDir()).fetch(context.Background(), "pubmed"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}
