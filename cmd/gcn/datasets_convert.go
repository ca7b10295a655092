package main

import (
	"cmp"
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
)

// conversion is the result that gcn datasets convert and fetch print.
type conversion struct {
	Spec      string `json:"spec"` // of the written data set
	From      string `json:"from"`
	Nodes     int    `json:"nodes"`
	Edges     int64  `json:"edges"`
	WallS     number `json:"wall_s"`
	OpenMS    number `json:"open_ms"`
	PeakRSSMB number `json:"peak_rss_mb"`
}

func newDatasetsConvertCommand() *cobra.Command {
	var asJSON, propagated bool
	var precision, memory, scratch string
	precisions := []string{string(datasets.Float32), string(datasets.Float16)}
	cmd := &cobra.Command{
		Use:   "convert SPEC FILE|DIR/",
		Short: "Write a data set as a store, or as NumPy files if the path ends in a slash",
		Long: `Write a data set as a store, this program's own file format. A store of any size
opens in milliseconds, and reads from disk only the parts in use. If the path ends
in a slash, the command writes a folder of NumPy files, which npy: and Python read.

With --features float16 the features take half the bytes, rounded to about three
decimal digits. They are widened on use.

With --propagated the store also holds P·X, the features after one propagation, in
the same format. Training with --exact-input then reads it from the file.

ogbn-papers100M, a folder in OGB's binary layout, and generated data that does not fit
are converted without holding them in memory. --memory bounds this conversion, and
P·X of any data, which is computed in blocks of rows. The rows of the graph lie in
temporary files beside the store, or with --scratch elsewhere. A conversion that is
interrupted or killed starts again.`,
		Example: `  gcn datasets convert synth:products products.safetensors
  gcn datasets convert ogbn-products small.safetensors --features float16
  gcn datasets convert synth:products products.safetensors --propagated --features float16
  gcn datasets convert ogb:ogbn_arxiv arxiv.npy/
  gcn datasets convert synth:papers100M papers.safetensors --features float16 --memory 9GiB
  gcn datasets convert ogbn-papers100M papers.safetensors --features float16 --memory 8GiB
  gcn datasets convert ogb:papers100M-bin papers.safetensors --memory 8GiB --scratch /fast/disk
  gcn datasets convert store:papers.safetensors papers-px.safetensors --propagated --memory 8GiB
  gcn train --data store:products.safetensors`,
		Args: exactly(2, "datasets convert needs a SPEC and a path to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkSpec(args[0]); err != nil {
				return err
			}
			start := time.Now()
			o := dataOptions(cmd.Context())
			if err := oneOf("features", cmp.Or(precision, precisions[0]), precisions); err != nil {
				return err
			}
			o.Precision, o.Propagated, o.Scratch = datasets.Precision(precision), propagated, scratch
			if cmd.Flags().Changed("memory") {
				bytes, err := parseBytes(memory)
				if err != nil {
					return usagef("--memory %s: %v", memory, err)
				}
				o.Memory = bytes
				defer debug.SetMemoryLimit(debug.SetMemoryLimit(bytes)) // of the garbage collector
			}
			spec, err := datasets.Convert(cmd.Context(), args[0], args[1], o)
			if err != nil {
				return err
			}
			return printConversion(cmd, args[0], spec, "", start, asJSON)
		},
	}
	cmd.Flags().StringVar(&precision, "features", "", "`PRECISION` of the features in the store, float32 or float16 (default: unchanged)")
	cmd.Flags().BoolVar(&propagated, "propagated", false, "write the features after one propagation too, for --exact-input")
	cmd.Flags().StringVar(&memory, "memory", "", "memory of a conversion that does not hold the data in memory, and of P·X, such as `8GiB`; mapped files do not count (default: half of the memory, at most 8GiB)")
	cmd.Flags().StringVar(&scratch, "scratch", "", "`DIR` of its temporary files (default: beside the store)")
	complete(cmd, "features", func() []string { return precisions })
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// parseBytes reads a positive number of bytes with a unit: 8GiB, 500MB, 1e9.
func parseBytes(text string) (int64, error) {
	scale := 1.0
	number := strings.Replace(strings.TrimSuffix(text, "B"), "K", "k", 1) // KiB, and KB for kB
	for k, unit := range []string{"k", "M", "G", "T"} {
		if n, found := strings.CutSuffix(number, unit+"i"); found {
			number, scale = n, math.Pow(1024, float64(k+1))
			break
		}
		if n, found := strings.CutSuffix(number, unit); found {
			number, scale = n, math.Pow(1000, float64(k+1))
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if v *= scale; err != nil || !(v >= 1) || v > math.MaxInt64/2 {
		return 0, fmt.Errorf("want a number of bytes, such as 8GiB or 500MB")
	}
	return int64(v), nil
}

// printConversion opens the written data set and describes it. done is the text about the work;
// "" gives the time since start.
func printConversion(cmd *cobra.Command, from, spec, done string, start time.Time, asJSON bool) error {
	took := time.Since(start)
	done = cmp.Or(done, fmt.Sprintf("from %s; written in %.1f s", from, took.Seconds()))
	start = time.Now()
	data, err := datasets.Open(cmd.Context(), spec, dataOptions(cmd.Context()))
	if err != nil {
		return err
	}
	defer data.Close() // it was only read
	c := conversion{
		Spec: spec, From: from, Nodes: data.Nodes(), Edges: data.Edges(),
		WallS: finite.Measured(took.Seconds()), OpenMS: finite.Measured(time.Since(start).Seconds() * 1e3), PeakRSSMB: finite.Measured(machine.PeakRSS()),
	}
	done += fmt.Sprintf(", opens in %.1f ms", float64(c.OpenMS))
	if asJSON {
		return printJSON(cmd.OutOrStdout(), c)
	}
	return printLine(cmd.OutOrStdout(), "%s: %s nodes, %s edges, %s, at most %.0f MB of memory", spec, thousands(int64(c.Nodes)), thousands(c.Edges), done, float64(c.PeakRSSMB))
}
