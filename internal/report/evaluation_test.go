package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/score"
)

// TestEvaluation shows an evaluation of the run's best weights, and no other.
func TestEvaluation(t *testing.T) {
	const good = `{"split":"test","nodes":3,"batch":20,"seed":1,"per_class":[{"class":"<cat>","nodes":2,"predicted":1,"right":1,"precision":1,"recall":0.5,"f1":0.6667},
{"class":"dog","nodes":1,"predicted":2,"right":1,"precision":0.5,"recall":1,"f1":null}],"confusion":[[1,1],[0,1]],
"calibration":{"error":0.25,"bins":[{"low":0.4,"high":0.6,"count":3,"probability":0.5,"frequency":0.6667}]}}`
	dir := filepath.Join(t.TempDir(), "run")
	writeRun(t, dir, `{"data":"synth:demo","method":"ladies","seed":1}`, curve, `{"test":0.5,"best_valid":0.5,"best_batch":20}`)
	page := func(text string) (string, error) {
		if err := os.WriteFile(filepath.Join(dir, evalFile), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		runs, err := Load(dir)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		err = (&Page{Title: "t", Runs: runs}).Write(&b)
		return b.String(), err
	}
	html, err := page(good)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"&lt;cat&gt;", "0.6667", "error 0.2500", "Calibration", "label \\ predicted", "3 test nodes"} {
		if !strings.Contains(html, word) {
			t.Errorf("the page does not hold %q", word)
		}
	}
	for _, change := range [][2]string{{`"batch":20`, `"batch":30`}, {`"seed":1`, `"seed":2`}, {`"split"`, `"run_dirs":["a","b"],"split"`}} {
		if html, err := page(strings.Replace(good, change[0], change[1], 1)); err != nil || strings.Contains(html, "Calibration") {
			t.Errorf("%s: the page shows it, or %v", change[1], err)
		}
	}
	for _, bad := range []string{"{", strings.Replace(good, "[1,1]", "[1]", 1), strings.Replace(good, "[0,1]]", "[0,1],[1,1]]", 1)} {
		if _, err := page(bad); err == nil || !strings.Contains(err.Error(), evalFile+": damaged") {
			t.Errorf("error %v about %s", err, bad)
		}
	}
}

// TestCalibrationLegend checks that the two lines of a calibration are named, and differ.
func TestCalibrationLegend(t *testing.T) {
	p := Page{Runs: []*Run{{Eval: &Evaluation{}}}}
	p.Runs[0].Eval.Calibration.Bins = []score.CalibrationBin{{Probability: 0.5, Frequency: 0.7}, {Probability: 0.9, Frequency: 0.8}}
	chart := string(p.Runs[0].Eval.Chart())
	for _, words := range []string{">measured<", ">calibrated<", "stroke:#D55E00"} {
		if !strings.Contains(chart, words) {
			t.Errorf("the chart does not hold %q", words)
		}
	}
}
