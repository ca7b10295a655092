package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/bench"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// scaleRow is the cost of training on one graph.
type scaleRow struct {
	Spec        string `json:"spec"`
	Nodes       int    `json:"nodes"`
	Edges       int64  `json:"edges"`
	StoreMB     number `json:"store_mb"`
	MakeS       number `json:"make_s,omitempty"` // absent if the store was there
	OpenMS      number `json:"open_ms"`
	LaplacianMS number `json:"laplacian_ms"` // the scales of P, computed once from all degrees
	bench.ScaleReport
}

// scaleResult is the cost of training against the size of the graph.
type scaleResult struct {
	Dataset string     `json:"dataset"`
	Method  string     `json:"method"`
	Samples intList    `json:"samples"`
	Hidden  int        `json:"hidden"`
	Layers  int        `json:"layers"`
	Batches int        `json:"batches"`
	Workers int        `json:"workers"`
	Cold    bool       `json:"cold"`
	Rows    []scaleRow `json:"rows"`
}

// scaleBench is one execution of "gcn bench scale".
type scaleBench struct {
	trainOptions
	sizes     intList
	stores    string
	batches   int
	evalLimit int
	cold      bool
	out       string
	asJSON    bool
}

const scaleName = "scale" // of the files in --out

func newBenchScaleCommand() *cobra.Command {
	b := &scaleBench{sizes: intList{10_000, 100_000, 1_000_000}}
	cmd := &cobra.Command{
		Use:   "scale [SPEC…]",
		Short: "Measure sampling, steps, evaluation, memory and opening against the graph's size",
		Long: `Measure training on generated graphs of growing size, each mapped from a store.
The sampling and step times are of batches that were read before, so that the graph is
in memory if it fits; the first pass is timed too, with --cold after the store has left
the system's cache. Memory is the process's own, without mapped files.

Each graph is generated as a store in --stores, or in a temporary folder that is removed
at the end. A store that is there is used as it is. Every SPEC is one more graph.`,
		Example: `  gcn bench scale
  gcn bench scale --stores stores --sizes 10000,100000,1000000,10000000 --out scale
  gcn bench scale --stores stores --samples 1024,1024,1024 --layers 3 store:papers.store --cold`,
		Args: cobra.ArbitraryArgs,
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&b.Data, "data", "synth:papers100M", "generated data `SPEC` without the key nodes")
	fs.Var(&b.sizes, "sizes", "numbers of nodes")
	fs.StringVar(&b.stores, "stores", "", "`DIR` that keeps the stores (default: a temporary folder)")
	b.samplingOptions.flags(fs)
	b.modelFlags(fs)
	fs.Uint64Var(&b.Seed, "seed", 1, "seed of all random decisions")
	fs.StringVar(&b.Device, "device", "cpu", "cpu, or cuda in a build with CUDA")
	fs.IntVar(&b.Batch, "batch", 1000, "training nodes per mini-batch; a small graph has fewer")
	fs.IntVar(&b.batches, "batches", 40, "mini-batches of each pass")
	fs.IntVar(&b.Workers, "workers", 0, "goroutines that sample ahead; 0: one per core")
	fs.IntVar(&b.evalLimit, "eval-limit", 2_000_000, "largest graph, in nodes, whose validation scores are timed")
	fs.BoolVar(&b.cold, "cold", false, "remove each store from the system's cache before its first pass (Linux)")
	fs.StringVar(&b.out, "out", "", "`DIR` for scale.json, scale.svg and scale.png")
	addJSONFlag(cmd, &b.asJSON)
	complete(cmd, "method", methodNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := b.check(cmd, args); err != nil {
			return err
		}
		return b.do(cmd, args)
	}
	return cmd
}

func (b *scaleBench) check(cmd *cobra.Command, args []string) error {
	if !strings.HasPrefix(b.Data, "synth:") || strings.Contains(b.Data, "nodes=") {
		return usagef("--data %s: want generated data without the key nodes, such as synth:papers100M", b.Data)
	}
	if err := checkSpec(b.Data); err != nil {
		return err
	}
	for _, n := range b.sizes {
		if err := atLeast("sizes", n, 2); err != nil {
			return err
		}
	}
	for _, spec := range args {
		if err := checkSpec(spec); err != nil {
			return err
		}
		if b.cold && !strings.HasPrefix(spec, "store:") {
			return usagef("%s: --cold is for stores", spec)
		}
	}
	return cmp.Or(atLeast("batch", b.Batch, 1), atLeast("batches", b.batches, 2), atLeast("eval-limit", b.evalLimit, 0),
		b.checkModel(cmd.Flags()), b.checkHalf())
}

// specOf returns the SPEC of the graph of n nodes.
func (b *scaleBench) specOf(n int) string {
	if strings.Contains(b.Data, "?") {
		return fmt.Sprintf("%s&nodes=%d", b.Data, n)
	}
	return fmt.Sprintf("%s?nodes=%d", b.Data, n)
}

func (b *scaleBench) do(cmd *cobra.Command, args []string) (err error) {
	ctx := cmd.Context()
	for _, c := range []struct{ name, dir string }{{"stores", b.stores}, {"out", b.out}} { // before the work, not after it
		if c.dir == "" {
			continue
		}
		if err := os.MkdirAll(c.dir, 0o777); err != nil {
			return fmt.Errorf("--%s: %w", c.name, err)
		}
	}
	for _, spec := range args {
		if err := storeThere(spec); err != nil {
			return err
		}
	}
	r := &scaleResult{
		Dataset: b.Data, Method: b.methodName(), Samples: b.Samples, Hidden: b.Hidden, Layers: b.Layers, Batches: b.batches, Workers: b.Workers, Cold: b.cold,
	}
	for _, n := range b.sizes {
		row, err := b.generated(cmd, n)
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, row)
	}
	for _, spec := range args {
		row, err := b.measure(ctx, spec)
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, row)
	}
	slices.SortStableFunc(r.Rows, func(a, b scaleRow) int { return a.Nodes - b.Nodes })
	if b.out != "" {
		if err := r.save(b.out); err != nil {
			return err
		}
	}
	if b.asJSON {
		return printJSON(cmd.OutOrStdout(), r)
	}
	return r.print(cmd.OutOrStdout())
}

// storeThere returns an error if the SPEC is of a store whose file is missing.
func storeThere(spec string) error {
	path, isStore := strings.CutPrefix(spec, "store:")
	if path, _, _ = strings.Cut(path, "?"); !isStore {
		return nil
	}
	_, err := os.Stat(path)
	return err
}

// generated measures the graph of n nodes. It makes the store if it is not there.
func (b *scaleBench) generated(cmd *cobra.Command, n int) (row scaleRow, err error) {
	ctx, dir := cmd.Context(), b.stores
	if dir == "" {
		if dir, err = os.MkdirTemp("", "gcn-scale"); err != nil {
			return row, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	name := strings.NewReplacer("?", "-", "&", "-", "=", "", "/", "-").Replace(strings.TrimPrefix(b.Data, "synth:"))
	path := filepath.Join(dir, fmt.Sprintf("%s-%d.store", name, n))
	made := time.Duration(0)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		say(cmd.ErrOrStderr(), "%s: making %s", b.specOf(n), path)
		o := dataOptions(ctx)
		o.Precision = datasets.Float16
		start := time.Now()
		if _, err := datasets.Convert(ctx, b.specOf(n), path, o); err != nil {
			return row, err
		}
		made = time.Since(start)
	}
	row, err = b.measure(ctx, "store:"+path)
	row.MakeS = measured(made.Seconds())
	return row, err
}

// measure measures one graph.
func (b *scaleBench) measure(ctx context.Context, spec string) (row scaleRow, err error) {
	row.Spec = spec
	o := b.trainOptions // newModel changes it
	if o.Data = spec; b.cold {
		first, err := openData(ctx, spec) // it may read the whole store once, to check it
		if err != nil {
			return row, err
		}
		if err := first.Close(); err != nil {
			return row, err
		}
	}
	start := time.Now()
	data, err := openData(ctx, spec)
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	row.OpenMS = measured(time.Since(start).Seconds() * 1e3)
	row.Nodes, row.Edges = data.Nodes(), data.Edges()
	start = time.Now()
	data.Laplacian()
	row.LaplacianMS = measured(time.Since(start).Seconds() * 1e3)
	model, err := o.newModel(ctx, data)
	if err != nil {
		return row, err
	}
	options := bench.ScaleOptions{
		Batches: b.batches, BatchSize: b.Batch, Workers: b.Workers, Seed: b.Seed, Evaluate: row.Nodes <= b.evalLimit,
	}
	path, isStore := strings.CutPrefix(spec, "store:")
	path, _, _ = strings.Cut(path, "?")
	if isStore {
		if info, err := os.Stat(path); err == nil {
			row.StoreMB = measured(float64(info.Size()) / 1e6)
		}
	}
	if b.cold {
		options.Evict = func() error {
			data.Release()
			return evictFile(path)
		}
	}
	row.ScaleReport, err = bench.Scale(ctx, model, data, options)
	return row, err
}

// reference returns the row that the others are compared with: the one nearest to a million
// nodes.
func (r *scaleResult) reference() scaleRow {
	return slices.MinFunc(r.Rows, func(a, b scaleRow) int {
		far := func(row scaleRow) float64 { return math.Abs(math.Log(float64(row.Nodes) / 1e6)) }
		return cmp.Compare(far(a), far(b))
	})
}

func (r *scaleResult) print(w io.Writer) error {
	t := newTable(true)
	t.row("nodes", "edges", "store MB", "open ms", "P ms", "batch", "inputs", "entries", "sampling ms", "step ms", "pipelined ms", "first ms", "MB read", "own MB", "eval ms", "")
	for _, row := range r.Rows {
		eval := "–"
		if row.EvalMS > 0 {
			eval = fmt.Sprintf("%.0f", row.EvalMS)
		}
		t.row(thousands(int64(row.Nodes)), thousands(row.Edges), fmt.Sprintf("%.0f", float64(row.StoreMB)), fmt.Sprintf("%.2f", float64(row.OpenMS)),
			fmt.Sprintf("%.1f", float64(row.LaplacianMS)), row.BatchSize, fmt.Sprintf("%.0f", row.Inputs), fmt.Sprintf("%.0f", row.Entries),
			fmt.Sprintf("%.2f", row.SamplingMS), fmt.Sprintf("%.2f", row.StepMS), fmt.Sprintf("%.2f", row.PipelinedMS), fmt.Sprintf("%.2f", row.FirstMS),
			fmt.Sprintf("%.2f", row.FirstReadMB), fmt.Sprintf("%.0f", row.OwnMB), eval, "")
	}
	if err := t.print(w); err != nil {
		return err
	}
	base := r.reference()
	for _, row := range r.Rows {
		if row.Nodes <= base.Nodes {
			continue
		}
		if err := printLine(w, "%s nodes against %s: sampling × %.2f, step × %.2f, pipelined × %.2f, entries × %.2f, memory × %.2f", thousands(int64(row.Nodes)), thousands(int64(base.Nodes)),
			row.SamplingMS/base.SamplingMS, row.StepMS/base.StepMS, row.PipelinedMS/base.PipelinedMS, row.Entries/base.Entries, row.OwnMB/base.OwnMB); err != nil {
			return err
		}
	}
	return nil
}

// save writes the result and its figure to dir.
func (r *scaleResult) save(dir string) error {
	base := filepath.Join(dir, scaleName)
	err := atomicfile.Write(base+".json", func(w io.Writer) error { return printJSON(w, r) })
	if err != nil {
		return fmt.Errorf("the result cannot be saved: %w", err)
	}
	return r.figure().Save(base)
}

// figure draws times and memory against the number of nodes.
func (r *scaleResult) figure() *figure.Figure {
	line := func(name string, value func(scaleRow) float64) figure.Series {
		s := figure.Series{Name: name}
		for _, row := range r.Rows {
			if v := value(row); v > 0 {
				s.X, s.Y = append(s.X, float64(row.Nodes)), append(s.Y, v)
			}
		}
		return s
	}
	return &figure.Figure{
		Title: fmt.Sprintf("%s, %s: %d batches of up to %d nodes", r.Dataset, r.Method, r.Batches, slices.MaxFunc(r.Rows, func(a, b scaleRow) int { return a.BatchSize - b.BatchSize }).BatchSize),
		Panels: []figure.Panel{
			{Title: "Time of a mini-batch", X: "nodes", Y: "ms", LogX: true, Decades: true, LogY: true, Lines: []figure.Series{
				line("sampling", func(row scaleRow) float64 { return row.SamplingMS }),
				line("step", func(row scaleRow) float64 { return row.StepMS }),
				line("pipelined", func(row scaleRow) float64 { return row.PipelinedMS }),
				line("first pass", func(row scaleRow) float64 { return row.FirstMS }),
			}},
			{Title: "Memory", X: "nodes", Y: "MB", LogX: true, Decades: true, LogY: true, Lines: []figure.Series{
				line("own memory", func(row scaleRow) float64 { return row.OwnMB }),
				line("store", func(row scaleRow) float64 { return float64(row.StoreMB) }),
			}},
			{Title: "Once", X: "nodes", Y: "ms", LogX: true, Decades: true, LogY: true, Lines: []figure.Series{
				line("opening", func(row scaleRow) float64 { return float64(row.OpenMS) }),
				line("scales of P", func(row scaleRow) float64 { return float64(row.LaplacianMS) }),
				line("validation", func(row scaleRow) float64 { return row.EvalMS }),
			}},
		},
	}
}
