package train

import (
	"context"
	"fmt"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/score"
)

// arxivTwin returns the data and model of the standard step: a graph with the size of
// ogbn-arxiv, two layers, hidden width 256.
func arxivTwin(b *testing.B, sizes ...int) (*datasets.Data, *layers.Model) {
	d, err := datasets.Open(context.Background(), "synth:arxiv", datasets.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return d, modelOver(b, d, &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: sizes}, 256)
}

// BenchmarkTrainStep runs steps of one batch of 512, sampled beforehand.
func BenchmarkTrainStep(b *testing.B) {
	for _, sizes := range [][]int{{512, 512}, {512, 1024}} {
		b.Run(fmt.Sprintf("samples=%d,%d", sizes[0], sizes[1]), func(b *testing.B) {
			d, m := arxivTwin(b, sizes...)
			p := compiled(b, m)
			batch := sampled(b, m, d.Split.Train[:512], 0)
			var state AdamState
			step := func() {
				if _, err := p.Step(batch, 1); err != nil {
					b.Fatal(err)
				}
				if err := (Adam{}).Step(p.Parameters(), p.Gradients(), &state); err != nil {
					b.Fatal(err)
				}
			}
			step() // makes the buffers
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
		})
	}
}

// BenchmarkInference runs full-neighbour inference over all nodes.
func BenchmarkInference(b *testing.B) {
	d, m := arxivTwin(b, 512, 512)
	nodes := make([]int32, d.Nodes())
	for i := range nodes {
		nodes[i] = int32(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Predict(context.Background(), m, d, nodes); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScore(b *testing.B) {
	d := smallData(b, 20000, 5)
	scores := make([]float32, 5*20000)
	for k := range scores {
		scores[k] = float32(k*7919%1000) / 10
	}
	nodes := make([]int32, 20000)
	for i := range nodes {
		nodes[i] = int32(i)
	}
	tasks := *d.Labels
	tasks.Tasks, tasks.Classes, tasks.Class, tasks.Multi = 5, 0, nil, make([]float32, len(scores))
	for k := range tasks.Multi {
		tasks.Multi[k] = float32(k * 31 % 2)
	}
	b.Run("accuracy", func(b *testing.B) {
		for b.Loop() {
			if _, err := score.Of(datasets.Accuracy, scores, d.Labels, nodes); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("rocauc", func(b *testing.B) {
		for b.Loop() {
			if _, err := score.Of(datasets.ROCAUC, scores, &tasks, nodes); err != nil {
				b.Fatal(err)
			}
		}
	})
}
