package report

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
)

// TestCompare compares the groups of three runs with their scores by hand.
func TestCompare(t *testing.T) {
	runs, err := Load(threeRuns(t))
	if err != nil {
		t.Fatal(err)
	}
	for k := range runs {
		runs[k].Config["eval_samples"] = json.Number("0") // as config.json has it
	}
	again := *runs[0]
	runs = append(runs, &again) // repeated: it does not count
	methods := Compare(runs)
	if len(methods) != 2 {
		t.Fatalf("%+v: want 2 methods", methods)
	}
	ladies, full := methods[0], methods[1]
	if ladies.Name != "ladies · 512, 1024" || len(ladies.Runs) != 2 || ladies.Sampled {
		t.Errorf("%+v", ladies)
	}
	if s := ladies.Test; s.N != 2 || s.Mean != 0.625 || math.Abs(s.SD-0.125*math.Sqrt2) > 1e-15 {
		t.Errorf("test %+v", s)
	}
	if s := ladies.StepMS; s.N != 1 || s.Mean != 2.5 {
		t.Errorf("milliseconds %+v", s)
	}
	if len(full.Runs) != 1 || full.Test.N != 0 || full.BestValid.N != 1 || full.BestValid.Mean != 0.5 {
		t.Errorf("without a result: %+v", full)
	}
}

// groups returns the names of the groups, and the number of each run's.
func (s *set) groups() (names []string, of []int) {
	for _, m := range s.Methods {
		names = append(names, m.Name)
	}
	for _, r := range s.Rows {
		of = append(of, r.Group)
	}
	return names, of
}

// TestManySettings checks that names stay short if one run differs from the others in many
// settings, and that they tell all groups apart.
func TestManySettings(t *testing.T) {
	run := func(config string) *Run {
		dir := t.TempDir()
		writeRun(t, dir, config, curve, "")
		runs, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		return runs[0]
	}
	const usual = `"hidden":256,"layers":2,"dropout":0.2,"activation":"elu","patience":200`
	runs := []*Run{
		run(`{"method":"full","seed":1,"lr":0.001,"exact_input":false,` + usual + `}`),
		run(`{"method":"full","seed":2,"lr":0.001,"exact_input":false,` + usual + `}`),
		run(`{"method":"full","seed":1,"lr":0.01,"exact_input":false,` + usual + `}`),
		run(`{"method":"full","seed":1,"lr":0.001,"exact_input":true,` + usual + `}`),
		run(`{"method":"full","seed":1,"lr":0.01,"exact_input":false,"hidden":16,"layers":3,"dropout":0.5,"activation":"relu","patience":0}`),
	}
	s := split(runs)[0]
	want := []string{"full", "full · lr 0.01", "full · exact input", "full · activation relu · dropout 0.5 · hidden 16 · layers 3 · lr 0.01 · patience 0"}
	if names, of := s.groups(); !slices.Equal(names, want) || !slices.Equal(of, []int{1, 1, 2, 3, 4}) {
		t.Errorf("%q, %v", names, of)
	}
}
