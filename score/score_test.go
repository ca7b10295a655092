package score

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
)

var nan32 = float32(math.NaN())

// slowAUC is the share of (positive, negative) pairs in the right order, where a tie
// counts half, averaged over the tasks that have such pairs.
func slowAUC(scores []float32, y *graph.Labels, nodes []int32) float64 {
	var sum, tasks float64
	for t := range y.Tasks {
		var right, pairs float64
		for i, a := range nodes {
			for j, b := range nodes {
				if y.Multi[int(a)*y.Tasks+t] != 1 || y.Multi[int(b)*y.Tasks+t] != 0 {
					continue
				}
				pairs++
				switch p, n := scores[i*y.Tasks+t], scores[j*y.Tasks+t]; {
				case p > n:
					right++
				case p == n:
					right += 0.5
				}
			}
		}
		if pairs > 0 {
			sum += right / pairs
			tasks++
		}
	}
	return sum / tasks
}

// slowF1 is the harmonic mean of precision and recall over all (node, task) pairs.
func slowF1(scores []float32, y *graph.Labels, nodes []int32) float64 {
	var tp, predicted, positive float64
	for i, node := range nodes {
		for t := range y.Tasks {
			label := y.Multi[int(node)*y.Tasks+t]
			if math.IsNaN(float64(label)) {
				continue
			}
			if scores[i*y.Tasks+t] > 0 {
				predicted++
				tp += float64(label)
			}
			positive += float64(label)
		}
	}
	if tp == 0 {
		return 0
	}
	precision, recall := tp/predicted, tp/positive
	return 2 * precision * recall / (precision + recall)
}

func slowTaskAccuracy(scores []float32, y *graph.Labels, nodes []int32) float64 {
	var sum, tasks float64
	for t := range y.Tasks {
		var right, labelled float64
		for i, node := range nodes {
			switch label := y.Multi[int(node)*y.Tasks+t]; {
			case label == 1 && scores[i*y.Tasks+t] > 0, label == 0 && scores[i*y.Tasks+t] <= 0:
				right++
				labelled++
			case !math.IsNaN(float64(label)):
				labelled++
			}
		}
		if labelled > 0 {
			sum += right / labelled
			tasks++
		}
	}
	return sum / tasks
}

// TestTaskMetrics compares with the slow references. There are few distinct scores, and
// so many ties, and a quarter of the labels are unknown.
func TestTaskMetrics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := rapid.IntRange(1, 4).Draw(t, "tasks")
		total := rapid.IntRange(1, 30).Draw(t, "nodes")
		levels := rapid.SampledFrom([]int{2, 5, 1000}).Draw(t, "levels")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		y := &graph.Labels{Tasks: tasks, Multi: make([]float32, total*tasks)}
		for k := range y.Multi {
			y.Multi[k] = []float32{0, 1, 1, nan32}[rng.IntN(4)]
		}
		var nodes []int32
		for _, i := range rng.Perm(total)[:1+rng.IntN(total)] {
			nodes = append(nodes, int32(i))
		}
		scores := make([]float32, len(nodes)*tasks)
		for k := range scores {
			scores[k] = float32(rng.IntN(levels)) - float32(levels)/2
		}
		for _, c := range []struct {
			metric datasets.Metric
			slow   func([]float32, *graph.Labels, []int32) float64
		}{{datasets.ROCAUC, slowAUC}, {datasets.MicroF1, slowF1}, {datasets.Accuracy, slowTaskAccuracy}} {
			got, err := Of(c.metric, scores, y, nodes)
			want := c.slow(scores, y, nodes)
			if err != nil {
				known := false
				for _, node := range nodes {
					for _, label := range y.Multi[int(node)*tasks : (int(node)+1)*tasks] {
						known = known || label == label
					}
				}
				if !math.IsNaN(want) && known {
					t.Fatalf("%s: %v, want %v", c.metric, err, want)
				}
				continue
			}
			if math.Abs(got-want) > 1e-12 {
				t.Fatalf("%s = %v, want %v", c.metric, got, want)
			}
		}
	})
}

func TestClassMetrics(t *testing.T) {
	y := &graph.Labels{Classes: 3, Class: []int32{0, 1, 2, -1, 1}}
	scores := []float32{
		3, 1, 2, // node 4, class 1: wrong
		1, 1, 0, // node 0, class 0: right, the first of equals
		0, 0, 9, // node 3, unknown
		0, 1, 2, // node 2: right
	}
	nodes := []int32{4, 0, 3, 2}
	for _, metric := range []datasets.Metric{datasets.Accuracy, datasets.MicroF1} {
		if got, err := Of(metric, scores, y, nodes); err != nil || got != 2.0/3 {
			t.Errorf("%s = %v, %v, want 2/3", metric, got, err)
		}
	}
}

// TestROCAUCByHand has the example of scikit-learn's manual, one with a tie between a
// positive and a negative, and two classes as one task.
func TestROCAUCByHand(t *testing.T) {
	for _, c := range []struct {
		labels, scores []float32
		want           float64
	}{
		{[]float32{0, 0, 1, 1}, []float32{0.1, 0.4, 0.35, 0.8}, 0.75},
		{[]float32{0, 1, 1, 0}, []float32{1, 1, 2, 0}, 0.875},
		{[]float32{1, 1, 0}, []float32{5, 5, 5}, 0.5},
	} {
		nodes := make([]int32, len(c.labels))
		pairs := make([]float32, 0, 2*len(c.labels))
		classes := make([]int32, len(c.labels))
		for i := range nodes {
			nodes[i] = int32(i)
			pairs = append(pairs, 1, 1+c.scores[i])
			classes[i] = int32(c.labels[i])
		}
		got, err := Of(datasets.ROCAUC, c.scores, &graph.Labels{Tasks: 1, Multi: c.labels}, nodes)
		if err != nil || got != c.want {
			t.Errorf("labels %v, scores %v: %v, %v, want %v", c.labels, c.scores, got, err, c.want)
		}
		got, err = Of(datasets.ROCAUC, pairs, &graph.Labels{Classes: 2, Class: classes}, nodes)
		if err != nil || got != c.want {
			t.Errorf("two classes %v, scores %v: %v, %v, want %v", classes, c.scores, got, err, c.want)
		}
	}
}

func TestScoreErrors(t *testing.T) {
	if _, err := Of(datasets.Accuracy, nil, nil, nil); err == nil {
		t.Error("scored without labels")
	}
	two := &graph.Labels{Classes: 3, Class: []int32{0, -1}}
	tasks := &graph.Labels{Tasks: 1, Multi: []float32{1, 1, nan32}}
	for _, c := range []struct {
		metric datasets.Metric
		scores []float32
		labels *graph.Labels
		nodes  []int32
		want   string
	}{
		{datasets.Accuracy, []float32{1, 2}, two, []int32{0}, "2 scores for 1 nodes"},
		{datasets.Accuracy, []float32{1, 2, 3}, two, []int32{2}, "outside [0, 2)"},
		{datasets.Accuracy, []float32{1, nan32, 3}, two, []int32{0}, "score 1 of node 0 is not finite: NaN"},
		{datasets.Accuracy, []float32{1, 2, 3}, two, []int32{1}, "none of 1 nodes"},
		{datasets.ROCAUC, []float32{1, 2, 3}, two, []int32{0}, "not 3 classes"},
		{"f2", []float32{1, 2, 3}, two, []int32{0}, `unknown metric "f2"`},
		{datasets.ROCAUC, []float32{1, 2}, tasks, []int32{0, 1}, "no task has both"},
		{datasets.MicroF1, []float32{1}, tasks, []int32{2}, "none of 1 nodes"},
		{datasets.Accuracy, []float32{1}, tasks, []int32{2}, "none of 1 nodes"},
	} {
		if _, err := Of(c.metric, c.scores, c.labels, c.nodes); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %v: error %v, want one with %q", c.metric, c.scores, err, c.want)
		}
	}
}

// TestInfiniteScores scores logits that overflowed. Two classes with equal infinite
// logits are a tie.
func TestInfiniteScores(t *testing.T) {
	inf := float32(math.Inf(1))
	got, err := Of(datasets.ROCAUC, []float32{inf, inf, 0, 1, -inf, -inf, 1, 0}, &graph.Labels{Classes: 2, Class: []int32{0, 1, 1, 0}}, []int32{0, 1, 2, 3})
	if err != nil || got != 0.875 {
		t.Errorf("%v, %v, want 0.875", got, err)
	}
}

// TestScorable compares Scorable with Of: both must return the same error.
func TestScorable(t *testing.T) {
	for name, labels := range map[string]*graph.Labels{
		"classes":  {Classes: 3, Class: []int32{0, 2, -1, -1, 1}},
		"two":      {Classes: 2, Class: []int32{0, 1, 0, -1, 0}},
		"tasks":    {Tasks: 2, Multi: []float32{0, 1, 0, 1, 1, 1, nan32, nan32, 0, nan32}},
		"one task": {Tasks: 1, Multi: []float32{0, 0, 1, nan32, 0}},
	} {
		for _, metric := range []datasets.Metric{datasets.Accuracy, datasets.MicroF1, datasets.ROCAUC, "f2"} {
			for _, nodes := range [][]int32{{0}, {3}, {0, 1}, {0, 2}, {2, 3}, {0, 4}, {0, 1, 2, 3, 4}} {
				_, want := Of(metric, make([]float32, len(nodes)*labels.Outputs()), labels, nodes)
				got := Scorable(metric, labels, nodes)
				if (got == nil) != (want == nil) || got != nil && got.Error() != want.Error() {
					t.Errorf("%s of nodes %v by %s: %v, Of gives %v", name, nodes, metric, got, want)
				}
			}
		}
	}
}
