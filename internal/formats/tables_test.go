package formats

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tableCase is a set of files with what a careful person reads in them, worked out by a program
// of its own in Python. Without Error, the rest is what comes out.
type tableCase struct {
	Name     string
	Keys     map[string]string
	Files    map[string]string // the contents by the key that names them; edges
	Error    []string          // words of the error; nil: there is none
	Nodes    []string          // the ids, in order
	Edges    [][2]int32        // once each
	Weights  map[string]float32
	Labels   []string // "" for none, tasks separated by blanks
	Features [][]float64
}

// read reads the files of a case.
func (c *tableCase) read(t testing.TB) (*Set, error) {
	t.Helper()
	dir := t.TempDir()
	keys := maps.Clone(c.Keys)
	if keys == nil {
		keys = map[string]string{}
	}
	for name, text := range c.Files {
		write(t, filepath.Join(dir, name), []byte(text))
		keys[name] = filepath.Join(dir, name)
	}
	delete(keys, "edges")
	return EdgeList(context.Background(), filepath.Join(dir, "edges"), Options{Keys: keys})
}

// check compares what was read with the case.
func (c *tableCase) check(t *testing.T) {
	t.Helper()
	d, err := c.read(t)
	if c.Error != nil {
		if err == nil {
			t.Fatalf("it is read: %q", d.Notes)
		}
		for _, word := range append(c.Error, "datasets: ") {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("error %q lacks %q", err, word)
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("error of several lines: %q", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var nodes []string
	var edges [][2]int32
	weights := map[string]float32{}
	for i := range d.Graph.Rows {
		nodes = append(nodes, d.NodeNames.At(i))
		for k, j := range d.Graph.Row(i) {
			if int32(i) < j {
				edges = append(edges, [2]int32{int32(i), j})
				if values := d.Graph.RowValues(i); values != nil {
					weights[fmt.Sprintf("%d-%d", i, j)] = values[k]
				}
			}
		}
	}
	if !cmp.Equal(nodes, c.Nodes) || !cmp.Equal(edges, c.Edges) {
		t.Errorf("nodes %q, want %q; edges %v, want %v", nodes, c.Nodes, edges, c.Edges)
	}
	if c.Weights == nil {
		c.Weights = map[string]float32{}
		for key, w := range weights {
			if w == 1 {
				delete(weights, key)
			}
		}
	}
	if !cmp.Equal(weights, c.Weights) {
		t.Errorf("weights %v, want %v", weights, c.Weights)
	}
	if got := labelTexts(d); !cmp.Equal(got, c.Labels) {
		t.Errorf("labels %q, want %q", got, c.Labels)
	}
	if got := c.features(t, d); !sameValues(got, c.Features) {
		t.Errorf("features %v, want %v", got, c.Features)
	}
	if len(d.Notes) == 0 {
		t.Error("no notes")
	}
}

// features returns the features, scaled as all nodes were training nodes.
func (c *tableCase) features(t *testing.T, d *Set) (rows [][]float64) {
	t.Helper()
	x := d.Features
	if d.Table != nil {
		var err error
		if x, _, err = d.Table.Features(context.Background(), nil, c.Keys["normalize"] != "none"); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; x != nil && i < x.Rows; i++ {
		row := make([]float64, x.Cols)
		for j, v := range x.Float32s()[i*x.Cols : (i+1)*x.Cols] {
			row[j] = float64(v)
		}
		rows = append(rows, row)
	}
	return rows
}

func sameValues(got, want [][]float64) bool {
	return slices.EqualFunc(got, want, func(a, b []float64) bool {
		return slices.EqualFunc(a, b, func(v, w float64) bool { return math.Abs(v-w) <= 2e-6*max(1, math.Abs(w)) })
	})
}

// labelTexts returns the names of the nodes' labels, "" for none.
func labelTexts(d *Set) (texts []string) {
	if d.Labels == nil {
		return nil
	}
	for i := range d.Graph.Rows {
		text := ""
		if y := d.Labels; y.Tasks > 0 {
			for _, v := range y.Multi[i*y.Tasks : (i+1)*y.Tasks] {
				text += fmt.Sprint(v) + " "
			}
		} else if y.Class[i] >= 0 {
			text = y.Name(int(y.Class[i]))
		}
		texts = append(texts, strings.TrimSpace(text))
	}
	return texts
}

// TestTables reads 123 sets of files of many kinds.
func TestTables(t *testing.T) {
	f, err := os.Open("testdata/tables.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases := 0
	for lines := bufio.NewScanner(f); lines.Scan(); cases++ {
		var c tableCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.Name, c.check)
	}
	if cases != 123 {
		t.Errorf("%d cases", cases)
	}
}
