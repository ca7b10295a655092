package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

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
	shown := &fetchDisplay{meter: meter{w: stderr}}
	return context.WithValue(ctx, dataOptionsKey{}, datasets.Options{
		Schemes: schemes(), Cache: g.Cache, Mirror: string(g.Mirror), Offline: g.Offline, Progress: shown.show,
	})
}

// schemes returns the schemes that the command adds to those of package datasets.
func schemes() []datasets.Scheme { return []datasets.Scheme{serve.Scheme()} }

// dataOptions returns the options of every command that opens data.
func dataOptions(ctx context.Context) datasets.Options {
	o, _ := ctx.Value(dataOptionsKey{}).(datasets.Options)
	return o
}

// fetchDisplay shows a download, the propagation of the features, correct and smooth, or a
// long conversion on standard error, with a bar on a terminal.
type fetchDisplay struct {
	meter
	last datasets.FetchProgress
}

func (f *fetchDisplay) show(p datasets.FetchProgress) {
	same := p.Name == f.last.Name && p.Stage == f.last.Stage && p.File == f.last.File && p.Text == f.last.Text
	f.last = p
	if !same {
		size := ""
		if p.Total > 0 {
			size = fmt.Sprintf(", %.1f MB", float64(p.Total)/1e6)
		}
		if p.Done > 0 {
			size += fmt.Sprintf(", %.1f of them are here", float64(p.Done)/1e6)
		}
		f.clear(p.Name + ": " + map[string]string{
			"download":   "downloading " + p.Address + size,
			"note":       p.Text,
			"check":      "checking " + p.File,
			"unpack":     "unpacking",
			"prepare":    "reading it and writing the store",
			"propagate":  "propagating the features once",
			"edges":      "collecting the edges",
			"rows":       "sorting the edges into rows",
			"features":   "writing the features",
			stageCorrect: fmt.Sprintf("spreading errors and labels over the graph, at most %d times", p.Total),
		}[p.Stage])
	}
	if p.Stage == "prepare" || p.Stage == "note" {
		return
	}
	f.bytes = p.Stage != stageCorrect
	f.at(p.Done, p.Total, "", nil)
	if !f.bytes && p.Done == p.Total {
		f.clear("")
	}
}

// stageCorrect is the stage of correct and smooth.
const stageCorrect = "correct"

func newDatasetsFetchCommand() *cobra.Command {
	return newCommand(&cobra.Command{
		Use:       "fetch NAME",
		Args:      oneArgument("datasets fetch needs one NAME", datasets.Names()),
		ValidArgs: datasets.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			start := time.Now()
			o, done := dataOptions(cmd.Context()), "in the cache already"
			show := o.Progress
			o.Progress = func(p datasets.FetchProgress) {
				done = ""
				show(p)
			}
			path, err := datasets.Fetch(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			if info, err := os.Stat(path); err == nil {
				say(cmd.ErrOrStderr(), "%s: %s, %.1f MB", args[0], path, float64(info.Size())/1e6)
			}
			return printConversion(cmd, args[0], args[0], done, start)
		},
	}, new(resultOptions))
}
