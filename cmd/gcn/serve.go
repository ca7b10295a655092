package main

import (
	"errors"
	"net"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/serve"
)

func newServeCommand() *cobra.Command {
	var o struct {
		Run    string `json:"run" arg:"DIR" need:"the folder of a training run" help:"the run's folder DIR; required"`
		Data   string `json:"data" arg:"SPEC" help:"data SPEC instead of the run's own, such as after moving the files"`
		Listen string `json:"listen" default:"localhost:8080" arg:"ADDRESS" help:"ADDRESS to listen on; :8080 for all networks"`
	}
	return newCommand("serve --run DIR", &o, func(cmd *cobra.Command) (any, error) {
		opened, err := openRun(cmd.Context(), o.Run, run.OpenOptions{Data: o.Data})
		if err != nil {
			return nil, err
		}
		defer opened.Data.Close() // it was only read
		server, err := serve.New(opened.Model, opened.Data, serve.Options{Log: filepath.Join(o.Run, serve.LogFile)})
		if err != nil {
			return nil, err
		}
		listener, err := net.Listen("tcp", o.Listen)
		if err == nil {
			say(cmd.ErrOrStderr(), "http://%s/nodes/%s, %d changes so far", listener.Addr(), opened.Data.NodeNames.At(0), server.Version())
			err = server.Serve(cmd.Context(), listener, server.Handler())
		}
		return nil, errors.Join(err, server.Close())
	})
}
