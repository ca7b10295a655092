// Package examples_test keeps the example programs and the README's code
// working.
package examples_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestReadme checks that the Go code in README.md is part of the program quickstart.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("quickstart/main.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(readme, -1)
	if len(blocks) == 0 {
		t.Fatal("README.md holds no Go code")
	}
	for _, block := range blocks {
		if !strings.Contains(string(program), string(block[1])) {
			t.Errorf("examples/quickstart does not hold this code of README.md:\n%s", block[1])
		}
	}
}

// TestRun runs the programs.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs programs")
	}
	for _, args := range [][]string{
		{"./quickstart", "synth:demo?nodes=1000&edges=5000"},
		{"./ownmodel"},
	} {
		out, err := exec.Command("go", append([]string{"run"}, args...)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "test accuracy 0.") {
			t.Errorf("go run %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
