package serve

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

var (
	interval = flag.Duration("interval", 5*time.Millisecond, "of the requests of BenchmarkRequests; 0: each waits for the one before")
	updates  = flag.Int("updates", 0, "changes a second beside BenchmarkRequests, in batches of 100")
)

func arxiv(t testing.TB) *datasets.Data {
	t.Helper()
	data, err := datasets.Open(context.Background(), "synth:arxiv", datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// usualModel returns an untrained model of the usual size.
func usualModel(t testing.TB, data *datasets.Data) *layers.GCN {
	t.Helper()
	batch := layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: data.Laplacian(), Depth: 2})
	model, err := layers.NewGCN(batch, data.Features, data.Labels, layers.GCNOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return model
}

func arxivServer(b *testing.B, o Options) (*Server, string) {
	data := arxiv(b)
	return serverOf(b, usualModel(b, data), data, o)
}

// BenchmarkRequests sends 200 requests a second, each at its time whether or not the ones
// before are answered, for random nodes of synth:arxiv. It reports the latencies, and the growth
// of the memory in use between the first tenth of the requests and the end.
//
//	go test -run '^$' -bench Requests -benchtime 12000x ./serve -updates 1000
func BenchmarkRequests(b *testing.B) {
	s, url := arxivServer(b, Options{Log: filepath.Join(b.TempDir(), LogFile)})
	rng := rand.New(rand.NewPCG(1, 2))
	n := s.data.Nodes()
	var features []byte
	for range s.data.Features.Cols {
		features = fmt.Appendf(append(features, ','), "%.3f", rng.NormFloat64())
	}
	// send returns the latency of a request.
	send := func(method, path string, body []byte) time.Duration {
		start := time.Now()
		request, err := http.NewRequest(method, url+path, bytes.NewReader(body))
		if err != nil {
			b.Error(err)
			return 0
		}
		response, err := http.DefaultClient.Do(request)
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
	kinds := map[string]func(v int) time.Duration{
		"node": func(v int) time.Duration { return send("GET", fmt.Sprint("/nodes/", v), nil) },
		"new": func(v int) time.Duration {
			return send("POST", "/predict", fmt.Appendf(nil, `{"new": [{"features": [%s], "neighbors": [%d, %d]}]}`, features[1:], v, (v+1)%n))
		},
	}
	for _, kind := range []string{"node", "new"} {
		b.Run(kind, func(b *testing.B) {
			ctx, cancel := context.WithCancel(context.Background())
			var writer sync.WaitGroup
			if *updates > 0 {
				writer.Go(func() {
					rng := rand.New(rand.NewPCG(3, 4))
					for at := time.Now(); ctx.Err() == nil; at = at.Add(time.Second * 100 / time.Duration(*updates)) {
						time.Sleep(time.Until(at))
						send("POST", "/changes", randomEdges(rng, n, 100))
					}
				})
			}
			latencies := make([]time.Duration, b.N)
			var early, late runtime.MemStats
			var group sync.WaitGroup
			start := time.Now()
			for k := range b.N {
				if *interval == 0 {
					group.Wait()
				}
				time.Sleep(time.Until(start.Add(time.Duration(k) * *interval)))
				if k == b.N/10 {
					runtime.GC()
					runtime.ReadMemStats(&early)
				}
				v := rng.IntN(n)
				group.Go(func() { latencies[k] = kinds[kind](v) })
			}
			group.Wait()
			cancel()
			writer.Wait()
			runtime.GC()
			runtime.ReadMemStats(&late)
			slices.Sort(latencies)
			ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ms(latencies[b.N/2]), "p50-ms")
			b.ReportMetric(ms(latencies[b.N*99/100]), "p99-ms")
			b.ReportMetric(float64(int64(late.HeapAlloc)-int64(early.HeapAlloc))/1e6, "MB-growth")
		})
	}
}

// randomEdges is a change of so many edges of n nodes.
func randomEdges(rng *rand.Rand, n, edges int) []byte {
	body := []byte(`{"add_edges": [`)
	for k := range edges {
		if k > 0 {
			body = append(body, ',')
		}
		u := rng.IntN(n)
		body = fmt.Appendf(body, "[%d,%d]", u, (u+1+rng.IntN(n-1))%n)
	}
	return append(body, "]}"...)
}

// BenchmarkChanges sends batches of 100 new edges from several clients, with the log on disk.
//
//	go test -run '^$' -bench Changes -benchtime 5000x ./serve
func BenchmarkChanges(b *testing.B) {
	s, url := arxivServer(b, Options{Log: filepath.Join(b.TempDir(), LogFile)})
	n := s.data.Nodes()
	const clients = 8
	var group sync.WaitGroup
	b.ResetTimer()
	for client := range clients {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(client)))
			for range (b.N + clients - 1) / clients {
				response, err := http.Post(url+"/changes", "application/json", bytes.NewReader(randomEdges(rng, n, 100)))
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
				if response.StatusCode != 200 {
					b.Error(response.Status)
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(100*float64(b.N)/b.Elapsed().Seconds(), "changes/s")
}

// BenchmarkStart reads a log of 100,000 new edges, in changes of one and of 100.
func BenchmarkStart(b *testing.B) {
	data := arxiv(b)
	for _, edges := range []int{1, 100} {
		b.Run(fmt.Sprint(edges), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			log := record(nil, headOf(data))
			for range 100_000 / edges {
				log = record(log, randomEdges(rng, data.Nodes(), edges))
			}
			for b.Loop() {
				s, err := unchanged(data)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.replay(bytes.NewReader(log), "log"); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds(), "changes/s")
		})
	}
}

// BenchmarkInference compares one node's prediction over the overlay with inference of the
// unchanged graph.
func BenchmarkInference(b *testing.B) {
	s, _ := arxivServer(b, Options{})
	v := s.now.Load()
	for _, kind := range []string{"overlay", "whole"} {
		b.Run(kind, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			for range b.N {
				node, err := []int32{int32(rng.IntN(s.data.Nodes()))}, error(nil)
				if kind == "whole" {
					_, err = s.model.Infer(context.Background(), s.data.Laplacian(), s.data.Features, node)
				} else {
					_, err = s.model.InferOverlay(context.Background(), v.graph, node)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
