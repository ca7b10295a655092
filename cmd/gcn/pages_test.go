package main

import (
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/serve"
)

// TestCommandsOfPages parses each command line in the code of the pages and in the examples of
// the help texts: the command, its flags with their values, and the SPEC of the data.
func TestCommandsOfPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	fenced := regexp.MustCompile("(?ms)^```sh\n(.*?)^```")
	count := 0
	for _, page := range append(pages, "../../README.md") {
		for _, block := range fenced.FindAllStringSubmatch(string(readFile(t, page)), -1) {
			count += parseCommands(t, page, block[1])
		}
	}
	if count < 60 {
		t.Errorf("only %d command lines in the pages", count)
	}
	root, _ := newRoot(io.Discard, io.Discard)
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		parseCommands(t, cmd.CommandPath()+" --help", cmd.Example)
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(root)
}

// parseCommands parses the lines of a shell script that call gcn, and returns their number.
func parseCommands(t *testing.T, page, script string) (count int) {
	script = strings.ReplaceAll(script, "\\\n", " ")
	for _, set := range regexp.MustCompile(`(?m)^(\w+)=(\S+)$`).FindAllStringSubmatch(script, -1) {
		script = strings.ReplaceAll(script, "$"+set[1], set[2])
	}
	call := regexp.MustCompile(`(?:^|[ (])(?:\./)?gcn ([^<>|)]*)`)
	variable := regexp.MustCompile(`\$\w+`)
	for line := range strings.Lines(script) {
		if strings.Contains(line, "go build") || strings.Contains(line, "go install") {
			continue
		}
		line, _, _ = strings.Cut(line, " #")
		found := call.FindStringSubmatch(strings.TrimSpace(line))
		if found == nil {
			continue
		}
		count++
		words := lineWords(t, strings.ReplaceAll(found[1], `"`, "'"))
		root, _ := newRoot(io.Discard, io.Discard)
		cmd, rest, err := root.Find(words)
		if err != nil || cmd == root {
			t.Errorf("%s: gcn %s: no such command", page, found[1])
			continue
		}
		for k, word := range rest { // options in a variable, and a value in one
			if strings.HasPrefix(word, "$") && (k == 0 || !strings.HasPrefix(rest[k-1], "--")) {
				rest[k] = ""
			}
		}
		rest = slices.DeleteFunc(rest, func(word string) bool { return word == "" })
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%s: gcn %s: %v", page, found[1], err)
			continue
		}
		data := cmd.Flags().Lookup("data")
		if data == nil || !data.Changed || strings.Contains(data.Value.String(), ",") && strings.HasPrefix(cmd.CommandPath(), "gcn reproduce") {
			continue
		}
		if spec := variable.ReplaceAllString(data.Value.String(), "0"); spec != "SPEC" {
			if err := datasets.CheckSpec(spec, datasets.Options{Schemes: []datasets.Scheme{serve.Scheme()}}); err != nil {
				t.Errorf("%s: gcn %s: %v", page, found[1], err)
			}
		}
	}
	return count
}

// TestPagesAreComplete checks that docs/methods.md names every method, and docs/data.md every
// form of data and every named data set.
func TestPagesAreComplete(t *testing.T) {
	methods, data := string(readFile(t, "../../docs/methods.md")), string(readFile(t, "../../docs/data.md"))
	for _, m := range samplers.Methods() {
		if !strings.Contains(methods, "`"+m.Name+"`") {
			t.Errorf("docs/methods.md does not tell of method %s", m.Name)
		}
	}
	for _, s := range datasets.List() {
		if scheme, _, found := strings.Cut(s.Spec, ":"); found && !strings.Contains(data, "`"+scheme+":") {
			t.Errorf("docs/data.md does not tell of data %s:", scheme)
		}
	}
	for _, name := range datasets.Names() {
		if !strings.Contains(data, "`"+name+"`") {
			t.Errorf("docs/data.md does not tell of data set %s", name)
		}
	}
}
