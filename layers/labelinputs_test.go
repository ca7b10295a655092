package layers

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

// labelled is a model with label inputs over a sampler, and a drawn mini-batch.
type labelled struct {
	p       *graph.Laplacian
	x       *graph.Features
	y       *graph.Labels
	batch   *Batch
	m       *GCN
	drawn   samplers.MiniBatch
	machine G.VM
}

// newLabelled makes a model whose nodes below train are training nodes.
func newLabelled(t *testing.T, train int, tasks bool, sampler func(*graph.Laplacian, []int32) samplers.Sampler) *labelled {
	t.Helper()
	rng := rand.New(rand.NewPCG(8, 9))
	const n = 120
	l := &labelled{p: graph.NewLaplacian(randomGraph(t, rng, n, 400, false)), x: randomFeatures(rng, n, 7), y: randomLabels(rng, n, 4)}
	l.y.Class[5] = -1
	if tasks {
		l.y = &graph.Labels{Tasks: 3, Multi: make([]float32, 3*n)}
		for k := range l.y.Multi {
			l.y.Multi[k] = float32(rng.IntN(2))
		}
		l.y.Multi[4] = float32(math.NaN())
	}
	nodes := make([]int32, train)
	for v := range nodes {
		nodes[v] = int32(v)
	}
	s := sampler(l.p, nodes)
	l.batch = NewBatch(G.NewGraph(), s)
	var err error
	l.m, err = NewGCN(l.batch, l.x, l.y, GCNOptions{Hidden: 9, InputLayer: true, Dropout: NoDropout, ClassifierDropout: NoDropout, LabelInputs: &LabelInputs{Nodes: nodes, Share: 0.6}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Sample(context.Background(), nodes[:min(60, train)], rng, &l.drawn); err != nil {
		t.Fatal(err)
	}
	l.machine = G.NewTapeMachine(l.batch.Graph())
	t.Cleanup(func() { l.machine.Close() })
	return l
}

// step returns logits and loss of a training step.
func (l *labelled) step(t *testing.T, seed uint64) ([]float32, float64) {
	t.Helper()
	if err := l.batch.Set(&l.drawn, true, seed); err != nil {
		t.Fatal(err)
	}
	defer l.machine.Reset()
	if err := l.machine.RunAll(); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(l.m.Logits.Value().Data().([]float32)), float64(l.m.Loss.Value().Data().(float32))
}

func labelSamplers() map[string]func(*graph.Laplacian, []int32) samplers.Sampler {
	return map[string]func(*graph.Laplacian, []int32) samplers.Sampler{
		"full": func(p *graph.Laplacian, _ []int32) samplers.Sampler { return &samplers.Full{Laplacian: p, Depth: 2} },
		"ladies": func(p *graph.Laplacian, _ []int32) samplers.Sampler {
			return &samplers.LayerWise{Laplacian: p, Sizes: []int{40, 50}, Importance: samplers.LADIES{}, KeepSelf: true}
		},
		"neighbor": func(p *graph.Laplacian, _ []int32) samplers.Sampler {
			return &samplers.Neighbor{Laplacian: p, Sizes: []int{3, 3}}
		},
		"saint": func(p *graph.Laplacian, train []int32) samplers.Sampler {
			s, err := samplers.ByName("saint-node", samplers.Config{Laplacian: p, Train: train, Layers: 2})
			if err != nil {
				panic(err)
			}
			return s
		},
	}
}

// TestLabelInputsDoNotLeak changes the label of one output node after another. A node that
// counts in the loss must not read it, nor may any other logit; a label that is given must
// change logits.
func TestLabelInputsDoNotLeak(t *testing.T) {
	for name, sampler := range labelSamplers() {
		t.Run(name, func(t *testing.T) {
			l := newLabelled(t, 80, false, sampler)
			counted, given := 0, 0
			for seed := range uint64(3) {
				logits, loss := l.step(t, seed)
				for _, v := range l.drawn.Outputs() {
					old := l.y.Class[v]
					if old < 0 {
						continue
					}
					l.y.Class[v] = (old + 1) % int32(l.y.Classes)
					other, otherLoss := l.step(t, seed)
					l.y.Class[v] = old
					switch {
					case !l.m.labels.gives(v, seed):
						counted++
						if !slices.Equal(other, logits) {
							t.Fatalf("seed %d: the label of node %d, which counts in the loss, changes logits", seed, v)
						}
						if otherLoss == loss {
							t.Fatalf("seed %d: node %d does not count in the loss, and its label is no input", seed, v)
						}
					case slices.Contains(l.drawn.Inputs(), v):
						given++
						if slices.Equal(other, logits) {
							t.Fatalf("seed %d: node %d gives its label, but no logit reads it", seed, v)
						}
					default:
						if otherLoss != loss {
							t.Fatalf("seed %d: node %d gives its label, but counts in the loss", seed, v)
						}
					}
				}
			}
			if counted == 0 || given == 0 {
				t.Fatalf("%d nodes count, %d give their labels: want some of both", counted, given)
			}
		})
	}
}

// TestLabelInputsStep compares a step over full neighbourhoods with the formula in float64.
func TestLabelInputsStep(t *testing.T) {
	for _, tasks := range []bool{false, true} {
		for _, weighted := range []bool{false, true} {
			l := newLabelled(t, 80, tasks, labelSamplers()["full"])
			outputs := l.drawn.Outputs()
			if weighted {
				for i := range outputs {
					l.drawn.LossWeights = append(l.drawn.LossWeights, float32(i+1)/100)
				}
			}
			const seed = 4
			logits, loss := l.step(t, seed)
			gave := make([]bool, l.y.Nodes())
			for v := range gave {
				gave[v] = l.m.labels.gives(int32(v), seed)
			}
			for v := 80; v < len(gave); v++ {
				if gave[v] {
					t.Fatalf("node %d, which is no training node, gives its label", v)
				}
			}
			known := l.m.labels.known
			l.m.labels.known = make([]float32, len(gave))
			for v := range gave {
				if gave[v] {
					l.m.labels.known[v] = 1
				}
			}
			dense := denseLogits(t, l.p, l.x, l.m, GCNOptions{InputLayer: true})
			l.m.labels.known = known
			checkClose(t, "logits", logits, dense, outputs)
			sum, count := 0.0, 0.0
			for i, v := range outputs {
				if gave[v] {
					continue
				}
				row, entries := 0.0, 0.0
				if tasks {
					for k := range l.y.Tasks {
						if y := float64(l.y.Multi[int(v)*l.y.Tasks+k]); y == y {
							z := dense[int(v)][k]
							row, entries = row+math.Log1p(math.Exp(z))-y*z, entries+1
						}
					}
				} else if c := l.y.Class[v]; c >= 0 {
					total := 0.0
					for k := range l.y.Classes {
						total += math.Exp(dense[int(v)][k])
					}
					row, entries = math.Log(total)-dense[int(v)][int(c)], 1
				}
				if weighted && entries > 0 {
					row, entries = float64(l.drawn.LossWeights[i])/0.4*row/entries, 0
				}
				sum, count = sum+row, count+entries
			}
			if want := sum / max(count, 1); math.Abs(loss-want) > 1e-5*math.Abs(want) {
				t.Errorf("tasks %v, weights %v: loss %v, want %v", tasks, weighted, loss, want)
			}
		}
	}
}

// TestLabelShare checks the share of the nodes that give their labels: independent of the
// node and of the seed, within four standard errors.
func TestLabelShare(t *testing.T) {
	y := &graph.Labels{Classes: 2, Class: make([]int32, 1000)}
	l, err := newLabelInputs(everyThird(1000), y)
	if err != nil {
		t.Fatal(err)
	}
	count, both, n := 0, 0, 0
	for seed := range uint64(100) {
		for v := int32(0); v < 999; v += 3 {
			n++
			if l.gives(v, seed) {
				count++
				if l.gives(v, seed+1000) {
					both++
				}
			}
			if l.gives(v+1, seed) {
				t.Fatalf("node %d is no training node", v+1)
			}
		}
	}
	if share, se := float64(count)/float64(n), math.Sqrt(0.25/float64(n)); math.Abs(share-0.5) > 4*se {
		t.Errorf("%.4f of the nodes, want 0.5 ± %.4f", share, se)
	}
	if share, se := float64(both)/float64(n), math.Sqrt(0.25*0.75/float64(n)); math.Abs(share-0.25) > 4*se {
		t.Errorf("%.4f of the nodes in two steps, want 0.25 ± %.4f", share, se)
	}
}

func TestLabelInputsErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := graph.NewLaplacian(randomGraph(t, rng, 30, 60, false))
	x, y := randomFeatures(rng, 30, 3), randomLabels(rng, 30, 4)
	unknown := &graph.Labels{Classes: 4, Class: slices.Repeat([]int32{-1}, 30)}
	full := &samplers.Full{Laplacian: p, Depth: 2}
	rolling := &samplers.LayerWise{Laplacian: p, Sizes: []int{8, 8}, Control: samplers.ControlRolling}
	for _, c := range []struct {
		sampler samplers.Sampler
		y       *graph.Labels
		o       GCNOptions
		want    string
	}{
		{full, y, GCNOptions{LabelInputs: everyThird(30)}, "input layer"},
		{full, y, GCNOptions{InputLayer: true, LabelInputs: &LabelInputs{Nodes: []int32{1}, Share: 1}}, "share of 1"},
		{full, y, GCNOptions{InputLayer: true, LabelInputs: &LabelInputs{Nodes: []int32{1}, Share: math.NaN()}}, "share of NaN"},
		{full, y, GCNOptions{InputLayer: true, LabelInputs: &LabelInputs{Nodes: []int32{1, 30}}}, "node 1 is 30"},
		{full, y, GCNOptions{InputLayer: true, LabelInputs: &LabelInputs{}}, "no training node with a label"},
		{full, unknown, GCNOptions{InputLayer: true, LabelInputs: everyThird(30)}, "no training node with a label"},
		{rolling, y, GCNOptions{InputLayer: true, LabelInputs: everyThird(30)}, "histories"},
	} {
		_, err := NewGCN(NewBatch(G.NewGraph(), c.sampler), x, c.y, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), "layers:") > 1 {
			t.Errorf("%+v: %v, want one error about %q", c.o.LabelInputs, err, c.want)
		}
	}
	_, m := testModel(t, p, x, y, 2, GCNOptions{Hidden: 5, InputLayer: true, LabelInputs: everyThird(30)})
	other := graph.NewLaplacian(randomGraph(t, rng, 20, 60, false))
	if _, err := m.Infer(t.Context(), other, randomFeatures(rng, 20, 3), nil); err == nil || !strings.Contains(err.Error(), "label inputs of 30 nodes") {
		t.Errorf("inference on another graph: %v", err)
	}
}
