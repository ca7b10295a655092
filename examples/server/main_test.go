package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

func testServer(t testing.TB, spec string) *server {
	t.Helper()
	data, err := datasets.Open(context.Background(), spec, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return newServer(t, data, layers.GCNOptions{})
}

// newServer serves a model without training.
func newServer(t testing.TB, data *datasets.Data, options layers.GCNOptions) *server {
	t.Helper()
	batch := layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: data.Laplacian(), Depth: 2})
	model, err := layers.NewGCN(batch, data.Features, data.Labels, options)
	if err != nil {
		t.Fatal(err)
	}
	propagated, err := layers.NewExactInput(context.Background(), data.Laplacian(), data.Features, data.Propagated, nil)
	if err != nil {
		t.Fatal(err)
	}
	model.ReadPropagated(propagated)
	return &server{data, model, make(chan struct{}, runtime.GOMAXPROCS(0))}
}

var interval = flag.Duration("interval", 5*time.Millisecond, "of the requests of BenchmarkRequests")

type scores struct {
	Class  string
	Logits []float32
}

// ask sends a request and returns the status and the body.
func ask(t testing.TB, method, url, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// TestAnswers compares the answers with the model's own inference, for a run in a folder,
// served by run. Nodes of an edge list have names.
func TestAnswers(t *testing.T) {
	dir := t.TempDir()
	var edges, labels strings.Builder
	for i := range 60 {
		fmt.Fprintf(&edges, "n%d,n%d\nn%d,n%d\n", i, (i+1)%60, i, (i+7)%60)
		fmt.Fprintf(&labels, "n%d,%s\n", i, []string{"red", "blue"}[i%2])
	}
	for name, text := range map[string]string{"e.csv": edges.String(), "l.csv": labels.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for spec, ids := range map[string][3]string{
		"synth:demo?nodes=500&edges=2000&features=2":       {"7", "3", "9"},
		"edges:" + dir + "/e.csv?labels=" + dir + "/l.csv": {"n7", `"n3"`, `"n9"`},
	} {
		s := testServer(t, spec)
		folder := filepath.Join(t.TempDir(), "run")
		config := map[string]any{"data": spec, "layers": 2, "hidden": 256, "activation": "elu", "model": "program"}
		if _, err := train.Fit(context.Background(), s.model, s.data, train.Options{Dir: folder, Config: config, MaxBatches: 3, Batch: 50}); err != nil {
			t.Fatal(err)
		}
		want, err := train.Predict(context.Background(), s.model, s.data, []int32{7})
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- open(ctx, folder, listener) }()
		url := "http://" + listener.Addr().String() + "/nodes"
		var got scores
		status, text := ask(t, "GET", url+"/"+ids[0], "")
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || !slices.Equal(got.Logits, want) {
			t.Errorf("%s: status %d, %s: want %v", spec, status, text, want)
		}
		if name := s.data.Labels.Name(slices.Index(want, slices.Max(want))); got.Class != name {
			t.Errorf("%s: class %q, want %q", spec, got.Class, name)
		}
		status, text = ask(t, "POST", url, fmt.Sprintf(`{"features": [1, 2], "neighbors": [%s, %s]}`, ids[1], ids[2]))
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || len(got.Logits) != s.data.Labels.Outputs() {
			t.Errorf("%s: a new node: status %d, %s", spec, status, text)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if err := open(context.Background(), t.TempDir(), nil); err == nil {
		t.Error("an empty folder is served")
	}
}

// TestMalformedRequests checks that they get the status 400, and that the server goes on.
func TestMalformedRequests(t *testing.T) {
	s := testServer(t, "synth:demo?nodes=500&edges=2000&features=2")
	web := httptest.NewServer(s.handler())
	defer web.Close()
	for _, id := range []string{"-1", "500", "x", "1e3", "99999999999999999999", "7.0", "%00", "0x1"} {
		if status, text := ask(t, "GET", web.URL+"/nodes/"+id, ""); status != 400 {
			t.Errorf("node %s: status %d, %s", id, status, text)
		}
	}
	for _, body := range []string{
		"", "x", "[]", "{", `{"features": [1, 2]} {}`, `{"features": [1, 2], "more": 3}`, `{"features": [1]}`, `{"features": [1, "2"]}`,
		`{"features": [1, 1e99]}`, `{"features": [1, 2], "neighbors": [-1]}`, `{"features": [1, 2], "neighbors": [500]}`,
		`{"features": [1, 2], "neighbors": [1.5]}`, `{"features": [1, 2], "neighbors": [4, 4]}`, `{"features": [1, 2], "neighbors": [4294967296]}`, "null", `{"features": [3e38, -3e38]}`,
		`{"features": [null, 2]}`, `{"features": [1, 2], "neighbors": [null]}`, `{"features": [1, 2], "neighbors": ["x"]}`, `{"features": [1, 2], "neighbors": [[1]]}`,
	} {
		if status, text := ask(t, "POST", web.URL+"/nodes", body); status != 400 {
			t.Errorf("%s: status %d, %s", body, status, text)
		}
	}
	if status, _ := ask(t, "POST", web.URL+"/nodes", `{"features": [`+strings.Repeat("1, ", 1<<20)+`1]}`); status != 413 {
		t.Errorf("3 MB: status %d, want 413", status)
	}
	if status, _ := ask(t, "DELETE", web.URL+"/nodes/7", ""); status != 405 {
		t.Errorf("DELETE: status %d, want 405", status)
	}
	if status, _ := ask(t, "GET", web.URL+"/nodes/7", ""); status != 200 {
		t.Errorf("afterwards: status %d", status)
	}
}

// TestLateRequests sends requests that find no slot in time: each gets the status 503.
func TestLateRequests(t *testing.T) {
	s := testServer(t, "synth:demo?nodes=500&edges=2000&features=2")
	web := httptest.NewServer(s.handler())
	defer web.Close()
	for range cap(s.slots) {
		s.slots <- struct{}{}
	}
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if status, text := ask(t, "GET", web.URL+"/nodes/7", ""); status != 503 || text != late {
				t.Errorf("status %d, %q", status, text)
			}
		})
	}
	group.Wait()
}

// TestGracefulEnd ends the server while a request is at work: the request is answered.
func TestGracefulEnd(t *testing.T) {
	s := testServer(t, "synth:demo?nodes=500&edges=2000&features=2")
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.serve(ctx, listener) }()
	url := "http://" + listener.Addr().String() + "/nodes/7"
	ask(t, "GET", url, "")
	for range cap(s.slots) { // so that the next request waits
		s.slots <- struct{}{}
	}
	status := make(chan int)
	go func() {
		code, _ := ask(t, "GET", url, "")
		status <- code
	}()
	time.Sleep(100 * time.Millisecond)
	cancel()
	time.Sleep(100 * time.Millisecond)
	for range cap(s.slots) {
		<-s.slots
	}
	if code := <-status; code != 200 {
		t.Errorf("status %d of a request at work", code)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("the server still listens")
	}
}

// BenchmarkRequests sends 200 requests a second, each at its time whether or not the ones
// before are answered, for random nodes of synth:arxiv. It reports the latencies, the latencies of
// requests alone, and the growth of the memory in use between the first tenth of the
// requests and the end.
//
//	go test -run '^$' -bench . -benchtime 100000x ./examples/server
//
// With -interval 0 each request waits for the one before, which is enough for the memory.
func BenchmarkRequests(b *testing.B) {
	s := testServer(b, "synth:arxiv")
	web := httptest.NewServer(s.handler())
	defer web.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	node := make([]byte, 0)
	for range s.data.Features.Cols {
		node = fmt.Appendf(append(node, ','), "%.3f", rng.NormFloat64())
	}
	for _, kind := range []string{"node", "new"} {
		// send returns the latency of a request for node v.
		send := func(v int) time.Duration {
			start := time.Now()
			var response *http.Response
			var err error
			if kind == "node" {
				response, err = http.Get(fmt.Sprintf("%s/nodes/%d", web.URL, v))
			} else {
				body := fmt.Sprintf(`{"features": [%s], "neighbors": [%d, %d]}`, node[1:], v, (v+1)%s.data.Nodes())
				response, err = http.Post(web.URL+"/nodes", "application/json", bytes.NewReader([]byte(body)))
			}
			if err != nil {
				b.Error(err)
				return 0
			}
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
			if response.StatusCode != 200 {
				b.Error(response.Status)
			}
			return time.Since(start)
		}
		alone := make([]time.Duration, 200)
		for k := range alone {
			alone[k] = send(rng.IntN(s.data.Nodes()))
		}
		b.Run(kind, func(b *testing.B) {
			latencies := make([]time.Duration, b.N)
			var early, late runtime.MemStats
			var group sync.WaitGroup
			start := time.Now()
			for k := range b.N {
				if *interval == 0 {
					group.Wait() // one at a time
				}
				time.Sleep(time.Until(start.Add(time.Duration(k) * *interval)))
				if k == b.N/10 {
					runtime.GC()
					runtime.ReadMemStats(&early)
				}
				v := rng.IntN(s.data.Nodes())
				group.Go(func() { latencies[k] = send(v) })
			}
			group.Wait()
			runtime.GC()
			runtime.ReadMemStats(&late)
			slices.Sort(latencies)
			slices.Sort(alone)
			ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ms(latencies[b.N/2]), "p50-ms")
			b.ReportMetric(ms(latencies[b.N*99/100]), "p99-ms")
			b.ReportMetric(ms(alone[len(alone)/2]), "alone-p50-ms")
			b.ReportMetric(ms(alone[len(alone)*99/100]), "alone-p99-ms")
			b.ReportMetric(float64(int64(late.HeapAlloc)-int64(early.HeapAlloc))/1e6, "MB-growth")
			b.ReportMetric(float64(late.HeapSys)/1e6, "MB-heap")
		})
	}
}
