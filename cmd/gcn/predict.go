package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/train"
)

type predictResult struct {
	RunDir  string `json:"run_dir"`
	Dataset string `json:"dataset"`
	Out     string `json:"out"`
	Nodes   int    `json:"nodes"`
	Outputs int    `json:"outputs"` // classes or tasks
	Kind    string `json:"kind"`    // logits or probabilities
	Device  string `json:"device"`
	WallS   number `json:"wall_s"`
	PeakRSS number `json:"peak_rss_mb"`
}

// prediction is one execution of "gcn predict".
type prediction struct {
	run                   runFlags
	out, nodes            string
	probabilities, asJSON bool
}

func newPredictCommand() *cobra.Command {
	p := new(prediction)
	cmd := &cobra.Command{
		Use:   "predict --run DIR --out FILE.csv|.npy",
		Short: "Write a trained model's scores of all nodes, or of some",
		Long: `Write the scores of a trained model over full neighbourhoods, with the weights of
the best validation score. There is one row for each node in order, or for each line
of --nodes, and one column for each class or task.

Scores are logits. The class with the largest logit is predicted. A task is
predicted if its logit is positive. A .csv file has no header; a .npy file is a
float32 matrix.`,
		Example: `  gcn predict --run runs/first --out scores.npy
  gcn predict --run runs/first --out scores.csv --nodes test.npy --probabilities`,
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
			return printLine(cmd.OutOrStdout(), "%s of %s nodes, %d each, written to %s",
				result.Kind, thousands(int64(result.Nodes)), result.Outputs, result.Out)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	p.run.register(fs)
	fs.StringVar(&p.out, "out", "", "`FILE` to write, ending in .csv or .npy; required")
	fs.StringVar(&p.nodes, "nodes", "", "`FILE` of the nodes to score: .npy, or text with one number a line (default: all nodes)")
	fs.BoolVar(&p.probabilities, "probabilities", false, "write probabilities (softmax over classes, sigmoid of tasks) instead of logits")
	addJSONFlag(cmd, &p.asJSON)
	return cmd
}

func (p *prediction) execute(ctx context.Context, notes io.Writer) (*predictResult, error) {
	var write func(w io.Writer, scores []float32, columns int) error
	switch strings.ToLower(filepath.Ext(p.out)) {
	case ".csv":
		write = writeCSV
	case ".npy":
		write = func(w io.Writer, scores []float32, columns int) error {
			return npy.Write(w, scores, len(scores)/columns, columns)
		}
	default:
		if p.out == "" {
			return nil, usagef("--out is needed: a file ending in .csv or .npy")
		}
		return nil, usagef("--out %q: want a file ending in .csv or .npy", p.out)
	}
	// Check this before the work, not after it.
	if _, err := os.Stat(filepath.Dir(p.out)); err != nil {
		return nil, fmt.Errorf("predictions cannot be saved: %w", err)
	}
	r, err := p.run.open(ctx)
	if err != nil {
		return nil, err
	}
	r.noteOtherData(notes)
	nodes, err := p.readNodes(ctx, r.data.Nodes())
	if err != nil {
		return nil, err
	}
	start := time.Now()
	scores, err := train.Predict(ctx, r.model, r.data, nodes)
	if err != nil {
		return nil, err
	}
	kind, columns := "logits", r.data.Labels.Outputs()
	if k := slices.IndexFunc(scores, notFinite); k >= 0 {
		return nil, fmt.Errorf("%s: the logits of node %d are not finite (%v): its weights or the features are too large", r.dir, nodes[k/columns], scores[k])
	}
	if p.probabilities {
		kind = "probabilities"
		if r.data.Labels.Tasks > 0 {
			sigmoid(scores)
		} else {
			softmaxRows(scores, columns)
		}
	}
	if w := worldOf(ctx); w != nil && w.Rank() > 0 {
		return new(predictResult), nil // rank 0 writes the file, and prints
	}
	err = atomicfile.Write(p.out, func(w io.Writer) error { return write(w, scores, columns) })
	if err != nil {
		return nil, fmt.Errorf("predictions could not be saved: %w", err)
	}
	return &predictResult{
		RunDir: r.dir, Dataset: r.options.Data, Out: p.out, Nodes: len(nodes), Outputs: columns, Kind: kind, Device: r.options.Device,
		WallS: measured(time.Since(start).Seconds()), PeakRSS: measured(peakRSS()),
	}, nil
}

// readNodes returns the nodes to score, of a graph of n nodes: the nodes in the
// file of --nodes, or all.
func (p *prediction) readNodes(ctx context.Context, n int) ([]int32, error) {
	if p.nodes == "" {
		all := make([]int32, n)
		for i := range all {
			all[i] = int32(i)
		}
		return all, nil
	}
	var ids []int64
	var err error
	place := func(k int) string { return fmt.Sprintf("%s: node %d of the array", p.nodes, k) }
	if strings.ToLower(filepath.Ext(p.nodes)) == ".npy" {
		ids, err = readNodeArray(ctx, p.nodes)
	} else {
		var list *nodeLines
		list, err = unlessDone(ctx, func() (*nodeLines, error) { return readNodeLines(p.nodes) })
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

func notFinite(x float32) bool { return x-x != 0 }

// nodeLines holds the nodes of a text file, and the lines that they are on.
type nodeLines struct {
	ids   []int64
	lines []int
}

// readNodeLines reads one number a line, from a file or a pipe. It skips blank lines, and
// lines that start with #.
func readNodeLines(path string) (*nodeLines, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	list := new(nodeLines)
	scanner := bufio.NewScanner(file)
	for k := 1; scanner.Scan(); k++ {
		text := scanner.Text()
		if k == 1 {
			text = strings.TrimPrefix(text, "\ufeff") // UTF-8's byte-order mark
		}
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %q is not a node's number", path, k, text)
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

// writeCSV writes rows of comma-separated scores. Each score has the fewest digits
// that read back as the same float32.
func writeCSV(w io.Writer, scores []float32, columns int) error {
	buffered := bufio.NewWriter(w)
	var line []byte
	for i, s := range scores {
		line = strconv.AppendFloat(line, float64(s), 'g', -1, 32)
		if (i+1)%columns != 0 {
			line = append(line, ',')
			continue
		}
		// The writer keeps its first error until Flush.
		_, _ = buffered.Write(append(line, '\n'))
		line = line[:0]
	}
	return buffered.Flush()
}

// softmaxRows turns each row of logits into probabilities, in place.
func softmaxRows(scores []float32, columns int) {
	for ; len(scores) > 0; scores = scores[columns:] {
		row := scores[:columns]
		largest := math.Inf(-1)
		for _, s := range row {
			largest = max(largest, float64(s))
		}
		var sum float64
		for _, s := range row {
			sum += math.Exp(float64(s) - largest)
		}
		for c, s := range row {
			row[c] = float32(math.Exp(float64(s)-largest) / sum)
		}
	}
}

func sigmoid(scores []float32) {
	for i, s := range scores {
		scores[i] = float32(1 / (1 + math.Exp(-float64(s))))
	}
}
