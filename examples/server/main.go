// Command server answers HTTP requests with the scores of a trained model:
//
//	gcn train --out runs/first
//	go run ./examples/server -run runs/first
//	curl localhost:8080/nodes/7
//	curl -d '{"features": [0.1, …], "neighbors": [7, 12]}' localhost:8080/nodes
//
// The second form is for a node that the graph does not hold. Requests of a wrong form get
// the status 400, and requests beyond the limits 413 or 503.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

func main() {
	dir := flag.String("run", "runs/first", "folder of a training run of --conv gcn")
	address := flag.String("listen", "localhost:8080", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s, err := open(ctx, *dir)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("%d nodes at http://%s/nodes/0", s.data.Nodes(), listener.Addr())
	if err := s.serve(ctx, listener); err != nil {
		log.Fatal(err)
	}
}

// server answers with the scores of a model.
type server struct {
	data  *datasets.Data
	model *layers.GCN
	slots chan struct{} // one for each answer at work
}

// open loads a run's model with its data.
func open(ctx context.Context, dir string) (*server, error) {
	config, err := train.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	run := runOptions{Model: "program", Conv: "gcn", Activation: "elu", HiddenResidual: "none"}
	if err := json.Unmarshal(text, &run); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	options, err := run.model()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	data, err := datasets.Open(ctx, run.Data, datasets.Options{})
	if err != nil {
		return nil, err
	}
	s, err := newServer(ctx, data, run.Layers, options)
	if err != nil {
		return nil, err
	}
	_, err = train.LoadParameters(dir, s.model)
	return s, err
}

// runOptions are the options in a run's config.json that change its scores.
type runOptions struct {
	Data, Model, Conv, Activation string
	Layers, Hidden                int
	LayerNorm                     bool `json:"layer_norm"`
	BiasAfter                     bool `json:"bias_after"`
	InputLayer                    bool `json:"input_layer"`
	PreNorm                       bool `json:"pre_norm"`
	FeedForward                   bool `json:"feed_forward"`
	Residual                      bool
	HiddenResidual                string `json:"hidden_residual"`
}

// model returns the options of the run's model. A value that it does not know is an error.
func (r runOptions) model() (layers.GCNOptions, error) {
	forms := map[string]layers.Form{"program": layers.FormProgram, "equation": layers.FormEquation}
	activations := map[string]ops.Activation{"elu": ops.ActivationELU, "relu": ops.ActivationReLU, "gelu": ops.ActivationGELU}
	residuals := map[string]layers.Residual{"none": layers.ResidualNone, "identity": layers.ResidualIdentity, "linear": layers.ResidualLinear}
	o := layers.GCNOptions{Hidden: r.Hidden, LayerNorm: r.LayerNorm, BiasAfter: r.BiasAfter, InputLayer: r.InputLayer, PreNorm: r.PreNorm, FeedForward: r.FeedForward, Residual: r.Residual}
	var form, activation, residual bool
	o.Form, form = forms[r.Model]
	o.Activation, activation = activations[r.Activation]
	o.HiddenResidual, residual = residuals[r.HiddenResidual]
	switch {
	case r.Conv != "gcn":
		return o, fmt.Errorf("a run of --conv %s: train one of --conv gcn", r.Conv)
	case !form || !activation || !residual:
		return o, fmt.Errorf("a run of --model %s --activation %s --hidden-residual %s, which this server does not know", r.Model, r.Activation, r.HiddenResidual)
	}
	return o, nil
}

// newServer builds a model of the given number of convolutions. Without an input layer, P·X
// is computed once, so a request costs the rows of its neighbours.
func newServer(ctx context.Context, data *datasets.Data, depth int, options layers.GCNOptions) (*server, error) {
	if depth > 1 && !options.InputLayer {
		var err error
		if options.ExactInput, err = layers.NewExactInput(ctx, data.Laplacian(), data.Features, data.Propagated, nil); err != nil {
			return nil, err
		}
		depth--
	}
	batch := layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: data.Laplacian(), Depth: depth})
	model, err := layers.NewGCN(batch, data.Features, data.Labels, options)
	return &server{data, model, make(chan struct{}, runtime.GOMAXPROCS(0))}, err
}

// serve answers until ctx ends, and then finishes the requests at work.
func (s *server) serve(ctx context.Context, listener net.Listener) error {
	h := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 2 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		ended <- h.Shutdown(last)
	}()
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /nodes/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 32)
		s.answer(w, r, err, func(ctx context.Context) ([]float32, error) {
			return s.model.Infer(ctx, s.data.Laplacian(), s.data.Features, []int32{int32(id)})
		})
	})
	mux.HandleFunc("POST /nodes", func(w http.ResponseWriter, r *http.Request) {
		var node struct {
			Features  []float32 `json:"features"`
			Neighbors []int32   `json:"neighbors"`
		}
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&node)
		if err == nil && decoder.Decode(new(struct{})) != io.EOF {
			err = errors.New("more than one JSON object")
		}
		s.answer(w, r, err, func(ctx context.Context) ([]float32, error) {
			return s.model.InferNew(ctx, s.data.Laplacian(), s.data.Features, layers.NewNode{Features: node.Features, Neighbors: node.Neighbors})
		})
	})
	return mux
}

// answer waits for a slot, computes logits and writes them. err is about the request.
func (s *server) answer(w http.ResponseWriter, r *http.Request, err error, logits func(context.Context) ([]float32, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	var scores []float32
	if err == nil {
		select {
		case s.slots <- struct{}{}:
			scores, err = logits(ctx)
			<-s.slots
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if slices.ContainsFunc(scores, func(v float32) bool { return v-v != 0 }) { // JSON has no such numbers
		err = errors.New("features so large that the scores are not finite")
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
	case ctx.Err() != nil:
		http.Error(w, "too many requests at once, or too large a neighbourhood", http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		best := 0
		for c, score := range scores {
			if score > scores[best] {
				best = c
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"class": best, "logits": scores}) // the client has gone if it fails
	}
}
