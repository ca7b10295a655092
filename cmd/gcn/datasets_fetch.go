package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/serve"
)

// cacheOptions say where named data sets are kept, and where they are downloaded
// from.
type cacheOptions struct {
	dir, mirror string
	offline     bool
}

func (c *cacheOptions) flags(fs *pflag.FlagSet) {
	fs.StringVar(&c.dir, "cache", "", "`FOLDER` of downloaded data sets (default $GCN_DATA, or gcn in the user's cache folder)")
	fs.StringVar(&c.mirror, "mirror", "", "download `URL`/NAME/FILE instead of the data sets' own addresses (default $GCN_MIRROR)")
	fs.BoolVar(&c.offline, "offline", false, "never download: a named data set must be in the cache")
}

// check reports a mirror that is no address.
func (c *cacheOptions) check() error {
	if u, err := url.Parse(c.mirror); c.mirror == "" || err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
		return nil
	}
	return usagef("--mirror %s: want an address, such as https://example.org/data", c.mirror)
}

type dataOptionsKey struct{}

// in returns a context that carries the options to every command that opens
// data.
func (c *cacheOptions) in(ctx context.Context, stderr io.Writer) context.Context {
	shown := &fetchDisplay{w: stderr}
	return context.WithValue(ctx, dataOptionsKey{}, datasets.Options{
		Schemes: schemes(), Cache: c.dir, Mirror: c.mirror, Offline: c.offline, Progress: shown.show,
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
	w    io.Writer
	last datasets.FetchProgress
	bar  *progressbar.ProgressBar
}

func (f *fetchDisplay) show(p datasets.FetchProgress) {
	same := p.Name == f.last.Name && p.Stage == f.last.Stage && p.File == f.last.File && p.Text == f.last.Text
	f.last = p
	if !same {
		f.clear()
		size := ""
		if p.Total > 0 {
			size = fmt.Sprintf(", %.1f MB", float64(p.Total)/1e6)
		}
		if p.Done > 0 {
			size += fmt.Sprintf(", %.1f of them are here", float64(p.Done)/1e6)
		}
		say(f.w, "%s: %s", p.Name, map[string]string{
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
	terminal := terminal(f.w)
	if terminal == nil || p.Stage == "prepare" || p.Stage == "note" {
		return
	}
	if f.bar == nil {
		f.bar = newBar(terminal, p.Total, progressbar.OptionShowBytes(p.Stage != stageCorrect))
	}
	// A terminal that went away must not end the download.
	_ = f.bar.Set64(p.Done)
	if p.Stage == stageCorrect && p.Done == p.Total {
		f.clear()
	}
}

// stageCorrect is the stage of correct and smooth.
const stageCorrect = "correct"

func (f *fetchDisplay) clear() {
	if f.bar != nil {
		_ = f.bar.Clear() // as above
		f.bar = nil
	}
}

func newDatasetsFetchCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "fetch NAME",
		Short: "Download a named data set into the cache",
		Long: `Download a named data set, check it, and keep it in the cache as a store.
It resumes an interrupted download. A data set already in the cache is not changed.

ogbn-papers100M is a download of 60 GB. The command says how much disk space it needs,
checks it before it starts, and converts within half of the memory, at most 8 GiB. If it
is interrupted or killed, the same command goes on. "gcn datasets convert" makes a store
of it in another place, or in half precision.`,
		Example: `  gcn datasets fetch ogbn-arxiv
  gcn datasets fetch cora --cache /data/gcn`,
		Args:      exactly(1, "datasets fetch needs one NAME: %s", strings.Join(datasets.Names(), ", ")),
		ValidArgs: datasets.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if names := datasets.Names(); !slices.Contains(names, args[0]) {
				return usagef("unknown data set %q%s; there are: %s", args[0], run.DidYouMean(args[0], names), strings.Join(names, ", "))
			}
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
			return printConversion(cmd, args[0], args[0], done, start, asJSON)
		},
	}
	addJSONFlag(cmd, &asJSON)
	return cmd
}
