package main

import (
	"context"
	"errors"
	"io"
	"net/url"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/serve"
)

// globalOptions say where named data sets are kept and downloaded from, and how long to wait
// for a rank.
type globalOptions struct {
	Cache       string        `json:"cache" arg:"FOLDER" help:"FOLDER of downloaded data sets (default $GCN_DATA, or gcn in the user's cache folder)"`
	Mirror      address       `json:"mirror" arg:"URL" help:"download URL/NAME/FILE instead of the data sets' own addresses (default $GCN_MIRROR)"`
	Offline     bool          `json:"offline" help:"never download: a named data set must be in the cache"`
	RankTimeout time.Duration `json:"rank_timeout" default:"1m" range:"[0," arg:"TIME" help:"with an MPI launcher: end the job, and name the rank, if a rank gives no sign of life for TIME; 0: wait forever"`
}

// address is the address of a mirror.
type address string

// Set implements pflag.Value.
func (a *address) Set(text string) error {
	if u, err := url.Parse(text); text != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("want an address, such as https://example.org/data")
	}
	*a = address(text)
	return nil
}

type dataOptionsKey struct{}

// in returns a context that carries the options to every command that opens
// data.
func (g *globalOptions) in(ctx context.Context, stderr io.Writer) context.Context {
	return context.WithValue(ctx, dataOptionsKey{}, datasets.Options{
		Schemes: schemes(), Cache: g.Cache, Mirror: string(g.Mirror), Offline: g.Offline, Progress: newFetchDisplay(stderr),
	})
}

// schemes returns the schemes that the command adds to those of package datasets.
func schemes() []datasets.Scheme { return []datasets.Scheme{serve.Scheme()} }

// dataOptions returns the options of every command that opens data.
func dataOptions(ctx context.Context) datasets.Options {
	o, _ := ctx.Value(dataOptionsKey{}).(datasets.Options)
	return o
}
