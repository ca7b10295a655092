package main

import (
	"cmp"
	"encoding/csv"
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
	out := csv.NewWriter(w)
	_ = out.Write(t.header()) // out keeps its first error
	var record []string
	order := make([]int, t.columns)
	for i, v := range t.nodes {
		row := t.scores[i*t.columns : (i+1)*t.columns]
		record = append(record[:0], t.data.NodeNames.At(int(v)))
		switch { // the scores decide before rounding makes two probabilities equal
		case t.kind == "hidden":
			record = appendScores(record, row)
		case t.top == 0:
			record = append(record, t.predicted(row))
			t.convert(row)
			record = appendScores(record, row)
		default:
			for k := range order {
				order[k] = k
			}
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(row[b], row[a]) })
			t.convert(row)
			for _, k := range order[:t.top] {
				record = appendScores(append(record, t.data.Labels.Name(k)), row[k:k+1])
			}
		}
		_ = out.Write(record)
	}
	out.Flush()
	return out.Error()
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
		names = append(names, strings.Replace(kind, "task", "tasks", 1))
		for k := range t.columns {
			names = append(names, t.data.Labels.Name(k))
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

func appendScores(record []string, scores []float32) []string {
	for _, s := range scores {
		record = append(record, strconv.FormatFloat(float64(s), 'g', -1, 32))
	}
	return record
}
