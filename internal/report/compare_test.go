package report

import (
	"math"
	"testing"
)

// TestCompare compares the groups of three runs with their scores by hand.
func TestCompare(t *testing.T) {
	runs, err := Load(threeRuns(t))
	if err != nil {
		t.Fatal(err)
	}
	runs = append(runs, runs[0]) // repeated: it does not count
	methods := Compare(runs)
	if len(methods) != 2 {
		t.Fatalf("%+v: want 2 methods", methods)
	}
	ladies, full := methods[0], methods[1]
	if ladies.Name != "ladies · 512, 1024" || ladies.Runs != 2 || ladies.Sampled {
		t.Errorf("%+v", ladies)
	}
	if s := ladies.Test; s.N != 2 || s.Mean != 0.625 || math.Abs(s.SD-0.125*math.Sqrt2) > 1e-15 {
		t.Errorf("test %+v", s)
	}
	if s := ladies.StepMS; s.N != 1 || s.Mean != 2.5 {
		t.Errorf("milliseconds %+v", s)
	}
	if full.Runs != 1 || full.Test.N != 0 || full.BestValid.N != 0 {
		t.Errorf("without a result: %+v", full)
	}
}
