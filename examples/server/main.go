// Command server answers HTTP requests with the predictions of a run of gcn train, as gcn serve
// does, and adds a request of its own:
//
//	curl localhost:8080/nodes/7
//	curl localhost:8080/version
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/serve"
)

func main() {
	dir := flag.String("run", "runs/first", "folder of a training run")
	address := flag.String("listen", "localhost:8080", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := listen(ctx, *dir, *address); err != nil {
		log.Fatal(err)
	}
}

func listen(ctx context.Context, dir, address string) error {
	handler, server, err := handlerOf(ctx, dir)
	if err != nil {
		return err
	}
	defer server.Close() // all changes are in the log already
	web := &http.Server{Addr: address, Handler: handler}
	context.AfterFunc(ctx, func() { web.Shutdown(context.Background()) })
	if err := web.ListenAndServe(); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// handlerOf returns the requests of gcn serve with another one.
func handlerOf(ctx context.Context, dir string) (http.Handler, *serve.Server, error) {
	opened, err := run.Open(ctx, dir, run.OpenOptions{})
	if err != nil {
		return nil, nil, err
	}
	server, err := serve.New(opened.Model, opened.Data, serve.Options{Log: filepath.Join(dir, serve.LogFile)})
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", server.Handler())
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, server.Version()) })
	return mux, server, nil
}
