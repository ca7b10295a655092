package train

import (
	"context"
	"strings"
	"testing"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
)

// TestNothingToPredict checks that an empty list of nodes gives no scores, with either
// kind of inference, and that missing parts of the data are errors.
func TestNothingToPredict(t *testing.T) {
	ctx := context.Background()
	d := smallData(t, 60, 3)
	m := smallModel(t, d)
	own := *m
	own.Inference = nil
	for _, m := range []*layers.Model{m, &own} {
		for _, nodes := range [][]int32{nil, {}} {
			if scores, err := Predict(ctx, m, d, nodes); len(scores) != 0 || err != nil {
				t.Errorf("%d scores of no nodes, %v", len(scores), err)
			}
		}
		for _, d := range []*datasets.Data{nil, {}, {Graph: d.Graph, Features: d.Features, Labels: &graph.Labels{Classes: 1}}} {
			if _, err := Evaluate(ctx, m, d, []int32{0}); err == nil {
				t.Error("data without parts were scored")
			}
		}
	}
}

// TestGorgoniasDropout checks that a model with Gorgonia's own Dropout, which would drop values in
// every score, is neither trained nor scored, and that the error names the op to take.
func TestGorgoniasDropout(t *testing.T) {
	d := smallData(t, 60, 3)
	m := *smallModel(t, d)
	m.Inference = nil
	logits, err := G.Dropout(m.Logits, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	targets, err := m.Batch.Targets(d.Labels)
	if err != nil {
		t.Fatal(err)
	}
	if m.Loss, err = ops.Loss(logits, targets); err != nil {
		t.Fatal(err)
	}
	m.Logits = logits
	_, fit := Fit(t.Context(), &m, d, Options{MaxBatches: 2, Batch: 8})
	_, predicted := Predict(t.Context(), &m, d, []int32{0})
	for what, err := range map[string]error{"Fit": fit, "Predict": predicted} {
		if err == nil || !strings.Contains(err.Error(), "Gorgonia's Dropout") || !strings.Contains(err.Error(), "use ops.Dropout") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", what, err)
		}
	}
}
