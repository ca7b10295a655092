package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/formats"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/score"
)

type predictResult struct {
	opened
	Out     string `json:"out"`
	Nodes   int    `json:"nodes"`
	Outputs int    `json:"outputs"` // classes, tasks or columns of a layer
	Kind    string `json:"kind"`    // probabilities, logits or hidden
	measured

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
	return newCommand("predict --run DIR --out FILE.csv|.npy", p, p.predict)
}

// check returns an error about options that do not fit together.
func (p *prediction) check() error {
	switch isCSV := strings.EqualFold(filepath.Ext(p.Out), ".csv"); {
	case !isCSV && !isArray(p.Out):
		return usagef("--out %q: want a file ending in .csv or .npy", p.Out)
	case p.Top > 0 && !isCSV:
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

func isArray(file string) bool { return strings.EqualFold(filepath.Ext(file), ".npy") }

// predict writes the predictions of the models.
func (p *prediction) predict(cmd *cobra.Command) (any, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	ctx := cmd.Context()
	runs, err := p.open(ctx, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	r, data, start := runs[0], runs[0].Data, time.Now()
	defer limit(p.Memory)()
	nodes, err := p.readNodes(ctx, data)
	if err != nil {
		return nil, err
	}
	t := &predictionTable{data: data, nodes: nodes, top: p.Top, columns: data.Labels.Outputs(), kind: "probabilities"}
	if p.Top > t.columns {
		return nil, fmt.Errorf("--top %d: the model has %d classes or tasks", p.Top, t.columns)
	}
	var chosen *score.CorrectSmooth
	if p.Layer > 0 {
		t.kind = "hidden"
		if t.scores, t.columns, err = r.Model.InferHidden(ctx, data.Laplacian(), data.Features, nodes, p.Layer); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Dir, err)
		}
		err = checkFinite(r, "outputs", t.scores, t.columns, nodes)
	} else {
		t.scores, t.logits, chosen, err = runs.answer(ctx, nodes, p.Correct)
	}
	if err != nil {
		return nil, err
	}
	if p.Logits {
		t.kind = "logits"
	}
	if !t.logits {
		t.threshold = 0.5
	}
	result := &predictResult{
		opened: p.result(runs), Out: p.Out, Nodes: len(nodes),
		Outputs: t.columns, Kind: t.kind, CorrectSmooth: chosen,
	}
	if w := jobOf(ctx).world; w != nil && w.Rank() > 0 {
		return result, nil // rank 0 writes the file, and prints
	}
	write := t.writeCSV
	if isArray(p.Out) {
		t.convert(t.scores)
		write = func(w io.Writer) error { return npy.Write(w, t.scores, len(nodes), t.columns) }
	}
	if err := atomicfile.Write(p.Out, write); err != nil {
		return nil, fmt.Errorf("predictions could not be saved: %w", err)
	}
	result.measured = measure(start)
	return result, nil
}

// readNodes returns the nodes to score: the nodes in the file of --nodes, or all.
func (p *prediction) readNodes(ctx context.Context, data *datasets.Data) (nodes []int32, err error) {
	switch {
	case p.Nodes == "":
		return allNodes(data), nil
	case isArray(p.Nodes):
		nodes, err = (&formats.NodeList{Nodes: data.Nodes(), Names: data.NodeNames}).Part(ctx, p.Nodes)
	default:
		nodes, err = readNodeLines(p.Nodes, data)
	}
	if err == nil && len(nodes) == 0 {
		err = fmt.Errorf("%s: it lists no nodes", p.Nodes)
	}
	return nodes, err
}

func allNodes(data *datasets.Data) []int32 {
	all := make([]int32, data.Nodes())
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// readNodeLines reads one node a line, from a file or a pipe: its name if the graph's nodes
// have names, else its number. It skips blank lines, and lines that start with # unless that
// is a name.
func readNodeLines(path string, data *datasets.Data) (nodes []int32, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	held := memory.Tally{What: path + ": the predictions"} // a pipe may never end
	for k := 1; err == nil && lines.Scan(); k++ {
		text := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff")) // UTF-8's byte-order mark
		node, unknown := data.Node(text)
		switch {
		case text == "" || unknown != nil && text[0] == '#':
		case unknown != nil:
			err = fmt.Errorf("%s:%d: %w", path, k, unknown)
		default:
			nodes, err = append(nodes, node), held.Add(4*int64(1+data.Labels.Outputs()))
		}
	}
	if lines.Err() != nil {
		err = fmt.Errorf("%s: %w", path, lines.Err())
	}
	return nodes, err
}

// predictionTable is a table of predictions for some nodes.
type predictionTable struct {
	data      *datasets.Data
	nodes     []int32
	kind      string    // of the numbers to write: probabilities, logits, or hidden
	scores    []float32 // a row for each node
	logits    bool      // the scores are logits, which become probabilities if kind says so
	columns   int       // of a row
	threshold float32   // a task with a higher score is predicted
	top       int       // number of best classes or tasks to write; 0: all, by their number
}

// convert turns rows of scores into the kind to write, in place.
func (t *predictionTable) convert(rows []float32) {
	if t.logits && t.kind == "probabilities" {
		score.Probabilities(rows, t.data.Labels)
	}
}

// writeCSV writes the table with a header. Each score has the fewest digits that read
// back as the same float32.
func (t *predictionTable) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write(t.header()) // out keeps its first error
	var record []string
	order := make([]int, t.columns)
	for k := range order {
		order[k] = k
	}
	for i, v := range t.nodes {
		row := t.scores[i*t.columns : (i+1)*t.columns]
		record = append(record[:0], t.data.NodeNames.At(int(v)))
		switch { // the scores decide before rounding makes two probabilities equal
		case t.top > 0:
			slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(row[b], row[a]), a-b) })
		case t.kind != "hidden":
			record = append(record, t.predicted(row))
		}
		t.convert(row)
		for _, k := range order[:cmp.Or(t.top, t.columns)] {
			if t.top > 0 {
				record = append(record, t.data.Labels.Name(k))
			}
			record = append(record, strconv.FormatFloat(float64(row[k]), 'g', -1, 32))
		}
		_ = out.Write(record)
	}
	out.Flush()
	return out.Error()
}

// header returns the names of the columns.
func (t *predictionTable) header() []string {
	names, kind, prediction := []string{"node"}, "class", "class"
	if t.data.Labels.Tasks > 0 {
		kind, prediction = "task", "tasks"
	}
	if t.top == 0 && t.kind != "hidden" {
		names = append(names, prediction)
	}
	for k := range cmp.Or(t.top, t.columns) {
		switch {
		case t.kind == "hidden":
			names = append(names, fmt.Sprint("h", k))
		case t.top > 0:
			names = append(names, fmt.Sprint(kind, k+1), fmt.Sprint(map[string]string{"probabilities": "probability", "logits": "logit"}[t.kind], k+1))
		default:
			names = append(names, t.data.Labels.Name(k))
		}
	}
	return names
}

// predicted returns the class of the highest score, or the predicted tasks with semicolons
// between them.
func (t *predictionTable) predicted(row []float32) string {
	if t.data.Labels.Tasks == 0 {
		return t.data.Labels.Name(slices.Index(row, slices.Max(row)))
	}
	var tasks []string
	for k, s := range row {
		if s > t.threshold {
			tasks = append(tasks, t.data.Labels.Name(k))
		}
	}
	return strings.Join(tasks, ";")
}
