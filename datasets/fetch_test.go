package datasets

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gcn-layerwise/gcn/internal/fetch"
	"github.com/gcn-layerwise/gcn/internal/filelock"
)

// mirror is a server of files by path, whose answers tests may replace.
type mirror struct {
	*httptest.Server
	mu      sync.Mutex
	files   map[string][]byte
	disturb func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
	asked   []string                                          // path and Range of each request
}

func newMirror(t testing.TB) *mirror {
	p := &mirror{files: map[string][]byte{}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	content, found := p.files[r.URL.Path]
	p.asked = append(p.asked, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Range")))
	disturb := p.disturb
	p.mu.Unlock()
	if disturb != nil && disturb(w, r) {
		return
	}
	if !found {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprint(len(content), content[:min(4, len(content))])))
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// fetcherOf returns a fetcher from p into a cache. It does not check the published
// checksums, so that made files may stand in for the real ones.
func fetcherOf(p *mirror, cache string) *fetcher {
	f := newFetcher(Options{Cache: cache, Mirror: p.URL})
	f.client.Pause = time.Millisecond
	f.sets = func(name string) (*fetch.Set, error) {
		set, err := fetch.Find(name)
		if err == nil {
			for k := range set.Files {
				set.Files[k].SHA256 = ""
			}
			if set.Large() {
				set.Archive, set.Unpacked = 1000, 10000
			}
		}
		return set, err
	}
	return f
}

// zipOf packs files under a folder.
func zipOf(t testing.TB, folder string, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range files {
		w, err := z.Create(folder + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func compressed(t testing.TB, texts map[string]string) map[string][]byte {
	files := map[string][]byte{}
	for name, text := range texts {
		files[name+".csv.gz"] = zipped(t, text)
	}
	return files
}

// provide makes p serve a small data set in the layout of a named one. It returns the
// data set.
func provide(t testing.TB, p *mirror, name string) *Data {
	d := made(t, 40, 3)
	set, err := fetch.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	switch {
	case set.Large():
		dir := binaryFolder(t, d, arcsOf(d, 3), zip.Deflate, false)
		content := map[string][]byte{}
		for _, name := range []string{"raw/data.npz", "raw/node-label.npz", "split/time/train.csv.gz", "split/time/valid.csv.gz", "split/time/test.csv.gz"} {
			content[name] = readBytes(t, filepath.Join(dir, filepath.FromSlash(name)))
		}
		files[set.Files[0].Name] = zipOf(t, "papers100M-bin/", content)
	case strings.HasPrefix(set.Spec, "ogb:"):
		texts := ogbTexts(d)
		switch name {
		case "ogbn-proteins":
			d.Labels.Class, d.Labels.Classes = nil, 0
			d.Labels.Tasks, d.Labels.Multi = 2, make([]float32, 80)
			d.Labels.Multi[5] = 1
			d.Metric = ROCAUC
			texts["raw/node-label"] = matrixLines(d.Labels.Multi, 2)
			texts["raw/edge-feat"] = strings.Repeat("1,0.5\n", len(arcsOf(d, 3)))
			delete(texts, "raw/node-feat")
			d.Features.Cols, d.Features.Data = 2, nil
			for i := range 40 {
				row := []float32{1, 0.5}
				touched := d.Graph.Degree(i) > 0
				for _, a := range arcsOf(d, 3) {
					touched = touched || a.U == int32(i) || a.V == int32(i)
				}
				if !touched {
					row = []float32{0, 0}
				}
				d.Features.Data = append(d.Features.Data, row...)
			}
		case "ogbn-mag":
			texts = map[string]string{
				"raw/num-node-dict":                        "author,paper\n5,40\n",
				"raw/triplet-type-list":                    "author,writes,paper\npaper,cites,paper\n",
				"raw/nodetype-has-label":                   "author,paper\nFalse,True\n",
				"raw/relations/paper___cites___paper/edge": arcLines(arcsOf(d, 1), ","),
				"raw/node-feat/paper/node-feat":            matrixLines(d.Features.Data, 4),
				"raw/node-label/paper/node-label":          column(d.Labels.Class),
				"split/time/nodetype-has-split":            "author,paper\nFalse,True\n",
				"split/time/paper/train":                   column(d.Split.Train),
				"split/time/paper/valid":                   column(d.Split.Valid),
				"split/time/paper/test":                    column(d.Split.Test),
			}
		}
		files[set.Files[0].Name] = zipOf(t, strings.TrimSuffix(set.Files[0].Name, ".zip")+"/", compressed(t, texts))
	case strings.HasPrefix(set.Spec, "dgl-reddit:"):
		d.Metric = MicroF1
		files["reddit.zip"] = zipOf(t, "", dglRedditFiles(t, d))
	case strings.HasPrefix(set.Spec, "saint:"):
		d.Metric = MicroF1
		files = saintFiles(t, d)
		d.encoding.Columns = standardizing(d)
		d.rescale()
	case strings.HasPrefix(set.Spec, "planetoid:"):
		for file, content := range planetoidFiles(t, d) {
			files[strings.Replace(file, "made", name, 1)] = content
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for file, content := range files {
		p.files["/"+name+"/"+file] = content
	}
	return d
}

// Every named data set can be fetched from a mirror and opened.
func TestFetch(t *testing.T) {
	p := newMirror(t)
	cache := t.TempDir()
	for _, name := range Names() {
		want := provide(t, p, name)
		path, err := fetcherOf(p, cache).fetch(context.Background(), name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// It opens offline by its name.
		d, err := Open(context.Background(), name, Options{Cache: cache, Offline: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sameData(t, d, want)
		if d.Name != name || !strings.Contains(strings.Join(d.Notes, "\n"), "SHA-256") {
			t.Errorf("%s: name %q, notes %q", name, d.Name, d.Notes)
		}
		if filepath.Dir(path) != cache || !isMissing(filepath.Join(cache, "downloads", name)) {
			t.Errorf("%s: store at %s, downloads there: %v", name, path, !isMissing(filepath.Join(cache, "downloads", name)))
		}
		again, err := Open(context.Background(), name+"?split=50/25/25&seed=3", Options{Cache: cache, Offline: true})
		if err != nil || len(again.Split.Train) != 20 {
			t.Errorf("%s with a random split: %v", name, err)
		}
	}
	asked := len(p.asked)
	if _, err := fetcherOf(p, cache).fetch(context.Background(), "cora"); err != nil || len(p.asked) != asked {
		t.Errorf("fetching a cached data set: %v, %d more requests", err, len(p.asked)-asked)
	}
}

func TestOffline(t *testing.T) {
	p := newMirror(t)
	provide(t, p, "pubmed")
	_, err := Open(context.Background(), "pubmed", Options{Cache: t.TempDir(), Mirror: p.URL, Offline: true})
	if !errors.Is(err, ErrOffline) || len(p.asked) > 0 {
		t.Errorf("offline: %v, asked for %q", err, p.asked)
	}
	if _, err := Open(context.Background(), "pubmed?nodes=3", Options{Mirror: p.URL}); err == nil || len(p.asked) > 0 {
		t.Errorf("an unknown key: %v, asked for %q", err, p.asked)
	}
	d, err := Open(context.Background(), "pubmed", Options{Cache: t.TempDir(), Mirror: p.URL})
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
}

// Connections that break repeatedly transfer no byte twice.
func TestFetchResumes(t *testing.T) {
	p := newMirror(t)
	want := provide(t, p, "ogbn-arxiv")
	size := len(p.files["/ogbn-arxiv/arxiv.zip"])
	var sent atomic.Int64
	p.disturb = func(w http.ResponseWriter, r *http.Request) bool {
		content := p.files["/ogbn-arxiv/arxiv.zip"]
		from := 0
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
		w.Header().Set("ETag", `"one"`)
		status := http.StatusOK
		if from > 0 {
			if r.Header.Get("If-Range") != `"one"` {
				t.Errorf("If-Range is %q", r.Header.Get("If-Range"))
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, size-1, size))
			status = http.StatusPartialContent
		}
		w.Header().Set("Content-Length", fmt.Sprint(size-from))
		w.WriteHeader(status)
		n, _ := w.Write(content[from:min(from+size/7, size)])
		sent.Add(int64(n))
		return true // less than the length: the connection is cut
	}
	cache := t.TempDir()
	if _, err := fetcherOf(p, cache).fetch(context.Background(), "ogbn-arxiv"); err != nil {
		t.Fatal(err)
	}
	if len(p.asked) < 7 || sent.Load() > int64(size)+int64(size)/7 {
		t.Errorf("%d requests, %d bytes sent of %d", len(p.asked), sent.Load(), size)
	}
	d, err := Open(context.Background(), "ogbn-arxiv", Options{Cache: cache, Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	sameData(t, d, want)
}

// A file that changed between two parts is downloaded from its beginning. So is a file
// of a server without ranges.
func TestFetchStartsAgain(t *testing.T) {
	for _, ranges := range []bool{true, false} {
		p := newMirror(t)
		want := provide(t, p, "ogbn-arxiv")
		cache := t.TempDir()
		part := filepath.Join(cache, "downloads", "ogbn-arxiv", "arxiv.zip.part")
		write(t, part, []byte("bytes of last year"))
		write(t, part+".etag", []byte(`"last year"`))
		if !ranges {
			p.disturb = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Write(p.files["/ogbn-arxiv/arxiv.zip"])
				return true
			}
		}
		if _, err := fetcherOf(p, cache).fetch(context.Background(), "ogbn-arxiv"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"/ogbn-arxiv/arxiv.zip bytes=18-"}, p.asked); diff != "" {
			t.Error(diff)
		}
		d, err := Open(context.Background(), "ogbn-arxiv", Options{Cache: cache, Offline: true})
		if err != nil {
			t.Fatal(err)
		}
		sameData(t, d, want)
	}
}

func TestFetchFails(t *testing.T) {
	html := func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<p>please confirm")
		return true
	}
	status := func(code int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(code); return true }
	}
	for _, c := range []struct {
		name     string
		disturb  func(http.ResponseWriter, *http.Request) bool
		spoil    func(set *fetch.Set, p *mirror)
		want     string
		requests int
	}{
		{"web page", html, nil, "web page", 1},
		{"not found", status(404), nil, "404", 1},
		{"server down", status(503), nil, "503", 4},
		{"wrong checksum", nil, func(set *fetch.Set, _ *mirror) { set.Files[0].SHA256 = strings.Repeat("0", 64) }, "SHA-256", 1},
		{"no archive", nil, func(_ *fetch.Set, p *mirror) { p.files["/ogbn-arxiv/arxiv.zip"] = []byte("nonsense") }, "zip", 1},
		{"cut short", nil, func(_ *fetch.Set, p *mirror) {
			p.files["/ogbn-arxiv/arxiv.zip"] = p.files["/ogbn-arxiv/arxiv.zip"][:500]
		}, "zip", 1},
		{"another layout", nil, func(_ *fetch.Set, p *mirror) {
			p.files["/ogbn-arxiv/arxiv.zip"] = zipOf(t, "x/", map[string][]byte{"y": nil})
		}, "no raw folder", 1},
		{"marker is a file", nil, func(_ *fetch.Set, p *mirror) {
			p.files["/ogbn-arxiv/arxiv.zip"] = zipOf(t, "arxiv/", map[string][]byte{"raw": []byte("x")})
		}, "incomplete OGB folder", 1},
		{"files are folders", nil, func(_ *fetch.Set, p *mirror) {
			p.files["/ogbn-arxiv/arxiv.zip"] = zipOf(t, "arxiv/raw/", map[string][]byte{"edge.csv.gz/x": nil, "num-node-list.csv.gz/x": nil})
		}, "raw", 1},
		{"incomplete", nil, func(_ *fetch.Set, p *mirror) {
			p.files["/ogbn-arxiv/arxiv.zip"] = zipOf(t, "arxiv/", map[string][]byte{"raw/edge.csv.gz": nil})
		}, "num-node-list.csv.gz: incomplete OGB folder", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newMirror(t)
			provide(t, p, "ogbn-arxiv")
			p.disturb = c.disturb
			cache := t.TempDir()
			f := fetcherOf(p, cache)
			plain := f.sets
			if c.spoil != nil {
				f.sets = func(name string) (*fetch.Set, error) {
					set, err := plain(name)
					c.spoil(set, p)
					return set, err
				}
			}
			_, err := f.fetch(context.Background(), "ogbn-arxiv")
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, c.want)
			}
			if len(p.asked) != c.requests {
				t.Errorf("%d requests, want %d", len(p.asked), c.requests)
			}
			if !isMissing(filepath.Join(cache, "ogbn-arxiv.safetensors")) {
				t.Error("a store was left")
			}
			// Once the mirror answers again, the next call succeeds. Files that were downloaded are kept,
			// and the error names what to delete.
			downloads := filepath.Join(cache, "downloads", "ogbn-arxiv")
			if strings.Contains(err.Error(), "kept in "+downloads) {
				if err := os.RemoveAll(downloads); err != nil {
					t.Fatal(err)
				}
			}
			p.disturb = nil
			provide(t, p, "ogbn-arxiv")
			if _, err := fetcherOf(p, cache).fetch(context.Background(), "ogbn-arxiv"); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestFetchBrokenStore(t *testing.T) {
	p := newMirror(t)
	provide(t, p, "pubmed")
	cache := t.TempDir()
	if _, err := fetcherOf(p, cache).fetch(context.Background(), "pubmed"); err != nil {
		t.Fatal(err)
	}
	// A damaged store in the cache is an error, which names it.
	path := filepath.Join(cache, "pubmed.safetensors")
	b := readBytes(t, path)
	write(t, path, b[:len(b)/2])
	if _, err := fetcherOf(p, cache).fetch(context.Background(), "pubmed"); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), path) {
		t.Errorf("half a store: %v", err)
	}
}

func TestFetchStopsWhenCancelled(t *testing.T) {
	p := newMirror(t)
	provide(t, p, "ogbn-arxiv")
	ctx, cancel := context.WithCancel(context.Background())
	p.disturb = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Length", "1000000")
		w.Write(make([]byte, 100))
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
		return true
	}
	start := time.Now()
	if _, err := fetcherOf(p, t.TempDir()).fetch(ctx, "ogbn-arxiv"); !errors.Is(err, context.Canceled) || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

// A mirror's password is written nowhere.
func TestMirrorsPasswordIsNotShown(t *testing.T) {
	p := newMirror(t)
	provide(t, p, "pubmed")
	cache := t.TempDir()
	f := fetcherOf(p, cache)
	f.client.Mirror = strings.Replace(p.URL, "://", "://me:secret@", 1)
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

// A connection without data counts as broken.
func TestFetchStalls(t *testing.T) {
	p := newMirror(t)
	provide(t, p, "ogbn-arxiv")
	first := true
	p.disturb = func(w http.ResponseWriter, r *http.Request) bool {
		if !first {
			return false
		}
		first = false
		w.Header().Set("Content-Length", "1000000")
		w.Write(make([]byte, 100))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	}
	f := fetcherOf(p, t.TempDir())
	f.client.Stall = 50 * time.Millisecond
	if _, err := f.fetch(context.Background(), "ogbn-arxiv"); err != nil {
		t.Error(err)
	}
}

// Of several concurrent calls one does the work, and the others wait for it.
func TestFetchConcurrently(t *testing.T) {
	p := newMirror(t)
	provide(t, p, "pubmed")
	cache := t.TempDir()
	lock, err := os.Create(filepath.Join(cache, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := filelock.Try(lock); err != nil {
		t.Skip(err) // not every system has locks
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, err := fetcherOf(p, cache).fetch(context.Background(), "pubmed"); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(p.asked) != 8 {
		t.Errorf("%d requests for 8 files", len(p.asked))
	}
}

// The archives of OGB with built-in checksums are refused if they are others.
func TestBuiltInChecksums(t *testing.T) {
	for name, want := range map[string]string{"ogbn-arxiv": "want 49f85c801589ecdc", "ogbn-mag": "want 2afe62ead87f2c30"} {
		p, cache := newMirror(t), t.TempDir()
		provide(t, p, name)
		if _, err := Fetch(t.Context(), name, Options{Cache: cache, Mirror: p.URL}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
		if !isMissing(filepath.Join(cache, name+".safetensors")) {
			t.Errorf("%s: another archive was stored", name)
		}
	}
}

// Killed at any moment, convert and fetch leave nothing that opens; the next
// call completes their work and removes their parts.
func TestKilled(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("starts and kills processes")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := newMirror(t)
	provide(t, p, "ogbn-products")
	p.disturb = func(http.ResponseWriter, *http.Request) bool {
		time.Sleep(20 * time.Millisecond) // so that some are killed here
		return false
	}
	dir := t.TempDir()
	for _, c := range []struct{ task, path string }{
		{"convert synth:arxiv?nodes=60000&features=64 ", filepath.Join(dir, "x.store")},
		{"fetch ogbn-products", filepath.Join(dir, "ogbn-products.safetensors")},
	} {
		task := c.task
		if strings.HasPrefix(task, "convert") {
			task += c.path
		}
		start := func() *exec.Cmd {
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), "DATASETS_TEST_CHILD="+task, "GCN_DATA="+dir, "GCN_MIRROR="+p.URL)
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			return cmd
		}
		begin := time.Now()
		if err := start().Wait(); err != nil {
			t.Fatalf("%s: %v", task, err)
		}
		whole := time.Since(begin)
		want := readBytes(t, c.path)
		const kills = 12
		for k := range kills {
			if err := os.Remove(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			cmd := start()
			time.Sleep(whole * time.Duration(k) / kills)
			_ = cmd.Process.Kill() // it may be done
			_ = cmd.Wait()         // killed, or not
			if isMissing(c.path) {
				continue
			}
			if err := verify(context.Background(), "store:"+c.path, Options{}); err != nil {
				t.Errorf("%s killed after %d/%d: %v", task, k, kills, err)
			}
		}
		if err := os.Remove(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := start().Wait(); err != nil {
			t.Errorf("%s, after the kills: %v", task, err)
		} else if !bytes.Equal(readBytes(t, c.path), want) {
			t.Errorf("%s: after the kills another store", task)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*.part*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
	if !isMissing(filepath.Join(dir, "downloads", "ogbn-arxiv")) {
		t.Error("downloads were left behind")
	}
}

// The store of a download holds what the files hold. The schema of the model that asked changes nothing.
func TestFetchIgnoresSchema(t *testing.T) {
	p, cache := newMirror(t), t.TempDir()
	want := provide(t, p, "cora")
	s := want.Schema()
	s.Normalize = "row"
	f := fetcherOf(p, cache)
	f.options.Schema, f.options.Unlabelled = s, true
	if _, err := f.fetch(t.Context(), "cora"); err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), "cora", Options{Cache: cache, Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	sameData(t, d, want)
	if got := d.Schema().Normalize; got != "none" {
		t.Errorf("normalize=%s", got)
	}
}
