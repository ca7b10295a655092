package report

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/train"
)

// curveText writes evaluations every 10 batches, a metrics.jsonl.
func curveText(valid ...float64) string {
	text := ""
	for k, v := range valid {
		text += fmt.Sprintf(`{"batch":%d,"loss":%g,"valid":%g,"seconds":%g}`+"\n", 10*(k+1), 1-v, v, float64(k+1)*(1+v))
	}
	return text
}

// TestMeanOfRuns draws three seeds, one of them shorter, as one mean with a band, and three
// thin lines behind it.
func TestMeanOfRuns(t *testing.T) {
	dir := t.TempDir()
	for seed, valid := range [][]float64{{0.1, 0.4, 0.5, 0.6}, {0.2, 0.5, 0.6}, {0.3, 0.6}} {
		writeRun(t, filepath.Join(dir, fmt.Sprint(seed)), fmt.Sprintf(`{"method":"ladies","seed":%d}`, seed), curveText(valid...), "")
	}
	writeRun(t, filepath.Join(dir, "copy"), `{"method":"ladies","seed":0}`, curveText(0.1, 0.4, 0.5, 0.6), "") // counts once
	writeRun(t, filepath.Join(dir, "other"), `{"method":"full","seed":0}`, curveText(0.1, 0.4), "")
	runs, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	ladies := split(runs)[0].Methods[0]
	lines := ladies.lines(func(q train.Evaluation) float64 { return q.Seconds }, func(q train.Evaluation) float64 { return q.Valid })
	if len(lines) != 4 || !lines[0].Thin || !lines[2].Thin || lines[3].Thin || !lines[3].Band || lines[3].Name != "ladies" {
		t.Fatalf("lines %+v", lines)
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
	mean := lines[3]
	if !near(mean.Y[0], 0.2) || !near(mean.Y[1], 0.5) || len(mean.Y) != 2 || !near(mean.Error[0], 0.1) || !near(mean.X[1], 2*1.5) {
		t.Errorf("mean %+v", mean)
	}
	if want := []float64{0.1, 0.4, 0.5, 0.6}; !slices.Equal(lines[0].Y, want) {
		t.Errorf("the longest run has %v, want %v", lines[0].Y, want)
	}

	var page bytes.Buffer
	if err := (&Page{Title: "runs", Runs: runs}).Write(&page); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if texts, widths := strings.Count(text, "<text "), strings.Count(text, "<text textLength="); texts < 30 || widths != texts {
		t.Errorf("%d of %d texts have a width, so that another font is not cut off", widths, texts)
	}
	for word, want := range map[string]int{"fill-opacity:0.18824": 4, "stroke-width:0.8\"": 12, "standard deviation (divided by N − 1)": 1} {
		if got := strings.Count(text, word); got != want {
			t.Errorf("%s is on the page %d times, want %d", word, got, want)
		}
	}
}

// TestMeanWithoutCommonBatch checks that runs without a common batch have no mean.
func TestMeanWithoutCommonBatch(t *testing.T) {
	value := func(q train.Evaluation) float64 { return q.Valid }
	two := Method{Runs: []*Run{{Points: []train.Evaluation{{Batch: 1, Valid: 1}}}, {Points: []train.Evaluation{{Batch: 2, Valid: 1}}}}}
	if lines := two.lines(value, value); len(lines) != 3 || len(lines[0].X) != 1 || len(lines[2].X) != 0 {
		t.Errorf("lines %+v", lines)
	}
}
