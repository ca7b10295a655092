package main

import (
	"errors"
	"net"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/serve"
)

func newServeCommand() *cobra.Command {
	var dir, data, address string
	cmd := &cobra.Command{
		Use:   "serve --run DIR",
		Short: "Answer predictions over HTTP, for a graph that may change meanwhile",
		Long: `Answer requests with the predictions of a trained model, as JSON over HTTP. A prediction is
exact: it has the numbers of the model on the graph as it is at that moment. Changes are
written to DIR/changes.log before they are answered, and are there again at the next start.
gcn datasets convert serve:DIR FILE writes the changed data. docs/serving.md describes the
requests, the costs, and how to run it as a service; /openapi.json describes the requests too.`,
		Example: `  gcn serve --run runs/first
  curl localhost:8080/nodes/7
  curl -d '{"new": [{"features": [0.1, 2], "neighbors": [7, 12]}]}' localhost:8080/predict
  curl -d '{"add_edges": [[7, 12]], "remove_nodes": [3]}' localhost:8080/changes`,
		Args:        noArguments,
		Annotations: shared(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return usagef("--run is needed: the folder of a training run")
			}
			opened, err := openRun(cmd.Context(), dir, data, "cpu", nil)
			if err != nil {
				return err
			}
			defer opened.Data.Close() // it was only read
			server, err := serve.New(opened.Model, opened.Data, serve.Options{Log: filepath.Join(dir, serve.LogFile)})
			if err != nil {
				return err
			}
			listener, err := net.Listen("tcp", address)
			if err == nil {
				say(cmd.ErrOrStderr(), "http://%s/nodes/%s, %d changes so far", listener.Addr(), opened.Data.NodeNames.At(0), server.Version())
				err = server.Serve(cmd.Context(), listener, server.Handler())
			}
			return errors.Join(err, server.Close())
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&dir, "run", "", "the run's folder `DIR`; required")
	fs.StringVar(&data, "data", "", "data `SPEC` instead of the run's own, such as after moving the files")
	fs.StringVar(&address, "listen", "localhost:8080", "`ADDRESS` to listen on; :8080 for all networks")
	return cmd
}
