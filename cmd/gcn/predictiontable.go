package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/score"
)

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
	buffered := bufio.NewWriterSize(w, 1<<16)
	// The writer keeps its first error until Flush.
	_, _ = buffered.WriteString(strings.Join(t.header(), ",") + "\n")
	var line []byte
	order := make([]int, t.columns)
	for i, v := range t.nodes {
		row := t.scores[i*t.columns : (i+1)*t.columns]
		line = append(line[:0], csvField(t.data.NodeNames.At(int(v)))...)
		switch { // the scores decide before rounding makes two probabilities equal
		case t.kind == "hidden":
			line = appendScores(line, row)
		case t.top == 0:
			line = append(append(line, ','), csvField(t.predicted(row))...)
			t.convert(row)
			line = appendScores(line, row)
		default:
			for k := range order {
				order[k] = k
			}
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(row[b], row[a]) })
			t.convert(row)
			for _, k := range order[:t.top] {
				line = append(append(line, ','), csvField(t.data.Labels.Name(k))...)
				line = appendScores(line, row[k:k+1])
			}
		}
		_, _ = buffered.Write(append(line, '\n'))
	}
	return buffered.Flush()
}

// header returns the names of the columns.
func (t *predictionTable) header() []string {
	names := []string{"node"}
	kind := "class"
	if t.data.Labels.Tasks > 0 {
		kind = "task"
	}
	switch {
	case t.kind == "hidden":
		for k := range t.columns {
			names = append(names, fmt.Sprint("h", k))
		}
	case t.top > 0:
		column := map[string]string{"probabilities": "probability", "logits": "logit"}[t.kind]
		for k := range t.top {
			names = append(names, fmt.Sprint(kind, k+1), fmt.Sprint(column, k+1))
		}
	default:
		if kind == "task" {
			kind = "tasks"
		}
		names = append(names, kind)
		for k := range t.columns {
			names = append(names, csvField(t.data.Labels.Name(k)))
		}
	}
	return names
}

// predicted returns the class of the highest score, or the predicted tasks with semicolons
// between them.
func (t *predictionTable) predicted(row []float32) string {
	if t.data.Labels.Tasks == 0 {
		best := 0
		for c, s := range row {
			if s > row[best] {
				best = c
			}
		}
		return t.data.Labels.Name(best)
	}
	var tasks []string
	for k, s := range row {
		if s > t.threshold {
			tasks = append(tasks, t.data.Labels.Name(k))
		}
	}
	return strings.Join(tasks, ";")
}

func appendScores(line []byte, scores []float32) []byte {
	for _, s := range scores {
		line = strconv.AppendFloat(append(line, ','), float64(s), 'g', -1, 32)
	}
	return line
}

// csvField returns s in quotes if it needs them (RFC 4180).
func csvField(s string) string {
	if !strings.ContainsAny(s, "\",\r\n") && strings.TrimSpace(s) == s {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
