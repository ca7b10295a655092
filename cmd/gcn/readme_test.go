package main

import (
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/samplers"
)

// TestReadme keeps the README's methods and forms of data complete, and the named data sets
// in docs/data.md.
func TestReadme(t *testing.T) {
	readme := string(readFile(t, "../../README.md"))
	for _, m := range samplers.Methods() {
		if !strings.Contains(readme, "`"+m.Name+"`") {
			t.Errorf("README.md does not tell of method %s", m.Name)
		}
	}
	for _, s := range datasets.List() {
		if scheme, _, found := strings.Cut(s.Spec, ":"); found && !strings.Contains(readme, "`"+scheme+":") {
			t.Errorf("README.md does not tell of data %s:", scheme)
		}
	}
	page := string(readFile(t, "../../docs/data.md"))
	for _, name := range datasets.Names() {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/data.md does not tell of data set %s", name)
		}
	}
}
