package serve

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

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
	metrics *metrics.Set
	slots   chan struct{} // of predictions

	now   atomic.Pointer[version] // that requests see
	added sync.Map                // see numbers

	tasks   chan *change // that wait
	writing sync.Mutex   // of the log and of now
	log     changeLog
}

// New returns a server of model, for nodes of data, such as those of run.Open. It applies the
// changes in Options.Log. The model reads P·X of data from now on. Neither model nor data must
// change, or be closed, before Close. Cost: P·X, and the changes in the log.
func New(model *layers.GCN, data *datasets.Data, o Options) (*Server, error) {
	if model == nil || data == nil || data.Graph == nil || data.Features == nil || data.Labels == nil {
		return nil, errors.New("serve: a server needs a model and data")
	}
	s, err := unchanged(data)
	if err != nil {
		return nil, err
	}
	propagated, err := layers.NewExactInput(context.Background(), data.Laplacian(), data.Features, data.Propagated, nil)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	model.ReadPropagated(propagated)
	o.Timeout, o.Body, o.Nodes = cmp.Or(o.Timeout, 2*time.Second), cmp.Or(o.Body, 1<<20), cmp.Or(o.Nodes, 256)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	s.model, s.options, s.metrics, s.slots = model, o, metrics.NewSet(), make(chan struct{}, max(o.Workers, 1))
	s.metrics.NewGauge("gcn_version", func() float64 { return float64(s.Version()) })
	s.metrics.NewGauge("gcn_nodes", func() float64 { return float64(s.now.Load().graph.Nodes()) })
	s.metrics.NewGauge("gcn_edges", func() float64 { return float64(s.now.Load().graph.Edges()) })
	if o.Log != "" {
		if err := s.openLog(o.Log); err != nil {
			return nil, errors.Join(fmt.Errorf("serve: %w", err), s.Close())
		}
	}
	return s, nil
}

// unchanged returns a server that has no model and no changes.
func unchanged(data *datasets.Data) (*Server, error) {
	base, err := graph.NewOverlay(data.Laplacian(), data.Features)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	_, _ = data.Node("") // makes the index of names
	s := &Server{data: data, tasks: make(chan *change, most)}
	s.now.Store(&version{graph: base})
	return s, nil
}

// Close waits for changes at work, and closes the log. Requests for changes then fail.
func (s *Server) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.log.broken = fmt.Errorf("%w: the server has ended", errUnavailable)
	if s.log.file == nil {
		return nil
	}
	return s.log.file.Close()
}

// Version returns the number of changes that requests see.
func (s *Server) Version() int64 { return s.now.Load().number }

// Data returns the data with all changes, such as to train on. Cost: O(nodes + edges).
func (s *Server) Data() (*datasets.Data, error) {
	v := s.now.Load()
	return s.data.Changed(v.graph, v.added)
}

// Serve answers requests by handler, such as that of Handler, until ctx ends, and then for at
// most ten seconds the requests at work. It closes the listener, and not the server.
func (s *Server) Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	h := &http.Server{Handler: handler, ReadTimeout: 10 * time.Second, WriteTimeout: s.options.Timeout + 10*time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		ended <- h.Shutdown(last)
	})
	if err := h.Serve(listener); stop() {
		return fmt.Errorf("serve: %w", err)
	}
	return <-ended
}

//go:embed openapi.json
var openAPI embed.FS

// Handler returns the handler of all requests; openapi.json describes them. A caller may add
// others to it.
func (s *Server) Handler() *http.ServeMux {
	mux := http.NewServeMux()
	work := func(pattern string, slots chan struct{}, answer func(r *http.Request, body []byte) (any, error)) {
		times := s.metrics.GetOrCreatePrometheusHistogramExt(fmt.Sprintf("gcn_request_seconds{request=%q}", pattern),
			[]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5})
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			defer times.UpdateDuration(time.Now())
			r.Body = http.MaxBytesReader(w, r.Body, s.options.Body)
			result, err := s.work(r, slots, answer)
			status := respond(w, result, err)
			s.metrics.GetOrCreateCounter(fmt.Sprintf("gcn_requests_total{request=%q,status=\"%d\"}", pattern, status)).Inc()
		})
	}
	work("GET /nodes/{id...}", s.slots, s.node)
	work("POST /predict", s.slots, s.nodes)
	work("POST /changes", make(chan struct{}, most), s.change)
	mux.Handle("GET /{$}", http.RedirectHandler("/openapi.json", http.StatusFound))
	mux.Handle("GET /openapi.json", http.FileServerFS(openAPI))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { s.metrics.WritePrometheus(w) })
	return mux
}

// most is the largest number of changes that one fsync puts on disk.
const most = 1024

// errUnavailable is wrapped by the error of a right request that has no answer now.
var errUnavailable = errors.New("not now")

// work reads the body of a request, waits for a slot, and answers.
func (s *Server) work(r *http.Request, slots chan struct{}, answer func(r *http.Request, body []byte) (any, error)) (any, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.options.Timeout)
	defer cancel()
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
		return answer(r.WithContext(ctx), body)
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: too many requests at once", errUnavailable)
	}
}

// respond writes a result, or an error with its status, and returns the status.
func respond(w http.ResponseWriter, result any, err error) int {
	status := http.StatusBadRequest
	switch {
	case err == nil:
		status = http.StatusOK
	case errors.As(err, new(*http.MaxBytesError)):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		status, err = http.StatusRequestTimeout, errors.New("the body of the request took too long")
	case errors.Is(err, errNoNode):
		status = http.StatusNotFound
	case errors.Is(err, errUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		status = http.StatusServiceUnavailable
	}
	if err != nil {
		result = map[string]string{"error": err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(result) // the client may have left
	return status
}

// node is GET /nodes/{id}.
func (s *Server) node(r *http.Request, _ []byte) (any, error) {
	all, err := s.ask(r, question{Nodes: []nodeID{nodeID(r.PathValue("id"))}})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// nodes is POST /predict.
func (s *Server) nodes(r *http.Request, body []byte) (any, error) {
	var q question
	if err := decode(body, &q); err != nil {
		return nil, err
	}
	all, err := s.ask(r, q)
	return map[string][]prediction{"predictions": all}, err
}

// change is POST /changes. A change that waits will be made: its answer says so, also if it is late.
func (s *Server) change(_ *http.Request, body []byte) (any, error) {
	c, err := s.readChange(body)
	if err != nil {
		return nil, err
	}
	err = s.commit(c)
	return c.made, err
}
