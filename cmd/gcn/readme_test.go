package main

import (
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/samplers"
)

// TestReadme keeps the README's tables of methods and data complete.
func TestReadme(t *testing.T) {
	readme := string(readFile(t, "../../README.md"))
	for _, m := range samplers.Methods() {
		if !strings.Contains(readme, "`"+m.Name+"`") {
			t.Errorf("README.md does not tell of method %s", m.Name)
		}
	}
	for _, s := range datasets.Schemes() {
		if !strings.Contains(readme, "`"+s.Name+":") {
			t.Errorf("README.md does not tell of data %s:", s.Name)
		}
	}
}
