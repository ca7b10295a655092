package samplertest

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Simulation compares the mean of P̃H over many batches with PH, entry by entry.
type Simulation struct {
	Mean     []float64 // of the estimates, seeds×width, row-major
	Exact    []float64 // the same rows of P…PH, one P per layer
	StdError []float64 // of Mean, estimated from the batches
	Batches  int
}

// Simulate draws the given number of batches of the seeds, each from its own random
// stream, and propagates the node features h, nodes×width, through their blocks
// without weights or activations. The output nodes of the sampler must be the seeds.
// The error is the sampler's.
func Simulate(sampler samplers.Sampler, p *graph.Laplacian, seeds []int32, h []float64, width, batches int, seed uint64) (*Simulation, error) {
	if err := samplers.Prepare(sampler); err != nil {
		return nil, err
	}
	r := &Simulation{Batches: batches, Exact: exactRows(p, sampler.Layers(), seeds, h, width)}
	r.Mean, r.StdError = make([]float64, len(r.Exact)), make([]float64, len(r.Exact))
	source := samplers.NewSource(seed, 0, 0)
	rng := rand.New(source)
	var batch samplers.MiniBatch
	var x, y []float64
	for b := range batches {
		samplers.Seed(source, seed, 0, uint64(b))
		if err := sampler.Sample(context.Background(), seeds, rng, &batch); err != nil {
			return nil, err
		}
		x = x[:0]
		for _, i := range batch.Inputs() {
			x = append(x, h[int(i)*width:][:width]...)
		}
		for _, block := range batch.Blocks {
			y = propagate(&block.Matrix, x, y, width)
			x, y = y, x
		}
		for e, v := range x { // Welford's update; StdError holds the sum of squares
			d := v - r.Mean[e]
			r.Mean[e] += d / float64(b+1)
			r.StdError[e] += d * (v - r.Mean[e])
		}
	}
	for e, squares := range r.StdError {
		r.StdError[e] = math.Sqrt(squares / float64(batches-1) / float64(batches))
	}
	return r, nil
}

// propagate returns m·x in the memory of y.
func propagate(m *graph.CSR, x, y []float64, width int) []float64 {
	y = append(y[:0], make([]float64, m.Rows*width)...)
	for i := range m.Rows {
		row := y[i*width:]
		values := m.RowValues(i)
		for k, j := range m.Row(i) {
			for f := range width {
				row[f] += float64(values[k]) * x[int(j)*width+f]
			}
		}
	}
	return y
}

// exactRows returns the rows of P^layers·h of the seeds.
func exactRows(p *graph.Laplacian, layers int, seeds []int32, h []float64, width int) []float64 {
	n := p.Nodes()
	for range layers {
		next := make([]float64, n*width)
		for i := range n {
			for j, entry := range p.Row(i) {
				for f := range width {
					next[i*width+f] += entry * h[int(j)*width+f]
				}
			}
		}
		h = next
	}
	var rows []float64
	for _, i := range seeds {
		rows = append(rows, h[int(i)*width:][:width]...)
	}
	return rows
}

// Worst returns the largest distance of Mean from Exact in standard errors.
//
// Two small differences have no standard error and do not count: rounding to
// float32, and events too rare to occur in so many batches (a candidate that is
// nearly always drawn weighs slightly more than 1). A larger difference of an entry
// without variance counts as +Inf, and so does a mean that is NaN.
func (r *Simulation) Worst() float64 {
	worst := 0.0
	for e, want := range r.Exact {
		d := math.Abs(r.Mean[e] - want)
		slack := (1e-6 + 1/float64(r.Batches)) * (1 + math.Abs(want))
		switch {
		case math.IsNaN(d):
			return math.Inf(1)
		case d > slack:
			worst = max(worst, (d-slack)/r.StdError[e])
		}
	}
	return worst
}

// Bound returns the bound on Worst, in standard errors, for 4 standard errors of one
// entry with Bonferroni's correction for the number of entries.
func (r *Simulation) Bound() float64 {
	level := math.Erfc(4 / math.Sqrt2)
	return math.Sqrt2 * math.Erfcinv(level/float64(len(r.Exact)))
}
