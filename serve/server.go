package serve

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
)

// Options of a Server. The zero value is ready to use.
type Options struct {
	Log     string        // file of the changes; "": changes are lost when the server ends
	Timeout time.Duration // of a request; 0 means 2 s
	Body    int64         // largest body of a request in bytes; 0 means 1 MiB
	Nodes   int           // most nodes in a request for predictions; 0 means 256
	Workers int           // requests for predictions at work at once; 0 means the number of cores
}

// Server answers requests about one model and one graph. Its methods may be called concurrently.
type Server struct {
	model   *layers.GCN
	data    *datasets.Data
	options Options
	metrics metrics

	now   atomic.Pointer[version] // that requests see
	added sync.Map                // []int32, the numbers of a name of added nodes, in the order of adding
	log   *changeLog
	slots chan struct{}

	closing sync.RWMutex // held for writing to close tasks
	closed  bool
	tasks   chan task
	ended   chan struct{} // the committer has ended
}

// New returns a server of model, for nodes of data, such as those of run.Open. It applies the
// changes in Options.Log. The model reads P·X of data from now on. Neither model nor data must
// change, or be closed, before Close. Cost: P·X, and the changes in the log.
func New(model *layers.GCN, data *datasets.Data, o Options) (*Server, error) {
	if model == nil || data == nil || data.Graph == nil || data.Features == nil || data.Labels == nil {
		return nil, errors.New("serve: a server needs a model and data")
	}
	o.Timeout, o.Body, o.Nodes = cmp.Or(o.Timeout, 2*time.Second), cmp.Or(o.Body, 1<<20), cmp.Or(o.Nodes, 256)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	if o.Timeout < 0 || o.Body < 0 || o.Nodes < 0 || o.Workers < 0 {
		return nil, fmt.Errorf("serve: a timeout of %v, bodies of %d bytes, %d nodes, %d workers: want positive numbers", o.Timeout, o.Body, o.Nodes, o.Workers)
	}
	base, err := graph.NewOverlay(data.Laplacian(), data.Features)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	propagated, err := layers.NewExactInput(context.Background(), data.Laplacian(), data.Features, data.Propagated, nil)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	model.ReadPropagated(propagated)
	s := &Server{model: model, data: data, options: o, slots: make(chan struct{}, o.Workers), tasks: make(chan task, most), ended: make(chan struct{})}
	s.now.Store(&version{graph: base})
	if o.Log != "" {
		if s.log, err = openLog(o.Log, headOf(data), s.replay); err != nil {
			return nil, err
		}
	}
	go s.commitChanges()
	return s, nil
}

// Close waits for the changes that were accepted, and closes the log. Requests for changes then
// fail.
func (s *Server) Close() error {
	s.closing.Lock()
	if !s.closed {
		s.closed = true
		close(s.tasks)
	}
	s.closing.Unlock()
	<-s.ended
	if s.log == nil {
		return nil
	}
	return s.log.file.Close()
}

// Version returns the number of changes that requests see.
func (s *Server) Version() int64 { return s.now.Load().number }

// Serve answers requests until ctx ends, and then for at most ten seconds the requests at work.
// It closes the listener, and not the server.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	h := &http.Server{Handler: s.Handler(), ReadTimeout: 10 * time.Second, WriteTimeout: s.options.Timeout + 10*time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		ended <- h.Shutdown(last)
	})
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return fmt.Errorf("serve: %w", err)
	}
	return <-ended
}

//go:embed openapi.json
var openAPI []byte

// Handler returns the handler of all requests; openapi.json describes them.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	work := func(pattern string, answer func(r *http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			began := time.Now()
			ctx, cancel := context.WithTimeout(r.Context(), s.options.Timeout)
			defer cancel()
			r = r.WithContext(ctx)
			r.Body = http.MaxBytesReader(w, r.Body, s.options.Body)
			result, err := answer(r)
			status := respond(w, result, err)
			s.metrics.observe(pattern, status, time.Since(began))
		})
	}
	work("GET /nodes/{id...}", s.node)
	work("POST /predict", s.predict)
	work("POST /changes", s.change)
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(openAPI)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { s.metrics.write(w, s.now.Load()) })
	return mux
}

// errBusy is the error of a request that found no worker in time.
var errBusy = errors.New("too many requests at once, or too large a neighbourhood")

// respond writes a result, or an error with its status, and returns the status.
func respond(w http.ResponseWriter, result any, err error) int {
	status := http.StatusOK
	var text []byte
	if err == nil {
		text, err = json.Marshal(result) // JSON has no infinite numbers: they are an error
	}
	if err != nil {
		var failed *logError
		switch {
		case errors.As(err, new(*http.MaxBytesError)):
			status = http.StatusRequestEntityTooLarge
		case errors.Is(err, errNoNode):
			status = http.StatusNotFound
		case errors.Is(err, errBusy) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.As(err, &failed):
			status = http.StatusServiceUnavailable
		default:
			status = http.StatusBadRequest
		}
		text, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(text, '\n'))
	return status
}

// logError is an error of the log: the request may be right.
type logError struct{ error }

func (e *logError) Unwrap() error { return e.error }

// change is POST /changes.
func (s *Server) change(r *http.Request) (any, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c, err := s.readChange(text)
	if err != nil {
		return nil, err
	}
	done := make(chan commit, 1)
	if err := s.enqueue(r.Context(), task{c, done}); err != nil {
		return nil, err
	}
	// A change that waits will be made: its answer must say so, also if it is late.
	outcome := <-done
	if outcome.err != nil {
		return nil, outcome.err
	}
	if outcome.failed != nil {
		return nil, &logError{outcome.failed}
	}
	answer := struct {
		Version int64    `json:"version"`
		Added   []string `json:"added,omitempty"` // the ids of the new nodes
	}{Version: outcome.version.number}
	answer.Added = outcome.version.added[len(outcome.version.added)-len(c.AddNodes):]
	return answer, nil
}

// enqueue gives a task to the committer.
func (s *Server) enqueue(ctx context.Context, t task) error {
	s.closing.RLock()
	defer s.closing.RUnlock()
	if s.closed {
		return &logError{errors.New("the server ends")}
	}
	select {
	case s.tasks <- t:
		return nil
	case <-ctx.Done():
		return errBusy
	}
}

// Data returns the data with all changes, such as to train on. Cost: O(nodes + edges).
func (s *Server) Data() (*datasets.Data, error) {
	v := s.now.Load()
	return s.data.Changed(v.graph, v.added)
}
