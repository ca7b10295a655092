package train

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

// historyModel returns a three-layer GCN that keeps two histories.
func historyModel(t testing.TB, d *datasets.Data) *layers.Model {
	return modelOver(t, d, &samplers.Neighbor{Laplacian: d.Laplacian(), Sizes: []int{2, 2, 2}, Control: samplers.ControlRolling}, 16)
}

// TestFitKeepsState checks that a model with state gives the same bits for any number of
// workers, and if it is stopped and resumed, and that the bits depend on the state.
func TestFitKeepsState(t *testing.T) {
	d := smallData(t, 300, 3)
	o := short()
	o.Dir = t.TempDir()
	m := historyModel(t, d)
	history := mustFit(t, m, d, o)
	want, state := weightsOf(t, m), m.Batch.State()
	if len(state) != 2 || history.StateBytes != 2*4*300*16 {
		t.Fatalf("%d states of %d bytes", len(state), history.StateBytes)
	}
	for _, s := range state {
		if !slices.ContainsFunc(s.Values, func(v float32) bool { return v != 0 }) {
			t.Errorf("%s was never written", s.Name)
		}
	}
	for _, workers := range []int{1, 3} {
		o.Dir, o.Workers = "", workers
		m := historyModel(t, d)
		mustFit(t, m, d, o)
		if !slices.Equal(weightsOf(t, m), want) || !sameState(m.Batch.State(), state) {
			t.Errorf("%d workers: the weights or the state differ", workers)
		}
	}

	o.Dir, o.Resume = t.TempDir(), true
	ctx, progress := afterBatch(27)
	o.Progress = progress
	if _, err := Fit(ctx, historyModel(t, d), d, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	o.Progress = nil
	resumed := historyModel(t, d)
	if h := mustFit(t, resumed, d, o); h.Resumed != 27 {
		t.Fatalf("resumed at %d, want 27", h.Resumed)
	}
	if !slices.Equal(weightsOf(t, resumed), want) || !sameState(resumed.Batch.State(), state) {
		t.Error("resumed: the weights or the state differ")
	}

	// A model that starts from other histories must get other weights.
	other := historyModel(t, d)
	for _, s := range other.Batch.State() {
		for k := range s.Values {
			s.Values[k] = 1
		}
	}
	o.Dir, o.Resume = "", false
	mustFit(t, other, d, o)
	if slices.Equal(weightsOf(t, other), want) {
		t.Error("the weights do not depend on the histories")
	}
}

func sameState(a, b []layers.State) bool {
	return slices.EqualFunc(a, b, func(a, b layers.State) bool { return a.Name == b.Name && slices.Equal(a.Values, b.Values) })
}

// TestCheckpointStates writes and reads states, reads files with wrong sizes of states,
// and gives a model the states of another one.
func TestCheckpointStates(t *testing.T) {
	c := sampleCheckpoint()
	c.tensors = append(c.tensors, statesOf([]layers.State{{Name: "a", Values: []float32{1, 2, 3}}, {Name: "b", Values: []float32{}}})...)
	got, err := decodeCheckpoint(encoded(t, c))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.tensors, c.tensors) {
		t.Errorf("read back %v", got.tensors)
	}
	data := encoded(t, c)
	for _, values := range []int{-1, 2, 4, math.MaxInt / 8} {
		wrong := bytes.Replace(data, []byte(`"shape":[3]`), fmt.Appendf(nil, `"shape":[%d]`, values), 1)
		binary.LittleEndian.PutUint64(wrong, binary.LittleEndian.Uint64(data)+uint64(len(wrong)-len(data)))
		if _, err := decodeCheckpoint(sealed(wrong)); !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), "state") {
			t.Errorf("%d values said: %v", values, err)
		}
	}

	d := smallData(t, 300, 3)
	o := short()
	o.Dir = t.TempDir()
	mustFit(t, historyModel(t, d), d, o)
	last, err := readCheckpoint(filepath.Join(o.Dir, lastFile))
	if err != nil || len(last.section(sectionStates)) != 2 {
		t.Fatalf("%d states in the checkpoint, want 2 (%v)", len(last.section(sectionStates)), err)
	}
	for _, states := range [][]layers.State{nil, {{Name: "layer1.history"}, {Name: "layer2.history"}}} {
		if err := sameTensors(last.section(sectionStates), statesOf(states)); err == nil || !strings.Contains(err.Error(), "state") {
			t.Errorf("states %v: %v", states, err)
		}
	}
	best, err := readCheckpoint(filepath.Join(o.Dir, bestFile))
	if err != nil || best.has(sectionStates) {
		t.Errorf("states beside the best parameters (%v)", err)
	}
}
