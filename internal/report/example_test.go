package report_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/internal/report"
)

func ExamplePage_Write() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	metrics := `{"batch":10,"loss":2.5,"valid":0.25,"seconds":0.5}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "metrics.jsonl"), []byte(metrics), 0o666); err != nil {
		panic(err)
	}
	runs, err := report.Load(dir)
	if err != nil {
		panic(err)
	}
	page := report.Page{Title: "One run", Runs: runs, Machine: machine.Describe()}
	var html bytes.Buffer
	if err := page.Write(&html); err != nil {
		panic(err)
	}
	fmt.Println(len(runs), "run;", bytes.Contains(html.Bytes(), []byte("<title>One run</title>")))
	// Output: 1 run; true
}
