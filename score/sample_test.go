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

// evalCase returns labels and scores of m nodes; tasks 0 means classes. unknown labels some
// nodes or tasks.
func evalCase(m, tasks int, unknown bool) (*graph.Labels, []float32) {
	random := rand.New(rand.NewPCG(5, uint64(tasks)))
	labels := &graph.Labels{Classes: 3, Tasks: tasks}
	if tasks > 0 {
		labels.Classes = 0
	}
	width := labels.Outputs()
	scores := make([]float32, m*width)
	for i := range m {
		if tasks == 0 {
			labels.Class = append(labels.Class, random.Int32N(3))
			if unknown && i%5 == 2 {
				labels.Class[i] = -1
			}
		}
		for t := range width {
			scores[i*width+t] = float32(random.NormFloat64())
			if tasks > 0 {
				y := float32(random.IntN(2))
				if unknown && (i+t)%5 == 2 {
					y = float32(math.NaN())
				}
				labels.Multi = append(labels.Multi, y)
			}
		}
	}
	return labels, scores
}

// Over all samples of N of M nodes, the mean of an unbiased estimate is the score of all
// nodes, and the mean of the squared standard error is the variance of the estimate.
func TestSampleEnumerated(t *testing.T) {
	const m = 12
	for _, c := range []struct {
		metric  datasets.Metric
		tasks   int
		unknown bool
	}{
		{datasets.Accuracy, 0, false}, {datasets.Accuracy, 0, true}, {datasets.MicroF1, 0, false},
		{datasets.Accuracy, 3, false},
	} {
		labels, scores := evalCase(m, c.tasks, c.unknown)
		width := labels.Outputs()
		var population []int32
		for v := range int32(m) {
			if c.tasks > 0 || labels.Class[v] >= 0 {
				population = append(population, v)
			}
		}
		whole, err := Of(c.metric, scores, labels, sequence(m))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{2, 3, 5} {
			var count, sum, squares, variances float64
			for set := range 1 << len(population) {
				s := &Sample{Of: len(population)}
				var own []float32
				for k, v := range population {
					if set>>k&1 == 1 {
						s.Nodes = append(s.Nodes, v)
						own = append(own, scores[int(v)*width:(int(v)+1)*width]...)
					}
				}
				if len(s.Nodes) != n {
					continue
				}
				e, err := s.Score(c.metric, own, labels)
				if err != nil || !e.Unbiased {
					t.Fatal(e, err)
				}
				count++
				sum += e.Score
				squares += (e.Score - whole) * (e.Score - whole)
				variances += e.StandardError * e.StandardError
			}
			if bias := sum/count - whole; math.Abs(bias) > 1e-12 {
				t.Errorf("%+v, %d nodes: the mean is off by %g", c, n, bias)
			}
			if off := variances/count - squares/count; math.Abs(off) > 1e-12 {
				t.Errorf("%+v, %d nodes: the squared standard error is off by %g of %g", c, n, off, squares/count)
			}
		}
	}
}

func sequence(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// The law of the drawn samples, and the standard error of ratios, at a fixed seed.
func TestSampleDrawn(t *testing.T) {
	const m, n, draws = 400, 80, 4000
	for _, c := range []struct {
		metric  datasets.Metric
		tasks   int
		unknown bool
	}{{datasets.Accuracy, 0, true}, {datasets.MicroF1, 4, false}, {datasets.MicroF1, 4, true}, {datasets.Accuracy, 4, true}} {
		labels, scores := evalCase(m, c.tasks, c.unknown)
		width := labels.Outputs()
		whole, err := Of(c.metric, scores, labels, sequence(m))
		if err != nil {
			t.Fatal(err)
		}
		var sum, squares, variances float64
		drawn := make([]int, m)
		for k := range draws {
			s, err := NewSample(c.metric, labels, sequence(m), n, uint64(k), 1)
			if err != nil || len(s.Nodes) != n || !s.Sampled() || !slices.IsSorted(s.Nodes) {
				t.Fatal(s, err)
			}
			var own []float32
			for _, v := range s.Nodes {
				drawn[v]++
				own = append(own, scores[int(v)*width:(int(v)+1)*width]...)
			}
			e, err := s.Score(c.metric, own, labels)
			if err != nil || e.Unbiased != (c.tasks == 0) {
				t.Fatal(e, err)
			}
			sum += e.Score
			squares += (e.Score - whole) * (e.Score - whole)
			variances += e.StandardError * e.StandardError
		}
		mean, variance := sum/draws, squares/draws
		if z := (mean - whole) / math.Sqrt(variance/draws); math.Abs(z) > 4 {
			t.Errorf("%+v: the mean %v is %.1f standard errors from %v", c, mean, z, whole)
		}
		if ratio := variances / draws / variance; ratio < 0.93 || ratio > 1.07 {
			t.Errorf("%+v: the mean squared standard error is %.3f times the variance", c, ratio)
		}
		share, chi := float64(draws)*n/float64(len(slices.DeleteFunc(slices.Clone(drawn), func(k int) bool { return k == 0 }))), 0.0
		for v, k := range drawn {
			if c.tasks == 0 && labels.Class[v] < 0 {
				if k > 0 {
					t.Fatalf("node %d without a label was drawn", v)
				}
				continue
			}
			chi += (float64(k) - share) * (float64(k) - share) / share
		}
		if chi > m+6*math.Sqrt(2*m) {
			t.Errorf("%+v: χ² %.0f for %d nodes", c, chi, m)
		}
	}
}

func TestSampleEdges(t *testing.T) {
	labels, scores := evalCase(10, 0, false)
	if _, err := NewSample(datasets.ROCAUC, labels, sequence(10), 5, 1, 1); err == nil || !strings.Contains(err.Error(), "rocauc") {
		t.Errorf("rocauc: %v", err)
	}
	if _, err := NewSample(datasets.Accuracy, labels, sequence(10), -1, 1, 1); err == nil {
		t.Error("a negative number")
	}
	for _, outside := range []int32{-1, 10} {
		if _, err := NewSample(datasets.Accuracy, labels, []int32{0, outside}, 1, 1, 1); err == nil || !strings.Contains(err.Error(), "outside [0, 10)") {
			t.Errorf("node %d: %v", outside, err)
		}
	}
	if _, err := NewSample(datasets.Accuracy, nil, sequence(10), 1, 1, 1); err == nil {
		t.Error("no labels")
	}
	for _, n := range []int{0, 10, 11} {
		s, err := NewSample(datasets.Accuracy, labels, sequence(10), n, 1, 1)
		if err != nil || s.Sampled() || len(s.Nodes) != 10 {
			t.Fatal(s, err)
		}
		if e, err := s.Score(datasets.Accuracy, scores, labels); err != nil || e.StandardError != 0 || !e.Unbiased {
			t.Error(e, err)
		}
	}
	a, _ := NewSample(datasets.Accuracy, labels, sequence(10), 4, 1, 1)
	b, _ := NewSample(datasets.Accuracy, labels, sequence(10), 4, 1, 1)
	other, _ := NewSample(datasets.Accuracy, labels, sequence(10), 4, 2, 1)
	if !slices.Equal(a.Nodes, b.Nodes) || slices.Equal(a.Nodes, other.Nodes) {
		t.Error(a.Nodes, b.Nodes, other.Nodes)
	}
	one, _ := NewSample(datasets.Accuracy, labels, sequence(10), 1, 1, 1)
	if e, err := one.Score(datasets.Accuracy, scores[:3], labels); err != nil || !math.IsNaN(e.StandardError) {
		t.Error(e, err)
	}
}
