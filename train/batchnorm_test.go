package train

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

// TestBatchNormAverages compares the running averages after some full-batch updates with
// averages in float64 of the moments of each layer's rows, computed from the parameters
// before each update.
func TestBatchNormAverages(t *testing.T) {
	d := smallData(t, 120, 3)
	const depth, width, steps = 1, 5, 4
	model := func() *layers.Model {
		return gcnOver(t, d, &samplers.Full{Laplacian: d.Laplacian(), Depth: depth},
			layers.GCNOptions{Hidden: width, Seed: 3, Norm: layers.NormBatch, Dropout: layers.NoDropout, ClassifierDropout: layers.NoDropout})
	}
	n := len(d.Split.Train)
	mean, variance := make([]float64, width), []float64{1, 1, 1, 1, 1}
	for batches := range steps {
		m := model()
		if batches > 0 { // the parameters before this update
			mustFit(t, m, d, Options{Batch: n, BatchesPerEpoch: 1, MaxBatches: batches, Seed: 5, Adam: Adam{WeightDecay: 0.1, Clip: 0.1}})
		}
		named := map[string][]float32{}
		for _, p := range m.Parameters {
			named[p.Name()] = p.Value().Data().([]float32)
		}
		check := func() {
			for j := range width {
				if got := float64(named["norm0.mean"][j]); math.Abs(got-mean[j]) > 1e-5 {
					t.Fatalf("after %d updates mean %d is %v, want %v", batches, j, got, mean[j])
				}
				if got := float64(named["norm0.variance"][j]); math.Abs(got-variance[j]) > 1e-5 {
					t.Fatalf("after %d updates variance %d is %v, want %v", batches, j, got, variance[j])
				}
			}
		}
		check()
		h := matrixOf(d.Features.Cols, d.Features.Data).Times(matrixOf(width, named["conv0.weight"])).PlusRow(matrixOf(width, named["conv0.bias"]))
		z := matrixOf(d.Nodes(), d.Laplacian().Dense()).Rows(d.Split.Train).Times(h) // P(XW + b) at the training nodes
		sums := z.ColumnSums()[0]
		for j := range width {
			centre, square := sums[j]/float64(n), 0.0
			for _, row := range z {
				square += (row[j] - centre) * (row[j] - centre)
			}
			mean[j] += 0.1 * (centre - mean[j])
			variance[j] += 0.1 * (square/float64(n-1) - variance[j])
		}
	}
}

// TestBatchNormIsExported checks that the averages go through a file of weights and a
// checkpoint.
func TestBatchNormIsExported(t *testing.T) {
	d := smallData(t, 120, 3)
	model := func() *layers.Model {
		return gcnOver(t, d, &samplers.Neighbor{Laplacian: d.Laplacian(), Sizes: []int{2, 2}}, layers.GCNOptions{Hidden: 8, Seed: 3, Norm: layers.NormBatch})
	}
	trained, dir := model(), t.TempDir()
	mustFit(t, trained, d, Options{Batch: 16, MaxBatches: 10, EvalEvery: 10, Dir: filepath.Join(dir, "run"), Seed: 5})
	path := filepath.Join(dir, "weights.safetensors")
	if err := ExportParameters(path, trained); err != nil {
		t.Fatal(err)
	}
	imported, loaded := model(), model()
	if _, err := ImportParameters(t.Context(), path, imported, ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadParameters(filepath.Join(dir, "run"), loaded); err != nil {
		t.Fatal(err)
	}
	want := weightsOf(t, trained)
	if !sameFloats(weightsOf(t, imported), want) || !sameFloats(weightsOf(t, loaded), want) {
		t.Error("the weights of a file differ from the trained ones")
	}
	moved := false
	for _, p := range trained.Parameters {
		if strings.HasSuffix(p.Name(), ".mean") {
			for _, v := range p.Value().Data().([]float32) {
				moved = moved || v != 0
			}
		}
	}
	if !moved {
		t.Error("no average has moved")
	}
}
