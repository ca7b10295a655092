package formats

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// varied is a small data set, and how its tables are written.
type varied struct {
	*rand.Rand
	ids     []string // in the order of the nodes
	edges   [][2]int
	weights []float64 // of the edges; nil: all 1
	class   []string
	size    []float64 // −1: missing
	color   []string
	numbers bool // all ids are numbers
}

// choose returns one of the choices.
func choose[T any](r *varied, choices ...T) T { return choices[r.IntN(len(choices))] }

// newVaried draws a connected graph, a label, a number and a text for each node.
func newVaried(seed uint64) *varied {
	r := &varied{Rand: rand.New(rand.NewPCG(seed, 7)), numbers: true}
	n := 4 + r.IntN(30)
	switch kind := r.IntN(8); kind {
	case 0, 1, 2: // from 0, from 1, far from both
		for k := range n {
			r.ids = append(r.ids, strconv.Itoa(k+[]int{0, 1, 5000}[kind]))
		}
	case 3: // gaps
		at := 3
		for range n {
			at += 2 + r.IntN(900)
			r.ids = append(r.ids, strconv.Itoa(at))
		}
	case 4: // of 64 bits
		for k := range n {
			r.ids = append(r.ids, strconv.FormatUint(1<<63+uint64(k)*977, 10))
		}
	default:
		prefix := choose(r, "n", "user_", "é", "x-", "http://a.b/", "00", "A ", "(", "1.")
		for k := range n {
			r.ids = append(r.ids, prefix+strconv.Itoa(100+k*7))
		}
		r.numbers = false
		slices.Sort(r.ids)
	}
	for v := range n {
		r.edges = append(r.edges, [2]int{v, (v + 1) % n})
		if r.IntN(2) == 0 {
			r.edges = append(r.edges, [2]int{v, (v + n/2) % n})
		}
		r.class = append(r.class, choose(r, "red", "blue", "", "12", "c d"))
		r.size = append(r.size, choose(r, -1, float64(r.IntN(1000))/4, float64(r.IntN(9))))
		r.color = append(r.color, choose(r, "wide", "narrow", "N/A", "round"))
	}
	r.class[0], r.class[1], r.size[0], r.size[1], r.size[2], r.size[3] = "red", "blue", 2.5, 1, 7, 0.25
	r.color[0], r.color[1], r.color[2] = "wide", "narrow", "round"
	r.Shuffle(len(r.edges), func(i, j int) { r.edges[i], r.edges[j] = r.edges[j], r.edges[i] })
	for k := 0; k < len(r.edges) && seed%3 == 0; k++ {
		r.weights = append(r.weights, float64(1+r.IntN(9))/2)
	}
	return r
}

// table writes rows of cells in one of the ways that people's programs do.
func (r *varied) table(header []string, rows [][]string, index bool) []byte {
	separators := []string{",", "\t", ";", " "}
	if slices.ContainsFunc(rows, func(row []string) bool { return strings.ContainsAny(strings.Join(row, ""), " ") }) {
		separators = separators[:3]
	}
	sep, end, quotes := choose(r, separators...), choose(r, "\n", "\r\n"), r.IntN(3)
	var text strings.Builder
	line := func(cells []string) {
		for k, cell := range cells {
			if k > 0 {
				text.WriteString(sep)
			}
			if quotes == 0 || sep == " " && cell == "" || strings.Contains(cell, sep) {
				cell = `"` + cell + `"`
			}
			text.WriteString(cell)
		}
		text.WriteString(end)
	}
	if index {
		header = append([]string{choose(r, "", "Unnamed: 0")}, header...)
	}
	if header != nil {
		line(header)
	}
	for k, row := range rows {
		if index {
			row = append([]string{strconv.Itoa(k)}, row...)
		}
		line(row)
	}
	content := []byte(text.String())
	if r.IntN(4) == 0 {
		content = append([]byte("\ufeff"), content...)
	}
	if r.IntN(4) == 0 {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(content) // a buffer takes all
		z.Close()
		content = packed.Bytes()
	}
	return content
}

// TestVariedTables writes data sets in many ways. A reader may ask which of two ways was meant, but
// what it reads is right.
func TestVariedTables(t *testing.T) {
	asked, sets := 0, 300
	for seed := range sets {
		r := newVaried(uint64(seed))
		words := []string{choose(r, "from", "user", "src", "package"), choose(r, "to", "friend", "depends")}
		var edges, labels, features [][]string
		order := r.Perm(len(r.ids))
		decimal := choose(r, ".", ",")
		attribute := r.weights != nil && r.IntN(3) == 0 // as networkx writes it
		want := map[[2]int]float32{}                    // of several weights the first one counts
		for k, e := range r.edges {
			edges = append(edges, []string{r.ids[e[0]], r.ids[e[1]]})
			if r.weights == nil {
				continue
			}
			w := strconv.FormatFloat(r.weights[k], 'g', -1, 64)
			if attribute {
				w = "{'color': 'red', 'weight': " + w + "}"
			} else {
				w = strings.Replace(w, ".", decimal, 1)
			}
			edges[k] = append(edges[k], w)
			if pair := [2]int{min(e[0], e[1]), max(e[0], e[1])}; want[pair] == 0 {
				want[pair] = float32(r.weights[k])
			}
		}
		for _, v := range order {
			if r.class[v] != "" || seed%2 == 0 {
				labels = append(labels, []string{r.ids[v], r.class[v]})
			}
			size := ""
			if r.size[v] >= 0 {
				size = strings.Replace(strconv.FormatFloat(r.size[v], 'f', -1, 64), ".", decimal, 1)
			}
			features = append(features, []string{r.ids[v], size, r.color[v]})
		}
		dir, keys := t.TempDir(), map[string]string{"missing": "", "decimal": ""}
		if decimal == "," {
			keys["decimal"] = "comma"
		}
		named := func(header []string) []string {
			if r.IntN(3) == 0 {
				return nil
			}
			return header
		}
		put := func(role string, header []string, rows [][]string) {
			header = named(header)
			if role != "edges" {
				keys[role] = filepath.Join(dir, role)
				if header != nil && r.IntN(3) == 0 {
					keys[role+"-columns"] = strings.Join(header, ",")
				}
			}
			write(t, filepath.Join(dir, role), r.table(header, rows, header != nil && keys[role+"-columns"] == "" && r.IntN(4) == 0))
		}
		switch {
		case attribute:
			sep := choose(r, "\t", ";")
			text := ""
			for _, row := range edges {
				text += strings.Join(row, sep) + "\n"
			}
			write(t, filepath.Join(dir, "edges"), []byte(text))
		case r.weights != nil:
			if put("edges", append(words, "weight"), edges); r.IntN(2) == 0 {
				keys["weights"] = "1"
			}
		default:
			put("edges", words, edges)
		}
		if r.IntN(5) == 0 {
			content := map[string]string{}
			for _, row := range labels {
				content[row[0]] = row[1]
			}
			text, err := json.Marshal(content)
			if err != nil {
				t.Fatal(err)
			}
			keys["labels"] = filepath.Join(dir, "labels.json")
			write(t, keys["labels"], text)
		} else {
			put("labels", []string{choose(r, "name", "id", words[0]), choose(r, "team", "y", "class")}, labels)
		}
		put("features", []string{choose(r, "name", "id", words[0]), "size", "color"}, features)
		d, err := EdgeList(context.Background(), filepath.Join(dir, "edges"), Options{Keys: keys})
		if err != nil {
			if asked++; !regexp.MustCompile(`say |name the column|weights=1 reads them`).MatchString(err.Error()) {
				t.Errorf("seed %d: %v", seed, err)
			}
			continue
		}
		var names []string
		for i := range d.Graph.Rows {
			names = append(names, d.NodeNames.At(i))
		}
		if !slices.Equal(names, r.ids) || d.Report.Given != int64(len(r.edges)) {
			t.Errorf("seed %d: nodes %q, want %q; %d edges of %d; %q", seed, names, r.ids, d.Report.Given, len(r.edges), d.Notes)
			continue
		}
		for i := range d.Graph.Rows {
			for k, j := range d.Graph.Row(i) {
				w := float32(0)
				if values := d.Graph.RowValues(i); values != nil {
					w = values[k]
				}
				if got := want[[2]int{min(i, int(j)), max(i, int(j))}]; got != w {
					t.Errorf("seed %d: edge %s, %s has weight %v, want %v; %q", seed, r.ids[i], r.ids[j], w, got, d.Notes)
				}
			}
		}
		x, _, err := d.Table.Features(context.Background(), nil, false)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		for i, label := range labelTexts(d) {
			values := []float32{max(float32(r.size[i]), 0)}
			if slices.Contains(r.size, -1) {
				values = append(values, 0)
				if r.size[i] < 0 {
					values[1] = 1
				}
			}
			colors := make([]float32, 3, 4)
			if slices.Contains(r.color, "N/A") {
				colors = colors[:4]
			}
			if k := slices.Index([]string{"narrow", "round", "wide", "N/A"}, r.color[i]); k >= 0 {
				colors[k] = 1
			}
			if got := x.Row(i); label != r.class[i] || !slices.Equal(got, append(values, colors...)) {
				t.Fatalf("seed %d: node %s has the label %q and the features %v, want %q and %v; %q", seed, r.ids[i], label, got, r.class[i], append(values, colors...), d.Notes)
			}
		}
	}
	if t.Logf("%d of %d sets are asked about", asked, sets); asked > sets/7 {
		t.Error("too many")
	}
}
