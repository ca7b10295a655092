package study

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
)

func openSynth(t *testing.T, spec string) *datasets.Data {
	t.Helper()
	data, err := datasets.Open(t.Context(), spec, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestTrials checks the candidates, their scores and costs, and the recommendation.
func TestTrials(t *testing.T) {
	data := openSynth(t, "synth:demo?nodes=2000&edges=20000&features=8")
	advice := &Advice{Method: "ladies-flat-debiased", Samples: []int{48, 64}, Layers: []LayerAdvice{{Candidates: 600}, {Candidates: 1200}}}
	what := Trials{Data: data, Candidates: DefaultCandidates(advice, 2, 64, false), Hidden: 64, Batch: 64, Batches: 80, Scored: 300, Seed: 1}
	trials, err := what.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(trials) < 4 || trials[0].Method != "full" || trials[0].Loss != 0 {
		t.Fatalf("trials %+v, want full batch as the reference, and three methods", trials)
	}
	full, both, exact, cv := trials[0], trials[1], trials[2], trials[3]
	if both.ExactInput || !exact.ExactInput || cv.Method != "ladies-cv" || !reflect.DeepEqual(cv.Samples, []int{64}) {
		t.Errorf("trials %+v", trials)
	}
	if !(exact.Operations < full.Operations && cv.Operations > 0) {
		t.Errorf("operations %v of full batch, %v with exact input, %v of ladies-cv", full.Operations, exact.Operations, cv.Operations)
	}
	if both.Memory != 0 || exact.Memory <= 0 || cv.Memory <= exact.Memory {
		t.Errorf("memory %d, %d and %d, want 0, P·X, and histories beside it", both.Memory, exact.Memory, cv.Memory)
	}
	for k, trial := range trials {
		if trial.Score < 0.2 || trial.Score > 1 || trial.Loss != full.Score-trial.Score {
			t.Errorf("trial %d: score %v, loss %v", k, trial.Score, trial.Loss)
		}
	}
	again, err := what.Run(t.Context())
	if err != nil || !reflect.DeepEqual(trials, again) {
		t.Errorf("the same trials differ: %v", err)
	}

	what.most = 1
	trials, err = what.Run(t.Context())
	if err != nil || trials[0].Method == "full" {
		t.Fatalf("full batch was tried beyond the limit: %v", err)
	}
	least := trials[0].Loss
	for _, trial := range trials {
		least = min(least, trial.Loss)
	}
	if least != 0 {
		t.Errorf("without the reference, the least loss is %v, want 0", least)
	}
}

// TestRecommended checks the rule on given trials: the cheapest without a loss.
func TestRecommended(t *testing.T) {
	trial := func(loss, operations float64) Trial { return Trial{Loss: loss, Operations: operations} }
	for _, c := range []struct {
		trials []Trial
		want   int
	}{
		{nil, -1},
		{[]Trial{trial(0, 9), trial(0.2, 1), trial(0.004, 3)}, 2},
		{[]Trial{trial(0, 9), trial(0.2, 1), trial(0.006, 3)}, 0},
		{[]Trial{trial(0, 9), trial(-0.1, 12), trial(0, 9)}, 0},
	} {
		if got := Recommended(c.trials); got != c.want {
			t.Errorf("trials %+v: %d, want %d", c.trials, got, c.want)
		}
	}
	advice := &Advice{Method: "ladies", Samples: []int{1}}
	if advice.Take([]Trial{trial(1, 1)}); advice.Method != "ladies" {
		t.Errorf("a trial with a loss became the advice: %+v", advice)
	}
}

// TestDefaultCandidates checks that candidates have as many samples as layers are drawn, and
// that ladies-cv is left out where almost all candidates would be drawn.
func TestDefaultCandidates(t *testing.T) {
	advice := &Advice{Method: "ladies-debiased", Samples: []int{10, 20, 30}, Layers: []LayerAdvice{{Candidates: 170}}}
	all := DefaultCandidates(advice, 3, 64, false)
	var texts []string
	for _, c := range all {
		texts = append(texts, c.Method)
		if sampled := 3; c.Method != "full" {
			if c.ExactInput {
				sampled--
			}
			if len(c.Samples) != sampled {
				t.Errorf("%s, exact input %v: samples %v", c.Method, c.ExactInput, c.Samples)
			}
		}
	}
	if got := strings.Join(texts, " "); got != "full ladies-debiased ladies-debiased ladies-cv ladies-cv" {
		t.Errorf("candidates %s", got)
	}
	advice.Samples = advice.Samples[:2] // with exact input
	for _, c := range DefaultCandidates(advice, 3, 64, true) {
		if !c.ExactInput {
			t.Errorf("candidate %+v without exact input", c)
		}
	}
}

// TestTrialsRefuse checks the errors of settings that cannot work.
func TestTrialsRefuse(t *testing.T) {
	data := openSynth(t, "synth:demo?nodes=300&edges=900&features=4")
	full := []Candidate{{Method: "full", ExactInput: true}}
	unscored := withoutEdges(data, data.Features)
	unscored.Split.Valid = nil
	for words, what := range map[string]Trials{
		"candidates":       {Data: data},
		"want at least 2":  {Data: data, Candidates: full, Layers: 1},
		"Batches is -1":    {Data: data, Candidates: full, Batches: -1},
		"trial of nothing": {Data: data, Candidates: []Candidate{{Method: "nothing"}}},
		"validation nodes": {Data: unscored, Candidates: full},
	} {
		if _, err := what.Run(t.Context()); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("error %v, want one with %q", err, words)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := (Trials{Data: data, Candidates: full}).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

// TestTrainingOnly checks that trials propagate over a directed graph as its model does.
func TestTrainingOnly(t *testing.T) {
	d := &datasets.Data{
		Graph: &graph.CSR{Rows: 3, Cols: 3, Ptr: []int64{0, 2, 2, 2}, Idx: []int32{1, 2}}, Directed: true,
		Split: datasets.Split{Train: []int32{0}, Valid: []int32{1}, Test: []int32{2}},
	}
	only := trainingOnly(d)
	if got, want := only.Laplacian().At(0, 1), d.Laplacian().At(0, 1); got != want {
		t.Errorf("P of 0 and 1 is %v, want %v", got, want)
	}
	if len(only.Split.Train) != 1 || only.Split.Valid != nil || only.Split.Test != nil {
		t.Errorf("split %v", only.Split)
	}
}
