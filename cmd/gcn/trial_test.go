package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/internal/npy/npytest"
)

// trial makes the raw files of a section of docs/trials.md. It returns the true class of each
// node.
type trial func(t *testing.T) map[string]string

var trials = map[string]trial{
	"Citations": func(t *testing.T) map[string]string {
		truth := map[string]string{}
		var edges, labels, features, split strings.Builder
		edges.WriteString("citing\tcited\tweight\n")
		labels.WriteString("id,topic\n")
		for i := range 60 {
			for _, step := range []int{2, 4, 8} {
				fmt.Fprintf(&edges, "10.1000/%d\t10.1000/%d\t%d\n", i, (i+step)%60, step)
			}
			topic := []string{"graphs, sparse", "vision"}[i%2]
			truth[fmt.Sprintf("10.1000/%d", i)] = topic
			if i%10 == 5 {
				topic = ""
			} else {
				fmt.Fprintf(&split, "10.1000/%d,%s\n", i, []string{"train", "train", "val", "test"}[i/2%4])
			}
			if strings.Contains(topic, ",") {
				topic = `"` + topic + `"`
			}
			fmt.Fprintf(&labels, "10.1000/%d,%s\n", i, topic)
			fmt.Fprintf(&features, "10.1000/%d;%d;%d\n", i, i%2, (i+1)%2)
		}
		for name, text := range map[string]string{"cites.tsv": edges.String(), "topics.csv": labels.String(), "words.csv": features.String(), "split.csv": split.String()} {
			writeFile(t, name, []byte(text))
		}
		return truth
	},
	"Arrays": func(t *testing.T) map[string]string {
		truth := map[string]string{}
		ptr, idx, weights, x := []int64{0}, []int32{}, []float32{}, []float32{}
		var names, labels []string
		var masks [3][]bool
		for i := range 80 {
			names = append(names, fmt.Sprint("station ", i))
			labels = append(labels, []string{"harbor", "inland"}[i%2])
			truth[names[i]] = labels[i]
			if i%8 == 7 {
				labels[i] = ""
			}
			for _, step := range []int{2, 4, 76, 78} { // both directions, so that no weight is there twice
				idx, weights = append(idx, int32((i+step)%80)), append(weights, float32(min(step, 80-step)))
			}
			ptr = append(ptr, int64(len(idx)))
			x = append(x, float32(i%2), float32((i+1)%2), float32(i%7)/7)
			for part := range masks {
				masks[part] = append(masks[part], labels[i] != "" && []int{0, 0, 1, 2}[i/2%4] == part)
			}
		}
		save := func(name string, write func(b *bytes.Buffer) error) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join("graph", name+".npy"), b.Bytes())
		}
		if err := os.Mkdir("graph", 0o777); err != nil {
			t.Fatal(err)
		}
		save("indptr", func(b *bytes.Buffer) error { return npy.Write(b, ptr, len(ptr)) })
		save("indices", func(b *bytes.Buffer) error { return npy.Write(b, idx, len(idx)) })
		save("data", func(b *bytes.Buffer) error { return npy.Write(b, weights, len(weights)) })
		save("feat", func(b *bytes.Buffer) error { return npy.Write(b, x, 80, 3) })
		writeFile(t, filepath.Join("graph", "names.npy"), npytest.Texts(names...))
		writeFile(t, filepath.Join("graph", "labels.npy"), npytest.Texts(labels...))
		for part, name := range []string{"train", "valid", "test"} {
			save(name, func(b *bytes.Buffer) error { return npy.Write(b, masks[part], 80) })
		}
		return truth
	},
	"Pages": func(t *testing.T) map[string]string {
		truth := map[string]string{}
		name := func(i int) string {
			if i < 2 {
				return []string{"home", "news"}[i]
			}
			return fmt.Sprint("page", i-1)
		}
		var edges, words, kinds []string
		for i := range 50 {
			kind := []string{"sport", "music"}[i%2]
			truth[name(i)] = kind
			for _, step := range []int{2, 4} {
				edges = append(edges, fmt.Sprintf("%s %s {'weight': %d}\n", name(i), name((i+step)%50), step+1))
			}
			words = append(words, fmt.Sprintf("%q: [%d, %d, %d]", name(i), i%2, 11+i%5, 101+i*17%1900))
			if i%9 != 8 {
				kinds = append(kinds, fmt.Sprintf("%q: %q", name(i), kind))
			}
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write([]byte(strings.Join(edges, ""))); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		writeFile(t, "links.edgelist.gz", packed.Bytes())
		writeFile(t, "links.edgelist", []byte(strings.Join(edges, ""))) // for the page alone
		writeFile(t, "words.json", []byte("{"+strings.Join(words, ", ")+"}"))
		writeFile(t, "kinds.json", []byte("{"+strings.Join(kinds, ", ")+"}"))
		return truth
	},
}

// trialWords are words that gcn train prints about each graph.
var trialWords = map[string][]string{
	"Citations": {"directed=out", "graphs, sparse, vision", "split from split.csv", "weights in weight"},
	"Arrays":    {"2 kinds of labels", "edges weighted"},
	"Pages":     {"features sparse: 150 of 50×935", "weights in networkx's attribute weight", "random split 60/20/20"},
}

// TestTrials makes the raw files of docs/trials.md and runs its commands, at most three for
// each graph. The files, and the tables of predictions by name, begin as on the page.
func TestTrials(t *testing.T) {
	page := string(readFile(t, "../../docs/trials.md"))
	sections := strings.Split(page, "\n## ")[1:]
	if len(sections) != len(trials) {
		t.Fatalf("%d sections, %d trials", len(sections), len(trials))
	}
	for _, section := range sections {
		title, text, _ := strings.Cut(section, ":")
		t.Run(title, func(t *testing.T) {
			t.Chdir(t.TempDir())
			truth := trials[title](t)
			commands, said := 0, ""
			for _, part := range regexp.MustCompile("(?s)(?:`([\\w.]+)`[^\n]*\n\n)?```(\\w+)\n(.*?)```").FindAllStringSubmatch(text, -1) {
				switch file, lines := part[1], part[3]; {
				case part[2] == "sh":
					for line := range strings.Lines(lines) {
						args := lineWords(t, line)
						if args[0] != "gcn" {
							t.Fatalf("%q is no command of gcn", line)
						}
						said += succeed(t, args[1:]...).stderr
						commands++
					}
				case file == "":
					compareArrays(t, lines)
				default:
					compareStart(t, file, lines)
				}
			}
			if commands < 1 || commands > 3 {
				t.Errorf("%d commands", commands)
			}
			for _, kind := range append(trialWords[title], "without a label") {
				if !strings.Contains(said, kind) {
					t.Errorf("gcn train does not say %q:\n%s", kind, said)
				}
			}
			rows, err := csv.NewReader(bytes.NewReader(readFile(t, "table.csv"))).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			right := 0
			for _, row := range rows[1:] {
				if want, known := truth[row[0]]; !known {
					t.Errorf("a row of node %q", row[0])
				} else if row[1] == want {
					right++
				}
			}
			if len(rows) != len(truth)+1 || right < len(truth)*9/10 {
				t.Errorf("%d of %d nodes are right, in %d rows", right, len(truth), len(rows)-1)
			}
		})
	}
}

// compareStart checks that a file begins with the lines of the page. Dots stand for the rest of
// a line, or of the file.
func compareStart(t *testing.T, file, lines string) {
	t.Helper()
	if file == "links.edgelist.gz" {
		file = "links.edgelist"
	}
	got := strings.Split(string(readFile(t, file)), "\n")
	for k, line := range strings.Split(strings.TrimSuffix(lines, "\n"), "\n") {
		start, cut := strings.CutSuffix(line, "…")
		if k >= len(got) || cut && !strings.HasPrefix(got[k], start) || !cut && got[k] != line {
			t.Errorf("line %d of %s is not %q: %.60q", k+1, file, line, got[min(k, len(got)-1)])
		}
	}
}

// compareArrays checks the types and shapes of all arrays.
func compareArrays(t *testing.T, lines string) {
	t.Helper()
	var got []string
	paths, err := filepath.Glob("graph/*.npy")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		r, err := npy.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(r.Shape), "[]"), " ", ", ")
		if len(r.Shape) == 1 {
			shape += ","
		}
		got = append(got, fmt.Sprintf("%-19s%s (%s)", path, r.Descr, shape))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if want := strings.Split(strings.TrimSpace(lines), "\n"); !slices.Equal(got, want) {
		t.Errorf("arrays\n%s\nthe page has\n%s", strings.Join(got, "\n"), lines)
	}
}
