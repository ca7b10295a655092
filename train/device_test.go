package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// testDevice opens the GPU, emulated or real. It skips the test if there is none.
func testDevice(t testing.TB) *ops.Device {
	t.Helper()
	if !strings.Contains(t.Name(), "Device") {
		t.Fatal("a test that uses a device has Device in its name: .ci/run selects it by that")
	}
	d, err := ops.OpenDevice("cuda")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if n := d.Usage(); n.Bytes != 0 || n.Pinned != 0 {
			t.Errorf("%d bytes of the device's and %d of page-locked memory were not freed", n.Bytes, n.Pinned)
		}
	})
	return d
}

// countsSince returns d's counts less an earlier reading.
func countsSince(d *ops.Device, earlier device.Counts) device.Counts {
	c := d.Counts()
	return device.Counts{
		Launches: c.Launches - earlier.Launches, Products: c.Products - earlier.Products, Syncs: c.Syncs - earlier.Syncs,
		CopiesIn: c.CopiesIn - earlier.CopiesIn, CopiesOut: c.CopiesOut - earlier.CopiesOut, Copies: c.Copies - earlier.Copies,
		BytesIn: c.BytesIn - earlier.BytesIn, Allocs: c.Allocs - earlier.Allocs,
	}
}

// emulated reports whether the device is emulated, and so slow.
func emulated() bool { return strings.Contains(strings.ToLower(ops.DescribeCUDA()), "emulat") }

// steps returns the number of steps of a long test: GCN_CUDA_STEPS, or n if it is not set.
func steps(t *testing.T, n int) int {
	t.Helper()
	text := os.Getenv("GCN_CUDA_STEPS")
	if text == "" {
		return n
	}
	steps, err := strconv.Atoi(text)
	if err != nil || steps < 1 {
		t.Fatalf("GCN_CUDA_STEPS=%q: want a number of steps", text)
	}
	return steps
}

// demo returns the data set synth:demo, a function that builds a model with the named
// method on a device (nil means the CPU), and the batch size. On an emulated device the
// model is smaller, unless GCN_CUDA_STEPS is set.
func demo(t *testing.T, d *ops.Device, method string) (*datasets.Data, func(device *ops.Device) *layers.Model, int) {
	t.Helper()
	data, err := datasets.Open(context.Background(), "synth:demo", datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	batch, hidden, sizes := 512, 256, []int{512, 512}
	if emulated() && os.Getenv("GCN_CUDA_STEPS") == "" {
		batch, hidden, sizes = 128, 64, []int{96, 128}
	}
	if method == "vrgcn" {
		sizes = []int{2, 2}
	}
	return data, func(device *ops.Device) *layers.Model {
		sampler, err := samplers.ByName(method, samplers.Config{Laplacian: data.Laplacian(), Train: data.Split.Train, Layers: 2, Sizes: sizes})
		if err != nil {
			t.Fatal(err)
		}
		m := modelOver(t, data, sampler, hidden)
		m.Device = device
		return m
	}, batch
}

// losses trains m for n steps on the stream's batches. It returns the losses and the
// parameters.
func losses(t *testing.T, m *layers.Model, data *datasets.Data, batchSize, n int, adam Adam) ([]float32, []float32) {
	t.Helper()
	p := compiled(t, m)
	if m.Refresher != nil {
		if err := m.Refresher.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	stream := Stream{Sampler: m.Batch.Sampler(), Train: data.Split.Train, BatchSize: batchSize, BatchesPerEpoch: 10, Seed: 5}
	drawer := newDrawer(&stream)
	item := &Item{Blocks: new(samplers.MiniBatch)}
	var out []float32
	settle := func() {
		t.Helper()
		late, err := p.Settle()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, late...)
	}
	for k := range n {
		drawer.draw(context.Background(), k, item)
		if item.err != nil {
			t.Fatal(item.err)
		}
		if err := p.Advance(item.Blocks, item.Dropout, adam); err != nil {
			t.Fatal(err)
		}
		m.Batch.Commit()
		if (k+1)%p.Depth() == 0 {
			settle()
		}
	}
	settle()
	if err := p.Pull(true); err != nil {
		t.Fatal(err)
	}
	return out, slices.Concat(p.Parameters(), p.adam.M, p.adam.V)
}

// TestDeviceAgreesWithCPU trains with the same seed on the CPU and on the device, to the
// same losses up to rounding, and again on the device, to the same bits.
func TestDeviceAgreesWithCPU(t *testing.T) {
	d := testDevice(t)
	const n = 100
	for name, c := range map[string]struct {
		method string
		adam   Adam
	}{
		"plain":               {"ladies-flat-debiased", Adam{}},
		"clipped, with decay": {"ladies-flat-debiased", Adam{Clip: 0.05, WeightDecay: 1e-3}},
		"histories":           {"vrgcn", Adam{}},
	} {
		t.Run(name, func(t *testing.T) {
			data, model, batch := demo(t, d, c.method)
			want, _ := losses(t, model(nil), data, batch, n, c.adam)
			got, parameters := losses(t, model(d), data, batch, n, c.adam)
			if len(got) != n || len(want) != n {
				t.Fatalf("%d losses on the device, %d on the CPU", len(got), len(want))
			}
			worst := 0.0
			for k := range want {
				worst = max(worst, math.Abs(float64(got[k])-float64(want[k]))/math.Abs(float64(want[k])))
			}
			t.Logf("losses %v … %v; they differ by at most %.1e of themselves", want[0], want[n-1], worst)
			if worst > 1e-4 {
				t.Errorf("losses have a relative difference of %v", worst)
			}
			if want[n-1] > 0.97*want[0] {
				t.Errorf("the loss fell only from %v to %v: the test shows little", want[0], want[n-1])
			}
			again, same := losses(t, model(d), data, batch, n, c.adam)
			if !slices.Equal(got, again) || !slices.Equal(parameters, same) {
				t.Error("a second run on the device gives different bits")
			}
		})
	}
}

// TestProgramOnDevice compares Step and Forward with the CPU. Each call copies its values
// to and from the device, and waits.
func TestProgramOnDevice(t *testing.T) {
	d := testDevice(t)
	data := smallData(t, 200, 5)
	m, onDevice := smallModel(t, data), smallModel(t, data)
	onDevice.Device = d
	cpu, gpu := compiled(t, m), compiled(t, onDevice)
	for k := range 3 {
		batch := sampled(t, m, data.Split.Train[10*k:10*k+20+k], uint64(k))
		want, err := cpu.Step(batch, 7)
		if err != nil {
			t.Fatal(err)
		}
		got, err := gpu.Step(batch, 7)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got-want) > 1e-5*want {
			t.Errorf("loss %v on the device, %v on the CPU", got, want)
		}
		agree(t, "gradients", gpu.Gradients(), cpu.Gradients())
		agree(t, "logits", logitsOf(t, onDevice, batch), logitsOf(t, m, batch))
		for i := range cpu.Parameters() { // writing moves the model
			cpu.Parameters()[i] += 0.01
			gpu.Parameters()[i] += 0.01
		}
	}
	if err := gpu.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := gpu.Step(nil, 0); err == nil {
		t.Error("a step of a closed program succeeds")
	}
}

func agree(t *testing.T, what string, got, want []float32) {
	t.Helper()
	agreeTo(t, what, got, want, 1e-5)
}

// agreeTo compares values; tolerance is relative to the largest one.
func agreeTo(t *testing.T, what string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d %s on the device, %d on the CPU", len(got), what, len(want))
	}
	var largest float64
	for _, v := range want {
		largest = max(largest, math.Abs(float64(v)))
	}
	for k, v := range want {
		if !(math.Abs(float64(got[k])-float64(v)) <= tolerance*largest) {
			t.Fatalf("%s: element %d is %v on the device, %v on the CPU", what, k, got[k], v)
		}
	}
}

// multiLabel returns data with so many binary tasks, one label missing.
func multiLabel(data *datasets.Data, tasks int) *datasets.Data {
	multi := &datasets.Data{Name: "multi", Graph: data.Graph, Features: data.Features, Split: data.Split, Metric: datasets.MicroF1}
	multi.Labels = &graph.Labels{Tasks: tasks, Multi: make([]float32, tasks*data.Nodes())}
	for k := range multi.Labels.Multi {
		multi.Labels.Multi[k] = float32(k % 2)
	}
	multi.Labels.Multi[4] = float32(math.NaN())
	return multi
}

// variants of the model with ops that the plain one has not.
func TestModelsOnDevice(t *testing.T) {
	d := testDevice(t)
	data := smallData(t, 200, 5)
	multi := multiLabel(data, 3)
	for name, c := range map[string]struct {
		data    *datasets.Data
		options layers.GCNOptions
		sampler samplers.Sampler
	}{
		"layer norm and residual":  {data, layers.GCNOptions{Norm: layers.NormLayer, Residual: true}, nil},
		"batch norm":               {data, layers.GCNOptions{Norm: layers.NormBatch}, nil},
		"relu, classifier dropout": {data, layers.GCNOptions{Activation: ops.ActivationReLU, ClassifierDropout: 0.3}, nil},
		"transform first":          {data, layers.GCNOptions{Order: layers.TransformFirst}, nil},
		"propagate first":          {data, layers.GCNOptions{Order: layers.PropagateFirst}, nil},
		"binary tasks":             {multi, layers.GCNOptions{}, nil},
		"equation":                 {data, layers.GCNOptions{Form: layers.FormEquation}, nil},
		"equation, binary tasks":   {multi, layers.GCNOptions{Form: layers.FormEquation, Residual: true, Norm: layers.NormLayer}, nil},
		"full neighbourhoods":      {data, layers.GCNOptions{}, &samplers.Full{Laplacian: data.Laplacian(), Depth: 2}},
		"full dropout noise":       {data, layers.GCNOptions{InputDropout: 0.3}, &samplers.LayerWise{Laplacian: data.Laplacian(), Sizes: []int{24, 40}, FullDropoutNoise: true}},
		"three layers":             {data, layers.GCNOptions{}, &samplers.LayerWise{Laplacian: data.Laplacian(), Sizes: []int{20, 30, 40}}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.sampler == nil {
				c.sampler = &samplers.LayerWise{Laplacian: data.Laplacian(), Sizes: []int{24, 40}}
			}
			c.options.Hidden, c.options.Seed = 16, 3
			m, onDevice := gcnOver(t, c.data, c.sampler, c.options), gcnOver(t, c.data, c.sampler, c.options)
			onDevice.Device = d
			want, _ := losses(t, m, c.data, 32, 10, Adam{LR: 0.01})
			got, _ := losses(t, onDevice, c.data, 32, 10, Adam{LR: 0.01})
			agree(t, "losses", got, want)

			// Inference with the same parameters.
			nodes := append(slices.Clone(data.Split.Valid), data.Split.Train[:7]...)
			ctx := context.Background()
			logits, err := Predict(ctx, onDevice, c.data, nodes)
			if err != nil {
				t.Fatal(err)
			}
			onDevice.Device = nil
			reference, err := Predict(ctx, onDevice, c.data, nodes)
			if err != nil {
				t.Fatal(err)
			}
			agree(t, "logits", logits, reference)

			// The same with the compiled program.
			onDevice.Inference, onDevice.Device = nil, d
			if logits, err = Predict(ctx, onDevice, c.data, nodes); err != nil {
				t.Fatal(err)
			}
			agree(t, "logits through the program", logits, reference)
		})
	}
}

// TestFitOnDevice checks that Fit learns on the device as on the CPU, and gives the same
// bits if it is stopped and resumed, with uniform batches and by importance.
func TestFitOnDevice(t *testing.T) {
	for _, seeds := range []ops.Score{ops.NoScore, ops.GradientScore} {
		t.Run(fmt.Sprint(seeds), func(t *testing.T) { testFitOnDevice(t, seeds) })
	}
}

func testFitOnDevice(t *testing.T, seeds ops.Score) {
	d := testDevice(t)
	data := smallData(t, 200, 5)
	fit := func(device *ops.Device, batches int, dir string, resume bool) (*Result, []float32) {
		t.Helper()
		m := smallModel(t, data)
		m.Device = device
		h, err := Fit(context.Background(), m, data, Options{
			Adam: Adam{LR: 0.01}, Batch: 32, MaxBatches: batches, EvalEvery: 7, Patience: Unlimited, Seed: 9, Dir: dir, Resume: resume, CheckpointInterval: 1,
			Seeds: seeds, SeedsEvery: 20,
		})
		if err != nil {
			t.Fatal(err)
		}
		return h, weightsOf(t, m)
	}
	const n = 150 // more than the losses that the device keeps
	cpu, _ := fit(nil, n, "", false)
	whole, want := fit(d, n, "", false)
	if math.Abs(whole.Test-cpu.Test) > 0.1 || whole.Batches != n || len(whole.Evaluations) != len(cpu.Evaluations) {
		t.Errorf("on the device: test %v after %d batches and %d evaluations; on the CPU: %v, %d, %d", whole.Test, whole.Batches, len(whole.Evaluations), cpu.Test, cpu.Batches, len(cpu.Evaluations))
	}
	for k, e := range whole.Evaluations {
		// Scores differ in their last bits, and so do, sometimes, the nodes drawn.
		if c := cpu.Evaluations[k]; seeds == ops.NoScore && math.Abs(e.Loss-c.Loss) > 2e-3*c.Loss {
			t.Errorf("batch %d: mean loss %v on the device, %v on the CPU", e.Batch, e.Loss, c.Loss)
		}
	}
	dir := filepath.Join(t.TempDir(), "run")
	fit(d, 70, dir, false)
	again, got := fit(d, n, dir, true)
	if again.Resumed != 70 || !slices.Equal(got, want) || again.Test != whole.Test {
		t.Errorf("resumed after %d batches: test %v, without a stop %v; equal weights: %v", again.Resumed, again.Test, whole.Test, slices.Equal(got, want))
	}
}

// TestFitOnDeviceNotFinite checks that a loss or gradient that overflows ends the run at
// its batch, with the parameters before this batch.
func TestFitOnDeviceNotFinite(t *testing.T) {
	d := testDevice(t)
	data := smallData(t, 200, 5)
	run := func(device *ops.Device) (*Result, []float32, error) {
		m := smallModel(t, data)
		m.Device = device
		h, err := Fit(context.Background(), m, data, Options{Adam: Adam{LR: 1e30}, Batch: 32, MaxBatches: 60, EvalEvery: 50, Seed: 9})
		return h, weightsOf(t, m), err
	}
	h, got, err := run(d)
	if !errors.Is(err, ErrNotFinite) {
		t.Fatalf("error is %v, want ErrNotFinite", err)
	}
	want, _, wantErr := run(nil)
	if h.Batches == 0 || h.Batches > want.Batches+3 || !strings.Contains(err.Error(), "batch "+strconv.Itoa(h.Batches)+" ") {
		t.Errorf("device: %d batches, error %q; CPU: %d, %q", h.Batches, err, want.Batches, wantErr)
	}
	if !kernel.Finite(got) {
		t.Error("the parameters are not finite")
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has several lines: %q", err)
	}
}

// TestFitKeepsStateOnDevice trains a model whose histories are on the device. A run that
// is stopped and resumed must give the same bits, and a step that overflows must not
// change the histories.
func TestFitKeepsStateOnDevice(t *testing.T) {
	d := testDevice(t)
	data := smallData(t, 300, 3)
	o := short()
	fit := func(device *ops.Device, o Options) (*layers.Model, error) {
		m := historyModel(t, data)
		m.Device = device
		_, err := Fit(context.Background(), m, data, o)
		return m, err
	}
	cpu, err := fit(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := fit(d, o)
	if err != nil {
		t.Fatal(err)
	}
	want, state := weightsOf(t, whole), whole.Batch.State()
	for k, s := range cpu.Batch.State() {
		agreeTo(t, s.Name, state[k].Values, s.Values, 1e-4)
	}
	again, err := fit(d, o)
	if err != nil || !slices.Equal(weightsOf(t, again), want) || !sameState(again.Batch.State(), state) {
		t.Errorf("a second run gives other bits (%v)", err)
	}
	o.Dir, o.Resume = t.TempDir(), true
	for _, batches := range []int{10, 27, o.MaxBatches} {
		o.MaxBatches = batches
		if again, err = fit(d, o); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(weightsOf(t, again), want) || !sameState(again.Batch.State(), state) {
		t.Error("resumed: other weights or state")
	}

	o.Dir, o.Resume, o.Adam = "", false, Adam{LR: 1e30}
	failed, err := fit(d, o)
	if !errors.Is(err, ErrNotFinite) {
		t.Fatalf("error is %v, want ErrNotFinite", err)
	}
	for _, s := range failed.Batch.State() {
		if !kernel.Finite(s.Values) {
			t.Errorf("%s is not finite: a step that failed was committed", s.Name)
		}
	}
}

// TestMethodsOnDevice trains with every method, on the device and on the CPU, the plain
// model and one with all options.
func TestMethodsOnDevice(t *testing.T) {
	d := testDevice(t)
	data := smallData(t, 200, 5)
	multi := multiLabel(data, 3)
	rich := layers.GCNOptions{Activation: ops.ActivationReLU, Norm: layers.NormLayer, Residual: true, ClassifierDropout: 0.3, Dropout: 0.4}
	for _, method := range samplers.Methods() {
		for name, c := range map[string]struct {
			data    *datasets.Data
			depth   int
			options layers.GCNOptions
		}{
			"plain": {data, 2, layers.GCNOptions{}},
			"rich":  {multi, 3, rich},
		} {
			t.Run(method.Name+", "+name, func(t *testing.T) {
				sizes := []int{24}
				if method.Default != nil {
					sizes = method.Default[:1]
				}
				if method.Sizes == "" {
					sizes = nil
				}
				if c.options.ExactInput = nil; method.ExactInput {
					c.depth--
					c.options.ExactInput = exactInput(t, c.data)
				}
				sampler, err := samplers.ByName(method.Name, samplers.Config{Laplacian: data.Laplacian(), Train: data.Split.Train, Features: c.data.Features, Layers: c.depth, Sizes: sizes})
				if err != nil {
					t.Fatal(err)
				}
				c.options.Hidden, c.options.Seed = 16, 3
				model := func(on *ops.Device) *layers.Model {
					m := gcnOver(t, c.data, sampler, c.options)
					m.Device = on
					return m
				}
				want, _ := losses(t, model(nil), c.data, 32, 8, Adam{LR: 0.01})
				got, bits := losses(t, model(d), c.data, 32, 8, Adam{LR: 0.01})
				agreeTo(t, "losses", got, want, 1e-4)
				if again, same := losses(t, model(d), c.data, 32, 8, Adam{LR: 0.01}); !slices.Equal(again, got) || !slices.Equal(same, bits) {
					t.Error("a second run on the device gives different bits")
				}
				h, err := Fit(context.Background(), model(d), c.data, Options{Batch: 32, MaxBatches: 4, EvalEvery: 2, Seed: 9})
				if err != nil || h.Batches != 4 || math.IsNaN(h.Test) {
					t.Errorf("Fit made %d batches, test %v (%v)", h.Batches, h.Test, err)
				}
			})
		}
	}
}

// TestNormsOnDevice compares the norms that a sampler learns from with the CPU's: of
// activations, and of features that the propagation gathers.
func TestNormsOnDevice(t *testing.T) {
	d := testDevice(t)
	data := smallData(t, 300, 3)
	for depth := 1; depth <= 2; depth++ {
		norms := func(on *ops.Device) []float32 {
			m := modelOver(t, data, &samplers.ASGCN{Laplacian: data.Laplacian(), Features: data.Features, Sizes: []int{24, 24}[:depth]}, 16)
			m.Device = on
			top := m.Batch.Slot(depth - 1)
			top.ObserveNorms(true)
			p := compiled(t, m)
			if _, err := p.Step(sampled(t, m, data.Split.Train[:32], 0), 5); err != nil {
				t.Fatal(err)
			}
			return slices.Clone(top.SquaredNorms())
		}
		want, got := norms(nil), norms(d)
		if len(want) == 0 || len(got) != len(want) {
			t.Fatalf("%d and %d norms", len(want), len(got))
		}
		for k := range want {
			if math.Abs(float64(got[k]-want[k])) > 1e-4*(1+float64(want[k])) {
				t.Errorf("depth %d, row %d: %v on the device, %v on the CPU", depth, k, got[k], want[k])
			}
		}
	}
}

// TestLongRunOnDevice checks that steps in the second half of a run neither allocate
// memory nor wait, and that two long runs give the same bits. GCN_CUDA_STEPS sets the
// length.
func TestLongRunOnDevice(t *testing.T) {
	d := testDevice(t)
	data, model, batch := demo(t, d, "ladies-flat-debiased")
	n := steps(t, 200)
	var want []float32
	for round := range 2 {
		m := model(d)
		p := compiled(t, m)
		stream := Stream{Sampler: m.Batch.Sampler(), Train: data.Split.Train, BatchSize: batch, BatchesPerEpoch: 10, Seed: 5}
		loader, err := NewLoader(context.Background(), stream, 2, 0, n)
		if err != nil {
			t.Fatal(err)
		}
		defer loader.Close()
		var warm device.Usage
		var warmCounts device.Counts
		var host runtime.MemStats
		warmAt := n / 2
		for k := range n {
			if k == warmAt {
				warm, warmCounts = d.Usage(), d.Counts()
				runtime.GC()
				runtime.ReadMemStats(&host)
			}
			item, err := loader.Next()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Advance(item.Blocks, item.Dropout, Adam{}); err != nil {
				t.Fatal(err)
			}
			if (k+1)%p.Depth() == 0 {
				if _, err := p.Settle(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := p.Settle(); err != nil {
			t.Fatal(err)
		}
		if err := p.Pull(true); err != nil {
			t.Fatal(err)
		}
		c, rest := countsSince(d, warmCounts), float64(n-warmAt)
		t.Logf("%d steps: a step launches %.2f kernels and %.2f products, copies %.2f times in (%.0f bytes), %.3f times out, and waits %.3f times; %d bytes on the device, %d page-locked",
			n, float64(c.Launches)/rest, float64(c.Products)/rest, float64(c.CopiesIn)/rest, float64(c.BytesIn)/rest, float64(c.CopiesOut)/rest,
			float64(c.Syncs)/rest, d.Usage().Bytes, d.Usage().Pinned)
		if grown := d.Usage().Bytes - warm.Bytes; grown > warm.Bytes/20 {
			t.Errorf("in the second half the device's memory grew by %d bytes", grown)
		}
		var after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(host.HeapAlloc); grown > 4<<20 {
			t.Errorf("in the second half the host's heap grew by %d bytes", grown)
		}
		if c.CopiesIn > int64(rest)+5 {
			t.Errorf("%d copies to the device in %v steps, want one each", c.CopiesIn, rest)
		}
		if round == 0 {
			want = slices.Concat(p.Parameters(), p.adam.M, p.adam.V)
		} else if !slices.Equal(want, slices.Concat(p.Parameters(), p.adam.M, p.adam.V)) {
			t.Error("a second run gives different bits")
		}
	}
}

// TestSameBitsOnDevices shares the mini-batches of an update over ranks, each with a device of
// its own. The number of ranks does not change a bit, and the CPU agrees.
func TestSameBitsOnDevices(t *testing.T) {
	testDevice(t)
	d := smallData(t, 300, 3)
	o := Options{Batch: 16, Micro: 4, MaxBatches: 6, EvalEvery: 3, ControlEvery: 2, Seed: 5}
	for name, model := range map[string]func() *layers.Model{
		"ladies-flat-debiased": func() *layers.Model {
			return modelOver(t, d, &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{24, 24}, Importance: samplers.LADIES{Flat: true}, Weight: samplers.Debiased{}}, 16)
		},
		"linear control": func() *layers.Model { return linearModel(t, d, 16).Parts() },
		"ladies-cv": func() *layers.Model {
			return controlledModel(t, d, samplers.ControlRefresh, 16, 24, 24).Parts()
		},
	} {
		t.Run(name, func(t *testing.T) {
			onDevice := func() *layers.Model {
				m := model()
				m.Device = testDevice(t)
				return m
			}
			cpu, alone := model(), onDevice()
			onCPU, want := mustFit(t, cpu, d, o), mustFit(t, alone, d, o)
			for k, e := range onCPU.Evaluations {
				if got := want.Evaluations[k].Loss; math.Abs(float64(got-e.Loss)) > 1e-3*float64(e.Loss) {
					t.Errorf("loss %v on the device, %v on the CPU", got, e.Loss)
				}
			}
			for ranks := 1; ranks <= 2; ranks++ {
				results, params := fitOn(t, ranks, d, onDevice, o)
				for rank := range ranks {
					if !sameFloats(params[rank], parametersOfModel(alone)) {
						t.Errorf("%d ranks: rank %d has other parameters than one process with one device", ranks, rank)
					}
					if results[rank].Test != want.Test || results[rank].Best != want.Best {
						t.Errorf("%d ranks: rank %d scores %v, want %v", ranks, rank, results[rank].Test, want.Test)
					}
				}
			}
		})
	}
}
