// Command server answers HTTP requests with the predictions of a run of gcn train:
//
//	curl localhost:8080/nodes/7
//	curl -d '{"features": [0.1, …], "neighbors": [7, 12]}' localhost:8080/nodes
//
// An answer has the class, or the predicted tasks, and the probabilities by name; -logits gives
// the scores before softmax or sigmoid. The second form is for a node that the graph does not
// hold. Its features are scaled as the data's: the server prints the changes to the data. Nodes
// have the ids of the data, with / or as a path escapes them; an unknown one has the status 404.
// Probabilities agree with gcn predict's up to rounding: the server reads P·X, and answers one
// node at a time.
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
	"github.com/gcn-layerwise/gcn/score"
	"github.com/gcn-layerwise/gcn/train"
)

func main() {
	dir := flag.String("run", "runs/first", "folder of a training run")
	address := flag.String("listen", "localhost:8080", "address to listen on")
	logits := flag.Bool("logits", false, "answer with logits in place of probabilities")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", *address)
	if err == nil {
		err = run(ctx, *dir, listener, *logits)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run loads a run's model with its data and serves it. P·X is computed once.
func run(ctx context.Context, dir string, listener net.Listener, logits bool) error {
	model, data, err := train.OpenRun(ctx, dir)
	if err != nil {
		return err
	}
	propagated, err := layers.NewExactInput(ctx, data.Laplacian(), data.Features, data.Propagated, nil)
	if err != nil {
		return err
	}
	model.ReadPropagated(propagated)
	log.Printf("http://%s/nodes/%s, data: %q", listener.Addr(), data.NodeNames.At(0), data.Notes)
	return (&server{data, model, logits, make(chan struct{}, runtime.GOMAXPROCS(0))}).serve(ctx, listener)
}

// server answers with the predictions of a model.
type server struct {
	data   *datasets.Data
	model  *layers.GCN
	logits bool          // in place of probabilities
	slots  chan struct{} // one for each inference at work
}

// prediction is an answer.
type prediction struct {
	Node          string             `json:"node,omitempty"`
	Class         string             `json:"class,omitempty"`
	Tasks         []string           `json:"tasks,omitzero"`
	Probabilities map[string]float32 `json:"probabilities,omitempty"`
	Logits        map[string]float32 `json:"logits,omitempty"`
}

// prediction names the outputs of a node. A task is predicted if its logit is positive.
func (s *server) prediction(node string, scores []float32) *prediction {
	y, p, named := s.data.Labels, &prediction{Node: node}, map[string]float32{}
	if y.Tasks == 0 {
		p.Class = y.Name(slices.Index(scores, slices.Max(scores)))
	} else {
		p.Tasks = []string{}
		for k, logit := range scores {
			if logit > 0 {
				p.Tasks = append(p.Tasks, y.Name(k))
			}
		}
	}
	if p.Logits = named; !s.logits {
		p.Logits, p.Probabilities = nil, named
		score.Probabilities(scores, y)
	}
	for k, v := range scores {
		named[y.Name(k)] = v
	}
	return p
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
	mux.HandleFunc("GET /nodes/{id...}", func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		v, err := s.data.Node(id)
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		s.answer(w, r, id, nil, func() ([]float32, error) { return s.model.Infer(r.Context(), p, x, []int32{v}) })
	})
	mux.HandleFunc("POST /nodes", func(w http.ResponseWriter, r *http.Request) {
		features, neighbors, err := s.data.ReadNode(r.Body)
		node := layers.NewNode{Features: features, Neighbors: neighbors}
		s.answer(w, r, "", err, func() ([]float32, error) { return s.model.InferNew(r.Context(), p, x, node) })
	})
	return http.TimeoutHandler(http.MaxBytesHandler(mux, 1<<20), 2*time.Second, late)
}

// answer waits for a slot, infers logits and writes the prediction. err is about the request.
func (s *server) answer(w http.ResponseWriter, r *http.Request, node string, err error, infer func() ([]float32, error)) {
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
	if err == nil && slices.ContainsFunc(logits, func(x float32) bool { return x-x != 0 }) {
		err = errors.New("the logits are not finite: the features are too large")
	}
	if err == nil {
		w.Header().Set("Content-Type", "application/json")
		err = json.NewEncoder(w).Encode(s.prediction(node, logits))
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
