// Command server answers HTTP requests with the scores of a run of gcn train:
//
//	curl localhost:8080/nodes/7
//	curl -d '{"features": [0.1, …], "neighbors": [7, 12]}' localhost:8080/nodes
//
// The second form is for a node that the graph does not hold. Its features are scaled as the
// data's: the server prints the changes to the data. Nodes have the ids of the data. Scores
// agree with gcn predict's up to rounding: the server reads P·X, and scores one node at a time.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/run"
)

func main() {
	dir := flag.String("run", "runs/first", "folder of a training run")
	address := flag.String("listen", "localhost:8080", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", *address)
	if err == nil {
		err = open(ctx, *dir, listener)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// open loads a run's model with its data and serves it. P·X is computed once.
func open(ctx context.Context, dir string, listener net.Listener) error {
	opened, err := run.Open(ctx, dir, run.OpenOptions{})
	if err != nil {
		return err
	}
	model, data, propagated := opened.Model, opened.Data, opened.Plan.Exact
	if propagated == nil {
		if propagated, err = layers.NewExactInput(ctx, data.Laplacian(), data.Features, data.Propagated, nil); err != nil {
			return err
		}
	}
	model.ReadPropagated(propagated)
	log.Printf("http://%s/nodes/%s, data: %q", listener.Addr(), data.NodeNames.At(0), data.Notes)
	return (&server{data, model, make(chan struct{}, runtime.GOMAXPROCS(0))}).serve(ctx, listener)
}

// server answers with the scores of a model.
type server struct {
	data  *datasets.Data
	model *layers.GCN
	slots chan struct{} // one for each inference at work
}

// serve answers until ctx ends, and then finishes the requests at work.
func (s *server) serve(ctx context.Context, listener net.Listener) error {
	h := &http.Server{Handler: s.handler(), ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		ended <- h.Shutdown(last)
	})
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

const late = "too many requests at once, or too large a neighbourhood\n"

// handler answers requests of up to 1 MiB, each within two seconds or with the status 503.
func (s *server) handler() http.Handler {
	p, x, mux := s.data.Laplacian(), s.data.Features, http.NewServeMux()
	mux.HandleFunc("GET /nodes/{id}", func(w http.ResponseWriter, r *http.Request) {
		v, err := s.data.Node(r.PathValue("id"))
		s.answer(w, r, err, func() ([]float32, error) { return s.model.Infer(r.Context(), p, x, []int32{v}) })
	})
	mux.HandleFunc("POST /nodes", func(w http.ResponseWriter, r *http.Request) {
		features, neighbors, err := s.data.ReadNode(r.Body)
		node := layers.NewNode{Features: features, Neighbors: neighbors}
		s.answer(w, r, err, func() ([]float32, error) { return s.model.InferNew(r.Context(), p, x, node) })
	})
	return http.TimeoutHandler(http.MaxBytesHandler(mux, 1<<20), 2*time.Second, late)
}

// answer waits for a slot, infers logits and writes them. err is about the request.
func (s *server) answer(w http.ResponseWriter, r *http.Request, err error, infer func() ([]float32, error)) {
	var logits []float32
	if err == nil {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
			logits, err = infer()
		case <-r.Context().Done():
			err = r.Context().Err()
		}
	}
	if err == nil {
		best := max(slices.Index(logits, slices.Max(logits)), 0)
		w.Header().Set("Content-Type", "application/json") // JSON has no infinite numbers: they are an error
		err = json.NewEncoder(w).Encode(map[string]any{"class": s.data.Labels.Name(best), "logits": logits})
	}
	switch {
	case err == nil:
	case r.Context().Err() != nil:
		http.Error(w, late, http.StatusServiceUnavailable)
	case errors.As(err, new(*http.MaxBytesError)):
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
	default:
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}
