package score

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
)

// TestAssessClasses compares a table worked by hand: four nodes with labels, one without.
func TestAssessClasses(t *testing.T) {
	labels := &graph.Labels{Classes: 3, Class: []int32{0, 0, 1, 1, -1}, Names: []string{"cat", "dog", "owl"}}
	p := []float32{
		0.9, 0.1, 0, // cat: right
		0.2, 0.8, 0, // cat taken for dog
		0.1, 0.9, 0, // dog: right
		0.25, 0.75, 0, // dog: right
		0, 0, 1, // unknown
	}
	a, err := Assess(p, labels, []int32{0, 1, 2, 3, 4})
	if err != nil {
		t.Fatal(err)
	}
	if want := [][]int{{1, 1, 0}, {0, 2, 0}, {0, 0, 0}}; !slices.EqualFunc(a.Confusion, want, slices.Equal) {
		t.Errorf("confusion %v, want %v", a.Confusion, want)
	}
	third, f := 2.0/3, func(x number) float64 { return float64(x) }
	for c, want := range [][3]float64{{1, 0.5, third}, {third, 1, 0.8}, {math.NaN(), math.NaN(), math.NaN()}} {
		r := a.Rows[c]
		for k, got := range []float64{f(r.Precision), f(r.Recall), f(r.F1)} {
			if math.Abs(got-want[k]) > 1e-12 || math.IsNaN(got) != math.IsNaN(want[k]) {
				t.Errorf("%s: %+v, want %v", r.Name, r, want)
			}
		}
	}
	// 0.75 is in the bin (11/15, 12/15], both 0.9 are in (13/15, 14/15], and 0.8 as a float32 is
	// over 12/15.
	want := (math.Abs(0-0.8) + math.Abs(1-0.75) + math.Abs(2-1.8)) / 4
	if got := float64(a.Calibration.Error); math.Abs(got-want) > 1e-6 {
		t.Errorf("calibration error %v, want %v", got, want)
	}
}

func TestAssessTasks(t *testing.T) {
	nan := float32(math.NaN())
	labels := &graph.Labels{Tasks: 2, Multi: []float32{1, 0, 0, 1, 1, nan}}
	a, err := Assess([]float32{0.9, 0.4, 0.6, 0.7, 0.2, 0.5}, labels, []int32{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	if r := a.Rows[0]; r.Nodes != 2 || r.Predicted != 2 || r.Right != 1 || r.F1 != 0.5 {
		t.Errorf("task 0: %+v", r)
	}
	if r := a.Rows[1]; r.Nodes != 1 || r.Predicted != 1 || r.Right != 1 || r.F1 != 1 {
		t.Errorf("task 1: %+v", r)
	}
	if a.Confusion != nil {
		t.Error("tasks have no confusion of classes")
	}
}

// TestAssessAgrees compares with Of: the accuracy is the share on the diagonal, and
// micro-F1 follows from the sums over tasks. Labels drawn from the probabilities are
// calibrated: the error is small, and large for probabilities made more extreme.
func TestAssessAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, k = 20000, 4
	p := make([]float32, n*k)
	for i := range p {
		p[i] = float32(rng.NormFloat64())
	}
	softmax(p, k)
	nodes := make([]int32, n)
	classes := &graph.Labels{Classes: k, Class: make([]int32, n)}
	tasks := &graph.Labels{Tasks: k, Multi: make([]float32, n*k)}
	for i := range nodes {
		nodes[i] = int32(i)
		u := rng.Float32()
		for c := range k - 1 {
			if u -= p[i*k+c]; u >= 0 {
				classes.Class[i] = int32(c + 1)
			}
		}
		for c := range k {
			if rng.Float32() < p[i*k+c] {
				tasks.Multi[i*k+c] = 1
			}
		}
	}
	a, err := Assess(p, classes, nodes)
	if err != nil {
		t.Fatal(err)
	}
	accuracy, _ := Of(datasets.Accuracy, p, classes, nodes)
	right := 0
	for c := range k {
		right += a.Confusion[c][c]
	}
	if float64(right)/n != accuracy {
		t.Errorf("%d right of %d, accuracy %v", right, n, accuracy)
	}
	if a.Calibration.Error > 0.02 {
		t.Errorf("calibrated probabilities have error %v", a.Calibration.Error)
	}
	b, err := Assess(p, tasks, nodes)
	if err != nil || b.Calibration.Error > 0.02 {
		t.Errorf("tasks: error %v, %v", b.Calibration.Error, err)
	}
	extreme := slices.Clone(p)
	for i := range extreme {
		extreme[i] = float32(math.Pow(float64(extreme[i]), 4))
	}
	for i := range n {
		var sum float32
		for _, v := range extreme[i*k : (i+1)*k] {
			sum += v
		}
		for c := range k {
			extreme[i*k+c] = min(extreme[i*k+c]/sum, 1)
		}
	}
	if a, err = Assess(extreme, classes, nodes); err != nil || a.Calibration.Error < 0.1 {
		t.Errorf("extreme probabilities have error %v, %v", a.Calibration.Error, err)
	}
}

func TestAssessErrors(t *testing.T) {
	labels := &graph.Labels{Classes: 2, Class: []int32{0, -1}}
	for want, call := range map[string]func() (*Assessment, error){
		"no labels":       func() (*Assessment, error) { return Assess(nil, nil, nil) },
		"3 probabilities": func() (*Assessment, error) { return Assess([]float32{1, 0, 0}, labels, []int32{0}) },
		"outside [0, 1]":  func() (*Assessment, error) { return Assess([]float32{2, 0}, labels, []int32{0}) },
		"outside [0, 2)":  func() (*Assessment, error) { return Assess([]float32{1, 0}, labels, []int32{2}) },
		"has a label":     func() (*Assessment, error) { return Assess([]float32{1, 0}, labels, []int32{1}) },
		"is NaN, outside": func() (*Assessment, error) { return Assess([]float32{float32(math.NaN()), 0}, labels, []int32{0}) },
	} {
		if _, err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// softmax turns each row of logits into probabilities, in place.
func softmax(logits []float32, columns int) { Probabilities(logits, &graph.Labels{Classes: columns}) }
