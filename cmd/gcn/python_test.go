package main

import (
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// standIns define the variables that a section of docs/python.md takes from a library that
// the tests do not need: objects with the same attributes.
var standIns = map[string]string{
	"PyTorch Geometric": `
import torch, types
torch.manual_seed(0)
part = torch.randint(0, 3, (50,))
data = types.SimpleNamespace(edge_index=torch.randint(0, 50, (2, 200)), x=torch.randn(50, 6), y=torch.randint(0, 3, (50,)),
    train_mask=part == 0, val_mask=part == 1, test_mask=part == 2)
`,
	"DGL": `
import torch, types
torch.manual_seed(0)
part = torch.randint(0, 3, (50,))
g = types.SimpleNamespace(edges=lambda: (torch.randint(0, 50, (200,)), torch.randint(0, 50, (200,))), ndata={
    "feat": torch.randn(50, 6), "label": torch.randint(0, 3, (50,)),
    "train_mask": part == 0, "val_mask": part == 1, "test_mask": part == 2})
`,
}

// TestPythonPage runs the code of each section of docs/python.md, in a folder of its own.
// A section whose Python packages are not installed is skipped.
func TestPythonPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/python.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```(\\w+)\n(.*?)```")
	imports := regexp.MustCompile(`(?m)^import (.*)$`)
	sections := strings.Split(string(page), "\n## ")[1:]
	if len(sections) < 7 {
		t.Fatalf("%d sections", len(sections))
	}
	for _, section := range sections {
		title, text, _ := strings.Cut(section, "\n")
		t.Run(title, func(t *testing.T) {
			program := "import importlib.util as u\nfor name in 'os"
			for _, found := range imports.FindAllStringSubmatch(standIns[title]+text, -1) {
				for module := range strings.SplitSeq(found[1], ",") {
					program += " " + strings.Split(strings.Fields(module)[0], ".")[0]
				}
			}
			runPython(t, program+"'.split():\n    if not u.find_spec(name): raise ModuleNotFoundError(name)\n", true)
			t.Chdir(t.TempDir())
			if title == "OGB" {
				writeOGB(t, "dataset/ogbn_arxiv")
			}
			python := standIns[title]
			commands := 0
			for _, found := range block.FindAllStringSubmatch(text, -1) {
				switch found[1] {
				case "python":
					// The variables of the blocks before are there.
					python += found[2]
					runPython(t, python, false)
				case "sh":
					for line := range strings.Lines(found[2]) {
						args := lineWords(t, line)
						if args[0] != "gcn" {
							t.Fatalf("%q is no command of gcn", line)
						}
						succeed(t, append(args[1:], "-q")[:len(args)-1+quiet(args[1])]...)
						commands++
					}
				}
			}
			if commands < 2 || commands > 3 {
				t.Errorf("%d commands", commands)
			}
		})
	}
}

// quiet returns 1 for a command with the flag -q.
func quiet(command string) int {
	if command == "train" {
		return 1
	}
	return 0
}

// runPython runs a program with Python. If it only tries imports, a missing module skips the
// test.
func runPython(t *testing.T, program string, try bool) {
	t.Helper()
	interpreter := "python3"
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		interpreter = "/usr/bin/python3" // Debian's packages are there
	}
	if _, err := exec.LookPath(interpreter); err != nil {
		t.Skip("Python is not installed")
	}
	output, err := exec.Command(interpreter, "-c", program).CombinedOutput()
	switch {
	case err == nil:
	case try && strings.Contains(string(output), "ModuleNotFoundError"):
		t.Skipf("a Python package is not installed: %s", lastLine(string(output)))
	default:
		t.Fatalf("%s\n%v: %s", program, err, output)
	}
}

// lineWords splits a line of sh with words in single quotes.
func lineWords(t *testing.T, line string) []string {
	t.Helper()
	var words []string
	for k, part := range strings.Split(strings.TrimSpace(line), "'") {
		if k%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// writeOGB writes a small folder in the form of ogbn-arxiv, with names of its classes.
func writeOGB(t *testing.T, dir string) {
	t.Helper()
	var edges, features, labels strings.Builder
	parts := map[string]*strings.Builder{"train": {}, "valid": {}, "test": {}}
	for i := range 30 {
		fmt.Fprintf(&edges, "%d,%d\n%d,%d\n", i, (i+1)%30, i, (i+7)%30)
		fmt.Fprintf(&features, "%d,%d\n", i%3, i%5)
		fmt.Fprintf(&labels, "%d\n", i%3)
		fmt.Fprintf(parts[[]string{"train", "train", "valid", "test"}[i%4]], "%d\n", i)
	}
	texts := map[string]string{
		"raw/edge": edges.String(), "raw/num-node-list": "30\n", "raw/num-edge-list": "60\n", "raw/node-feat": features.String(), "raw/node-label": labels.String(),
		"mapping/labelidx2arxivcategeory": "label idx,arxiv category\n0,arxiv cs na\n1,arxiv cs mm\n2,arxiv cs lo\n",
	}
	for name, text := range parts {
		texts["split/time/"+name] = text.String()
	}
	for name, text := range texts {
		path := filepath.Join(dir, name+".csv.gz")
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		z := gzip.NewWriter(f)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
