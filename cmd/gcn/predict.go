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
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/run"
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

// prediction are the options of "gcn predict".
type prediction struct {
	runOptions
	Out     string `json:"out" arg:"FILE" need:"a file ending in .csv or .npy" help:"FILE to write, ending in .csv or .npy; required"`
	Nodes   string `json:"nodes" arg:"FILE" help:"FILE of the nodes to score: .npy of numbers, or text with one number or name a line (default: all nodes)"`
	Logits  bool   `json:"logits" without:"correct_and_smooth" why:"it gives probabilities" help:"write logits instead of probabilities (softmax over classes, sigmoid of tasks)"`
	Top     int    `json:"top" range:"[0," arg:"K" help:"write only the K most probable classes or tasks of each node; .csv only (0: all)"`
	Layer   int    `json:"layer" range:"[0," arg:"L" without:"top,logits,correct_and_smooth" why:"the output of a layer holds no classes" help:"write the output of convolution L instead: 1 is the first (0: probabilities)"`
	Correct bool   `json:"correct_and_smooth" help:"spread the training nodes' errors and labels over the graph, with settings chosen on the validation nodes; for classes, not for tasks"`
	resultOptions
}

func newPredictCommand() *cobra.Command {
	p := new(prediction)
	return newCommand(&cobra.Command{
		Use:         "predict --run DIR --out FILE.csv|.npy",
		Annotations: shared(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := p.execute(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return result(cmd, r, func(w io.Writer) {
				if r.CorrectSmooth != nil {
					say(w, "correct and smooth: %s", correctSmoothText(r.CorrectSmooth))
				}
				say(w, "%s of %s nodes, %d each, written to %s", r.Kind, thousands(int64(r.Nodes)), r.Outputs, r.Out)
			})
		},
	}, p)
}

// check returns an error about options that do not fit together.
func (p *prediction) check() error {
	switch extension := strings.ToLower(filepath.Ext(p.Out)); {
	case extension != ".csv" && extension != ".npy":
		return usagef("--out %q: want a file ending in .csv or .npy", p.Out)
	case p.Top > 0 && extension != ".csv":
		return usagef("--top needs --out FILE.csv: a .npy file holds probabilities alone")
	case len(p.Run) > 1 && (p.Logits || p.Layer > 0):
		return usagef("--logits and --layer need one --run: the mean of several is of their probabilities")
	}
	// Check this before the work, not after it.
	if _, err := os.Stat(filepath.Dir(p.Out)); err != nil {
		return fmt.Errorf("predictions cannot be saved: %w", err)
	}
	return nil
}

func (p *prediction) execute(ctx context.Context, notes io.Writer) (*predictResult, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	runs, err := p.open(ctx, notes)
	if err != nil {
		return nil, err
	}
	r := runs[0]
	defer limit(p.Memory)()
	if n := r.Data.Labels.Outputs(); p.Top > n {
		return nil, fmt.Errorf("--top %d: the model has %d classes or tasks", p.Top, n)
	}
	runs.noteOtherData(notes)
	nodes, err := p.readNodes(ctx, r.Data)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	t := &predictionTable{data: r.Data, nodes: nodes, top: p.Top, columns: r.Data.Labels.Outputs(), kind: "probabilities"}
	var chosen *score.CorrectSmooth
	switch {
	case p.Layer > 0:
		t.kind = "hidden"
		t.scores, t.columns, err = hidden(ctx, r, nodes, p.Layer)
	case p.Correct:
		t.scores, chosen, err = runs.corrected(ctx, nodes)
	case len(runs) > 1:
		t.threshold = 0.5
		t.scores, err = runs.probabilities(ctx, nodes)
	default:
		t.logits = true
		t.scores, err = logits(ctx, r, nodes)
		if p.Logits {
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
	if strings.EqualFold(filepath.Ext(p.Out), ".npy") {
		t.convert(t.scores)
		write = func(w io.Writer) error { return npy.Write(w, t.scores, len(nodes), t.columns) }
	}
	if err := atomicfile.Write(p.Out, write); err != nil {
		return nil, fmt.Errorf("predictions could not be saved: %w", err)
	}
	return &predictResult{
		RunDir: r.Dir, RunDirs: runs.several(), Dataset: r.Plan.Data, Out: p.Out, Nodes: len(nodes), Outputs: t.columns, Kind: t.kind, Device: r.Plan.Device,
		WallS: finite.Measured(time.Since(start).Seconds()), PeakRSS: finite.Measured(machine.PeakRSS()), CorrectSmooth: chosen,
	}, nil
}

// readNodes returns the nodes to score: the nodes in the file of --nodes, or all.
func (p *prediction) readNodes(ctx context.Context, data *datasets.Data) ([]int32, error) {
	if p.Nodes == "" {
		return allNodes(data), nil
	}
	list, err := run.UnlessDone(ctx, func() (*nodeList, error) {
		if strings.EqualFold(filepath.Ext(p.Nodes), ".npy") {
			return readNodeArray(ctx, p.Nodes)
		}
		return readNodeLines(p.Nodes, data.NodeNames)
	})
	switch {
	case err != nil:
		return nil, err
	case len(list.ids) == 0:
		return nil, fmt.Errorf("%s: it lists no nodes", p.Nodes)
	}
	nodes := make([]int32, len(list.ids))
	for k, id := range list.ids {
		if id < 0 || id >= int64(data.Nodes()) {
			place := fmt.Sprintf("%s: node %d of the array", p.Nodes, k)
			if list.lines != nil {
				place = fmt.Sprintf("%s:%d: the node", p.Nodes, list.lines[k])
			}
			return nil, fmt.Errorf("%s is %d, outside [0, %d)", place, id, data.Nodes())
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

// nodeList holds the nodes of a file, and in a text file the lines that they are on.
type nodeList struct {
	ids   []int64
	lines []int
}

func readNodeArray(ctx context.Context, path string) (*nodeList, error) {
	r, err := npy.Open(path)
	if err != nil {
		return nil, err
	}
	list := new(nodeList)
	switch {
	case len(r.Shape) != 1:
		err = fmt.Errorf("%s: an array of shape %v: want one dimension, of the nodes' numbers", path, r.Shape)
	case r.Mask():
		err = fmt.Errorf("%s: a mask of booleans, want the numbers of nodes: numpy.flatnonzero(mask)", path)
	default:
		list.ids, err = r.Int64s(ctx)
	}
	return list, errors.Join(err, r.Close())
}

// readNodeLines reads one node a line, from a file or a pipe: its name if the graph's nodes
// have names, else its number. It skips blank lines, and lines that start with # unless that
// is a name.
func readNodeLines(path string, names *graph.Names) (*nodeList, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	list := new(nodeList)
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
