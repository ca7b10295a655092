package ops

import (
	"math"
	"slices"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// These tests expect faults of Gorgonia v0.9.18 that this package avoids with ops of its
// own. If one fails after an upgrade, the fault is repaired, and the message names the
// code that can go.

// Dropout's gradient is divided by p in place of 1−p, which is right only at p = ½.
func TestUpstreamDropoutGradient(t *testing.T) {
	skipPlain(t)
	const p = 0.2
	g := G.NewGraph()
	x := input{"x", 50, 50, make([]float32, 2500)}.node(g)
	for k := range x.Value().Data().([]float32) {
		x.Value().Data().([]float32)[k] = 1
	}
	y, err := G.Dropout(x, p)
	if err != nil {
		t.Fatal(err)
	}
	loss, err := G.Sum(y)
	if err != nil {
		t.Fatal(err)
	}
	grads, err := G.Grad(loss, x)
	if err != nil {
		t.Fatal(err)
	}
	m := G.NewTapeMachine(g)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	var largest float32
	for _, v := range grads[0].Value().Data().([]float32) {
		largest = max(largest, v)
	}
	if math.Abs(float64(largest)-1/(1-p)) < 1e-3 {
		t.Error("gorgonia.Dropout's gradient is 1/(1-p) now: its warning in doc.go can go, and Dropout here need only differ in its seeded mask and free number of rows")
	}
}

// SoftMax takes the maximum of a row from element [0, 0] of the whole matrix
// and skips column 0, so that one large row ruins the others.
func TestUpstreamSoftMax(t *testing.T) {
	g := G.NewGraph()
	x := input{"x", 2, 3, []float32{200, 0, 0, 2, 1, -1}}.node(g)
	y, err := G.SoftMax(x)
	if err != nil {
		t.Fatal(err)
	}
	m := G.NewTapeMachine(g)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	got := y.Value().Data().([]float32)
	want := slices.Concat(refSoftmax([]float64{200, 0, 0}), refSoftmax([]float64{2, 1, -1}))
	right := true
	for j, w := range want { // on arm64 the large row itself gets negative numbers
		right = right && got[j] >= 0 && math.Abs(float64(got[j])-w) < 1e-6
	}
	if right {
		t.Error("gorgonia.SoftMax is right for rows of unlike magnitude now: its warning in doc.go can go")
	}
}

func refSoftmax(x []float64) []float64 {
	var sum float64
	for _, v := range x {
		sum += math.Exp(v)
	}
	p := make([]float64, len(x))
	for j, v := range x {
		p[j] = math.Exp(v) / sum
	}
	return p
}

// GlorotU of float32 draws from a normal distribution, so values exceed the bound of the
// uniform one.
func TestUpstreamGlorotU(t *testing.T) {
	const in, out = 300, 84
	values := G.GlorotU(1)(tensor.Float32, in, out).([]float32)
	bound := math.Sqrt(6.0 / (in + out))
	for _, v := range values {
		if math.Abs(float64(v)) > bound {
			return
		}
	}
	t.Errorf("gorgonia.GlorotU(1) keeps within ±√(6/(in+out)) = ±%.3f now: layers.GlorotUniform need only differ in its seed", bound)
}

// GlorotN takes a gain and no seed.
func TestUpstreamGlorotN(t *testing.T) {
	draw := func() []float32 { return G.GlorotN(1)(tensor.Float32, 3, 3).([]float32) }
	if slices.Equal(draw(), draw()) {
		t.Error("gorgonia.GlorotN gives the same values twice now: its warning in doc.go can go")
	}
}
