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
	"net"
	"net/http"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/serve"
)

func main() {
	dir := flag.String("run", "runs/first", "folder of a training run")
	flag.Parse()
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	listener, err := net.Listen("tcp", "localhost:8080")
	if err != nil {
		log.Fatal(err)
	}
	if err := listen(ctx, *dir, listener); err != nil {
		log.Fatal(err)
	}
}

// listen answers the requests of gcn serve, and another one, until ctx ends.
func listen(ctx context.Context, dir string, listener net.Listener) error {
	opened, err := run.Open(ctx, dir, run.OpenOptions{})
	if err != nil {
		return err
	}
	server, err := serve.New(opened.Model, opened.Data, serve.Options{Log: filepath.Join(dir, serve.LogFile)})
	if err != nil {
		return err
	}
	defer server.Close() // the log has all changes
	handler := server.Handler()
	handler.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, server.Version()) })
	return server.Serve(ctx, listener, handler)
}
