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
		Use:         "serve --run DIR",
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
