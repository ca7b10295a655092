package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/score"
)

type predictResult struct {
	RunDir  string   `json:"run_dir"`
	RunDirs []string `json:"run_dirs,omitempty"` // of several runs
	Dataset string   `json:"dataset"`
	Out     string   `json:"out"`
	Nodes   int      `json:"nodes"`
	Outputs int      `json:"outputs"` // classes, tasks or columns of a layer
	Kind    string   `json:"kind"`    // probabilities, logits or hidden
	Device  string   `json:"device"`
	WallS   number   `json:"wall_s"`
	PeakRSS number   `json:"peak_rss_mb"`

	CorrectSmooth *score.CorrectSmooth `json:"correct_and_smooth,omitempty"`
}

// prediction is one execution of "gcn predict".
type prediction struct {
	run            runFlags
	out, nodes     string
	top, layer     int
	logits, asJSON bool
	correct        bool // and smooth
}

func newPredictCommand() *cobra.Command {
	p := new(prediction)
	cmd := &cobra.Command{
		Use:   "predict --run DIR --out FILE.csv|.npy",
		Short: "Write a trained model's predictions for all nodes, or for some",
		Long: `Write the probabilities of a trained model over full neighbourhoods, with the weights of
the best validation score. There is one row for each node in order, or for each line
of --nodes.

The class with the largest probability is predicted, and each task with one above 0.5. A
.csv file has a header and the columns node, class, and the probability of each class; for
tasks the second column lists the predicted ones. Nodes and classes have their names if the
data have some. A .npy file is a float32 matrix of the probabilities alone.

--logits writes the scores before softmax (of tasks: before the sigmoid). With several --run
the result is the mean of their probabilities. --layer writes the output of a convolution
instead, counted from 1.

--correct-and-smooth spreads the errors and the labels of the training nodes over the graph
first (arXiv:2010.13993). It chooses its settings on the
validation nodes and prints them.`,
		Example: `  gcn predict --run runs/first --out scores.csv
  gcn predict --run runs/first --out best.csv --top 3
  gcn predict --run runs/first --out scores.npy --nodes test.npy --logits
  gcn predict --run runs/many/seed-1 --run runs/many/seed-2 --out mean.csv
  gcn predict --run runs/first --out embeddings.npy --layer 1`,
		Args:        noArguments,
		Annotations: shared(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			result, err := p.execute(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if p.asJSON {
				return printJSON(cmd.OutOrStdout(), result)
			}
			if c := result.CorrectSmooth; c != nil {
				if err := printLine(cmd.OutOrStdout(), "correct and smooth: %s", correctSmoothText(c)); err != nil {
					return err
				}
			}
			return printLine(cmd.OutOrStdout(), "%s of %s nodes, %d each, written to %s",
				result.Kind, thousands(int64(result.Nodes)), result.Outputs, result.Out)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	p.run.register(fs)
	fs.StringVar(&p.out, "out", "", "`FILE` to write, ending in .csv or .npy; required")
	fs.StringVar(&p.nodes, "nodes", "", "`FILE` of the nodes to score: .npy of numbers, or text with one number or name a line (default: all nodes)")
	fs.BoolVar(&p.logits, "logits", false, "write logits instead of probabilities (softmax over classes, sigmoid of tasks)")
	fs.IntVar(&p.top, "top", 0, "write only the `K` most probable classes or tasks of each node; .csv only (0: all)")
	fs.IntVar(&p.layer, "layer", 0, "write the output of convolution `L` instead: 1 is the first (0: probabilities)")
	addCorrectSmoothFlag(fs, &p.correct)
	addJSONFlag(cmd, &p.asJSON)
	return cmd
}

// check returns an error about options that do not fit together.
func (p *prediction) check() error {
	extension := strings.ToLower(filepath.Ext(p.out))
	switch {
	case p.out == "":
		return usagef("--out is needed: a file ending in .csv or .npy")
	case extension != ".csv" && extension != ".npy":
		return usagef("--out %q: want a file ending in .csv or .npy", p.out)
	case p.top < 0:
		return usagef("--top %d: want a number of classes, or 0 for all", p.top)
	case p.layer < 0:
		return usagef("--layer %d: want a convolution, counted from 1", p.layer)
	case p.top > 0 && extension != ".csv":
		return usagef("--top needs --out FILE.csv: a .npy file holds probabilities alone")
	case p.layer > 0 && (p.top > 0 || p.logits || p.correct):
		return usagef("--layer writes the output of a layer: leave out --top, --logits and --correct-and-smooth")
	case p.logits && (p.correct || len(p.run.dirs) > 1):
		return usagef("--logits needs one --run, and no --correct-and-smooth: both give probabilities")
	case p.layer > 0 && len(p.run.dirs) > 1:
		return usagef("--layer needs one --run: the columns of two runs do not correspond")
	}
	return nil
}

func (p *prediction) execute(ctx context.Context, notes io.Writer) (*predictResult, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	// Check this before the work, not after it.
	if _, err := os.Stat(filepath.Dir(p.out)); err != nil {
		return nil, fmt.Errorf("predictions cannot be saved: %w", err)
	}
	runs, err := p.run.open(ctx)
	if err != nil {
		return nil, err
	}
	r := runs[0]
	defer limit(r.model.Bound)()
	runs.showProgress(notes)
	if n := r.data.Labels.Outputs(); p.top > n {
		return nil, fmt.Errorf("--top %d: the model has %d classes or tasks", p.top, n)
	}
	runs.noteOtherData(notes)
	nodes, err := p.readNodes(ctx, r.data)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	t := &predictionTable{data: r.data, nodes: nodes, top: p.top, columns: r.data.Labels.Outputs(), kind: "probabilities"}
	var chosen *score.CorrectSmooth
	switch {
	case p.layer > 0:
		t.kind = "hidden"
		t.scores, t.columns, err = r.hidden(ctx, nodes, p.layer)
	case p.correct:
		t.scores, chosen, err = runs.corrected(ctx, nodes)
	case len(runs) > 1:
		t.threshold = 0.5
		t.scores, err = runs.probabilities(ctx, nodes)
	default:
		t.logits = true
		t.scores, err = r.logits(ctx, nodes)
		if p.logits {
			t.kind = "logits"
		}
	}
	if err != nil {
		return nil, err
	}
	if w := worldOf(ctx); w != nil && w.Rank() > 0 {
		return new(predictResult), nil // rank 0 writes the file, and prints
	}
	write := t.writeCSV
	if strings.EqualFold(filepath.Ext(p.out), ".npy") {
		t.convert(t.scores)
		write = func(w io.Writer) error { return npy.Write(w, t.scores, len(nodes), t.columns) }
	}
	if err := atomicfile.Write(p.out, write); err != nil {
		return nil, fmt.Errorf("predictions could not be saved: %w", err)
	}
	return &predictResult{
		RunDir: r.dir, RunDirs: runs.several(), Dataset: r.options.Data, Out: p.out, Nodes: len(nodes), Outputs: t.columns, Kind: t.kind, Device: r.options.Device,
		WallS: measured(time.Since(start).Seconds()), PeakRSS: measured(peakRSS()), CorrectSmooth: chosen,
	}, nil
}

// readNodes returns the nodes to score: the nodes in the file of --nodes, or all.
func (p *prediction) readNodes(ctx context.Context, data *datasets.Data) ([]int32, error) {
	n := data.Nodes()
	if p.nodes == "" {
		return allNodes(data), nil
	}
	var ids []int64
	var err error
	place := func(k int) string { return fmt.Sprintf("%s: node %d of the array", p.nodes, k) }
	if strings.ToLower(filepath.Ext(p.nodes)) == ".npy" {
		ids, err = readNodeArray(ctx, p.nodes)
	} else {
		var list *nodeLines
		list, err = unlessDone(ctx, func() (*nodeLines, error) { return readNodeLines(p.nodes, data.NodeNames) })
		if err == nil {
			ids = list.ids
		}
		place = func(k int) string { return fmt.Sprintf("%s:%d: the node", p.nodes, list.lines[k]) }
	}
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s: it lists no nodes", p.nodes)
	}
	nodes := make([]int32, len(ids))
	for k, id := range ids {
		if id < 0 || id >= int64(n) {
			return nil, fmt.Errorf("%s is %d, outside [0, %d)", place(k), id, n)
		}
		nodes[k] = int32(id)
	}
	return nodes, nil
}

func allNodes(data *datasets.Data) []int32 {
	all := make([]int32, data.Nodes())
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

func readNodeArray(ctx context.Context, path string) ([]int64, error) {
	r, err := npy.Open(path)
	if err != nil {
		return nil, err
	}
	if len(r.Shape) != 1 {
		err = fmt.Errorf("%s: an array of shape %v: want one dimension, of the nodes' numbers", path, r.Shape)
		return nil, errors.Join(err, r.Close())
	}
	if r.Mask() {
		err = fmt.Errorf("%s: a mask of booleans, want the numbers of nodes: numpy.flatnonzero(mask)", path)
		return nil, errors.Join(err, r.Close())
	}
	ids, err := r.Int64s(ctx)
	return ids, errors.Join(err, r.Close())
}

// nodeLines holds the nodes of a text file, and the lines that they are on.
type nodeLines struct {
	ids   []int64
	lines []int
}

// readNodeLines reads one node a line, from a file or a pipe: its name if the graph's nodes
// have names, else its number. It skips blank lines, and lines that start with # unless that
// is a name.
func readNodeLines(path string, names *graph.Names) (*nodeLines, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	list := new(nodeLines)
	var index map[string]int32
	if names != nil {
		index = names.Index()
	}
	scanner := bufio.NewScanner(file)
	for k := 1; scanner.Scan(); k++ {
		text := scanner.Text()
		if k == 1 {
			text = strings.TrimPrefix(text, "\ufeff") // UTF-8's byte-order mark
		}
		text = strings.TrimSpace(text)
		named, known := index[text]
		if text == "" || text[0] == '#' && !known {
			continue
		}
		id, err := int64(named), error(nil)
		if names == nil {
			id, err = strconv.ParseInt(text, 10, 64)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s:%d: %q is not a node's number", path, k, text)
		case names != nil && !known:
			return nil, fmt.Errorf("%s:%d: no node is named %q", path, k, text)
		}
		list.ids, list.lines = append(list.ids, id), append(list.lines, k)
		if len(list.ids)%(1<<20) == 0 { // a pipe has no length to check before
			if err := memory.Check(path, 2*2*8*int64(len(list.ids))); err != nil {
				return nil, err
			}
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}
