//go:build cuda

package device

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/cu"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// open opens the device, emulated or real. Without one it skips the test.
func open(t testing.TB) *Device {
	t.Helper()
	if err := cu.Available(); err != nil {
		t.Skipf("no device: %v", err)
	}
	d, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if d.usage.Bytes != 0 {
			t.Errorf("%d bytes of device memory were not freed", d.usage.Bytes)
		}
	})
	return d
}

// fixture is a device with the arrays of one test.
type fixture struct {
	*testing.T
	d       *Device
	rng     *rand.Rand
	buffers []*Buffer
}

func newFixture(t *testing.T) *fixture {
	b := &fixture{T: t, d: open(t), rng: rand.New(rand.NewPCG(1, 2))}
	t.Cleanup(func() {
		for _, buffer := range b.buffers {
			b.must(buffer.Free())
		}
	})
	return b
}

func (b *fixture) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// room returns memory for n values of 4 bytes.
func (b *fixture) room(n int) Pointer {
	b.Helper()
	buffer := b.d.NewBuffer()
	b.buffers = append(b.buffers, buffer)
	at, err := buffer.Floats(max(n, 1))
	b.must(err)
	return at
}

// put copies values to the device.
func put[T number](b *fixture, x []T) Pointer {
	b.Helper()
	_, n := bytesOf(x)
	at := b.room(int(n+3) / 4)
	b.must(Write(b.d, at, x))
	return at
}

func (b *fixture) floats(n int) []float32 {
	x := make([]float32, n)
	for k := range x {
		x[k] = float32(b.rng.NormFloat64())
	}
	return x
}

// same compares the values at an address with want; tolerance is relative to the
// largest value.
func (b *fixture) same(what string, at Pointer, want []float32, tolerance float64) {
	b.Helper()
	got := make([]float32, len(want))
	b.must(Read(b.d, got, at))
	var largest float64
	for _, v := range want {
		largest = math.Max(largest, math.Abs(float64(v)))
	}
	for k, v := range want {
		if d := math.Abs(float64(got[k]) - float64(v)); !(d <= tolerance*largest) && got[k] != v {
			b.Fatalf("%s: element %d of %d is %v, want %v", what, k, len(want), got[k], v)
		}
	}
}

// csr returns a random matrix. If it has several rows, one is empty.
func (b *fixture) csr(rows, cols int) *graph.CSR {
	a := &graph.CSR{Rows: rows, Cols: cols, Ptr: []int64{0}, Val: []float32{}}
	for i := range rows {
		for j := range cols {
			if i != 1 && b.rng.IntN(4) == 0 {
				a.Idx = append(a.Idx, int32(j))
				a.Val = append(a.Val, float32(b.rng.NormFloat64()))
			}
		}
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
	}
	return a
}

func narrow(x []int64) []int32 {
	y := make([]int32, len(x))
	for k, v := range x {
		y[k] = int32(v)
	}
	return y
}

// sizes are rows and widths near the sizes of warps, tiles and blocks.
var sizes = [][2]int{{1, 1}, {3, 5}, {33, 31}, {8, 32}, {5, 33}, {40, 127}, {7, 128}, {2, 129}, {70, 256}, {4, 300}}

func TestSparseKernels(t *testing.T) {
	b := newFixture(t)
	for _, s := range sizes {
		rows, width := s[0], s[1]
		cols := rows + 3
		a := b.csr(rows, cols)
		x := b.floats((cols + 20) * width)
		ids := make([]int32, cols)
		for k := range ids {
			ids[k] = int32(b.rng.IntN(cols + 20))
		}
		m := Sparse{Rows: rows, Cols: cols, Ptr: put(b, narrow(a.Ptr)), Idx: put(b, a.Idx), Val: put(b, a.Val)}
		onDevice, places, dst := put(b, x), put(b, ids), b.room(rows*width)

		want := make([]float32, rows*width)
		kernel.SpMM(want, a, x[:cols*width], width)
		b.must(b.d.SpMM(dst, m, 0, onDevice, width))
		b.same("SpMM", dst, want, 1e-6)

		kernel.SpMMGather(want, a, ids, x, width)
		b.must(b.d.SpMM(dst, m, places, onDevice, width))
		b.same("SpMM of gathered rows", dst, want, 1e-6)

		ones := *a
		ones.Val, m.Val = nil, 0
		kernel.SpMM(want, &ones, x[:cols*width], width)
		b.must(b.d.SpMM(dst, m, 0, onDevice, width))
		b.same("SpMM without values", dst, want, 1e-6)

		b.must(b.d.AddSpMM(dst, m, onDevice, width))
		for k := range want {
			want[k] *= 2
		}
		b.same("SpMM added", dst, want, 1e-6)

		gathered := make([]float32, rows*width)
		kernel.Gather(gathered, x, ids[:rows], width)
		b.must(b.d.Gather(dst, onDevice, places, rows, width))
		b.same("Gather", dst, gathered, 0)
	}
}

func TestScatter(t *testing.T) {
	b := newFixture(t)
	for _, s := range sizes {
		rows, width := s[0], s[1]
		all := 2*rows + 1
		to, x := b.floats(all*width), b.floats(rows*width)
		ids := make([]int32, rows)
		for i, id := range b.rng.Perm(all)[:rows] {
			ids[i] = int32(id)
		}
		dst, from, places := put(b, to), put(b, x), put(b, ids)
		b.must(b.d.Scatter(dst, from, places, put(b, []int64{3}), rows, width))
		b.same("after a failure", dst, to, 0)
		b.must(b.d.Scatter(dst, from, places, put(b, []int64{0}), rows, width))
		kernel.Scatter(to, x, ids, width)
		b.same("Scatter", dst, to, 0)
	}
}

// adjacency returns a random symmetric graph, with values if weighted.
func (b *fixture) adjacency(nodes int, weighted bool) *graph.CSR {
	value := make([][]float32, nodes)
	for i := range value {
		value[i] = make([]float32, nodes)
	}
	for i := range nodes {
		for j := range i {
			if b.rng.IntN(5) == 0 {
				v := b.rng.Float32() + 0.5
				value[i][j], value[j][i] = v, v
			}
		}
	}
	a := &graph.CSR{Rows: nodes, Cols: nodes, Ptr: []int64{0}}
	for i := range nodes {
		for j, v := range value[i] {
			if v != 0 {
				a.Idx = append(a.Idx, int32(j))
				if weighted {
					a.Val = append(a.Val, v)
				}
			}
		}
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
	}
	return a
}

func TestPropagate(t *testing.T) {
	b := newFixture(t)
	const nodes = 50
	for _, weighted := range []bool{false, true} {
		for _, p := range []*graph.Laplacian{graph.NewLaplacian(b.adjacency(nodes, weighted)), graph.NewRowLaplacian(b.adjacency(nodes, weighted))} {
			l, err := b.d.Laplacian(p)
			b.must(err)
			again, err := b.d.Laplacian(p)
			b.must(err)
			if *again != *l {
				t.Error("the Laplacian was copied twice")
			}
			for _, width := range []int{1, 32, 130} {
				x := b.floats(nodes * width)
				rows, local, permuted := make([]int32, 20), make([]int32, nodes), make([]float32, len(x))
				for k := range rows {
					rows[k] = int32(b.rng.IntN(nodes))
				}
				for k, v := range b.rng.Perm(nodes) {
					local[k] = int32(v)
					copy(permuted[v*width:(v+1)*width], x[k*width:])
				}
				dst := b.room(nodes * width)
				want := make([]float32, nodes*width)
				kernel.PropagateRows(want, p, nil, x, width, nil)
				b.must(b.d.Propagate(dst, l, 0, 0, nodes, put(b, x), 0, width))
				b.same("all rows", dst, want, 1e-6)

				b.must(b.d.Propagate(dst, l, 0, 7, 5, put(b, x), 0, width))
				b.same("rows 7 to 12", dst, want[7*width:12*width], 1e-6)

				want = want[:len(rows)*width]
				kernel.PropagateRows(want, p, rows, permuted, width, local)
				b.must(b.d.Propagate(dst, l, put(b, rows), 0, len(rows), put(b, permuted), put(b, local), width))
				b.same("some rows", dst, want, 1e-6)
			}
			sums := make([]float32, nodes)
			kernel.PropagateRows(sums, p, nil, ones(nodes), 1, nil)
			dst := b.room(nodes)
			b.must(b.d.RowSums(dst, l, 0, 0, nodes))
			b.same("row sums", dst, sums, 1e-6)
			rows := []int32{3, 3, 49, 0}
			b.must(b.d.RowSums(dst, l, put(b, rows), 0, len(rows)))
			b.same("some row sums", dst, []float32{sums[3], sums[3], sums[49], sums[0]}, 1e-6)
		}
	}
}

func ones(n int) []float32 {
	x := make([]float32, n)
	for k := range x {
		x[k] = 1
	}
	return x
}

// Masks must equal the CPU's bit for bit: the dropped elements and the divisor of the
// others.
func TestActivate(t *testing.T) {
	b := newFixture(t)
	for _, s := range sizes {
		rows, width := s[0], s[1]
		n := rows * width
		z := b.floats(n)
		z[0] = -100
		bias, scale := b.floats(width), b.floats(rows)
		sum := make([]float32, n)
		kernel.BiasRows(sum, bias, scale, rows, width)
		dst, slope, whole := b.room(n), b.room(n), b.room(n)
		b.must(b.d.BiasRows(dst, put(b, bias), put(b, scale), rows, width))
		b.same("BiasRows", dst, sum, 0)
		for k := range sum {
			sum[k] += z[k]
		}
		want, wantSlope, wantWhole := make([]float32, n), make([]float32, n), make([]float32, n)
		for _, act := range []kernel.Activation{kernel.Identity, kernel.ELU, kernel.ReLU, kernel.GELU} {
			for _, rate := range []float32{0, 0.2, 0.5, 0.999} {
				drop := kernel.Dropout{Rate: rate, Seed: b.rng.Uint64()}
				kernel.Activate(act, want, wantSlope, z, rows, width, drop)
				b.must(b.d.Activate(dst, slope, whole, put(b, z), 0, 0, 0, act, drop, rows, width))
				b.same("activation", dst, want, 1e-6)
				b.same("slope", slope, wantSlope, 1e-6)
				kernel.Activate(act, wantWhole, nil, z, rows, width, kernel.Dropout{})
				b.same("activation before dropout", whole, wantWhole, 1e-6)
				b.sameZeros(dst, want)

				noisy := drop
				noisy.Noise = b.floats(rows)
				for i, c := range noisy.Noise {
					noisy.Noise[i] = max(c, 0)
				}
				noisy.Noise[0] = 1
				kernel.Activate(act, want, wantSlope, z, rows, width, noisy)
				b.must(b.d.Activate(dst, slope, whole, put(b, z), 0, 0, put(b, noisy.Noise), act, noisy, rows, width))
				b.same("activation with scaled noise", dst, want, 1e-6)
				b.same("slope with scaled noise", slope, wantSlope, 1e-6)
				b.same("activation before scaled noise", whole, wantWhole, 1e-6)
				b.sameZeros(dst, want)

				kernel.Activate(act, want, nil, sum, rows, width, drop)
				b.must(b.d.Activate(dst, 0, 0, put(b, z), put(b, bias), put(b, scale), 0, act, drop, rows, width))
				b.same("activation with a bias", dst, want, 2e-6)

				inPlace := put(b, z)
				kernel.Activate(act, want, nil, z, rows, width, drop)
				b.must(b.d.Activate(inPlace, 0, 0, inPlace, 0, 0, 0, act, drop, rows, width))
				b.same("activation in place", inPlace, want, 1e-6)
			}
		}
	}
}

func (b *fixture) sameZeros(at Pointer, want []float32) {
	b.Helper()
	got := make([]float32, len(want))
	b.must(Read(b.d, got, at))
	for k, v := range want {
		if (v == 0) != (got[k] == 0) {
			b.Fatalf("element %d is %v, want %v: masks differ", k, got[k], v)
		}
	}
}

func TestElementwise(t *testing.T) {
	b := newFixture(t)
	for _, n := range []int{1, 31, 256, 257, 1000} {
		x, y := b.floats(n), b.floats(n)
		product, sum, filled := make([]float32, n), make([]float32, n), make([]float32, n)
		var total float64
		for k := range x {
			product[k], sum[k], filled[k] = x[k]*y[k], x[k]+y[k], 3*0.25
			total += float64(x[k])
		}
		dst := b.room(n)
		b.must(b.d.Multiply(dst, put(b, x), put(b, y), n))
		b.same("Multiply", dst, product, 0)
		b.must(b.d.Add(dst, put(b, x), put(b, y), n))
		b.same("Add", dst, sum, 0)
		b.must(b.d.Fill(dst, put(b, []float32{3}), 0.25, n))
		b.same("Fill", dst, filled, 0)
		b.must(b.d.Sum(dst, put(b, x), 0.5, n))
		b.same("Sum", dst, []float32{float32(total / 2)}, 1e-6)
		doubles := make([]float64, n)
		for k, v := range x {
			doubles[k] = float64(v)
		}
		b.must(b.d.Total(dst, put(b, doubles), n))
		b.same("Total", dst, []float32{float32(total)}, 1e-6)
	}
}

func TestColumnSums(t *testing.T) {
	b := newFixture(t)
	for _, s := range append(sizes, [2]int{600, 40}) {
		rows, width := s[0], s[1]
		x, y, scale := b.floats(rows*width), b.floats(rows*width), b.floats(rows)
		want, dst := make([]float32, width), b.room(width)
		kernel.ColumnSums(want, x, nil, rows, width)
		b.must(b.d.ColumnSums(dst, put(b, x), 0, 0, rows, width))
		b.same("sums", dst, want, 1e-6)
		kernel.ColumnSums(want, x, scale, rows, width)
		b.must(b.d.ColumnSums(dst, put(b, x), 0, put(b, scale), rows, width))
		b.same("scaled sums", dst, want, 1e-6)
		product := make([]float32, rows*width)
		kernel.Multiply(product, x, y)
		kernel.ColumnSums(want, product, nil, rows, width)
		b.must(b.d.ColumnSums(dst, put(b, x), put(b, y), 0, rows, width))
		b.same("sums of products", dst, want, 1e-6)
	}
}

func TestSoftmaxLoss(t *testing.T) {
	b := newFixture(t)
	for k, s := range [][2]int{{1, 1}, {5, 2}, {33, 40}, {70, 31}, {9, 100}, {512, 7}} {
		rows, classes, smoothing := s[0], s[1], []float64{0, 0.1}[k%2]
		n := rows * classes
		z := b.floats(n)
		for k := range z { // spread so far that some probabilities are 0
			z[k] *= 30
		}
		target, weight := make([]int32, rows), b.floats(rows)
		for i := range target {
			target[i] = int32(b.rng.IntN(classes+1) - 1)
		}
		want, probs := make([]float32, n), make([]float32, n)
		loss := kernel.SoftmaxCrossEntropy(probs, z, classes, target, weight, smoothing)
		p, g, rowLoss, out := b.room(n), b.room(n), b.room(2*rows), b.room(1)
		logits, targets, weights := put(b, z), put(b, target), put(b, weight)
		b.must(b.d.SoftmaxLoss(p, rowLoss, logits, targets, weights, smoothing, rows, classes))
		b.must(b.d.Total(out, rowLoss, rows))
		b.same("loss", out, []float32{float32(loss)}, 1e-6)
		b.same("probabilities", p, probs, 1e-6)

		kernel.SoftmaxCrossEntropyGradient(want, probs, target, weight, -2.5, classes, smoothing)
		b.must(b.d.SoftmaxGradient(g, p, targets, weights, put(b, []float32{-2.5}), smoothing, rows, classes))
		b.same("gradient", g, want, 2e-6)

		b.must(b.d.SoftmaxLoss(0, rowLoss, logits, targets, weights, smoothing, rows, classes))
		b.must(b.d.Total(out, rowLoss, rows))
		b.same("loss alone", out, []float32{float32(loss)}, 1e-6)
	}
}

// A logit that is not finite must make the loss not finite.
func TestLossNotFinite(t *testing.T) {
	b := newFixture(t)
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		z := b.floats(3 * 40)
		z[50] = float32(bad)
		rowLoss, out := b.room(6), b.room(1)
		loss := []float32{0}
		b.must(b.d.SoftmaxLoss(0, rowLoss, put(b, z), put(b, []int32{1, 2, 3}), put(b, ones(3)), 0, 3, 40))
		b.must(b.d.Total(out, rowLoss, 3))
		b.must(Read(b.d, loss, out))
		if v := float64(loss[0]); !math.IsNaN(v) && !math.IsInf(v, 0) {
			t.Errorf("cross-entropy with a logit of %v is %v", bad, v)
		}
		b.must(b.d.BCELoss(0, rowLoss, put(b, z), put(b, make([]float32, 120)), put(b, ones(3)), 0, 3, 40))
		b.must(b.d.Total(out, rowLoss, 3))
		b.must(Read(b.d, loss, out))
		if v := float64(loss[0]); !math.IsNaN(v) && !math.IsInf(v, 0) {
			t.Errorf("binary cross-entropy with a logit of %v is %v", bad, v)
		}
	}
}

func TestBCELoss(t *testing.T) {
	b := newFixture(t)
	for _, s := range [][2]int{{1, 1}, {5, 3}, {33, 32}, {20, 112}} {
		rows, tasks := s[0], s[1]
		n := rows * tasks
		z, target, weight := b.floats(n), make([]float32, n), b.floats(rows)
		share := make([]float32, rows)
		for i := range rows {
			labelled := 0
			for j := range tasks {
				z[i*tasks+j] *= 20
				target[i*tasks+j] = float32(b.rng.IntN(2))
				if b.rng.IntN(4) == 0 {
					target[i*tasks+j] = float32(math.NaN())
				} else {
					labelled++
				}
			}
			share[i] = weight[i] / float32(max(labelled, 1))
		}
		want := make([]float32, n)
		loss := kernel.BCEWithLogits(z, target, tasks, share)
		kernel.BCEWithLogitsGradient(want, z, target, tasks, share, 1)
		g, rowLoss, out := b.room(n), b.room(2*rows), b.room(1)
		logits, targets, shares := put(b, z), put(b, target), put(b, share)
		b.must(b.d.BCELoss(g, rowLoss, logits, targets, shares, 0, rows, tasks))
		b.must(b.d.Total(out, rowLoss, rows))
		b.same("loss", out, []float32{float32(loss)}, 2e-6)
		b.same("gradient with the loss", g, want, 2e-6)
		kernel.BCEWithLogitsGradient(want, z, target, tasks, share, -2.5)
		b.must(b.d.BCELoss(g, 0, logits, targets, shares, put(b, []float32{-2.5}), rows, tasks))
		b.same("gradient", g, want, 2e-6)
	}
}

func TestLayerNorm(t *testing.T) {
	b := newFixture(t)
	for _, s := range sizes {
		rows, width := s[0], s[1]
		n := rows * width
		x, gain, shift, grad := b.floats(n), b.floats(width), b.floats(width), b.floats(n)
		want, normalized, inverse := make([]float32, n), make([]float32, n), make([]float32, rows)
		kernel.LayerNorm(want, normalized, inverse, x, gain, shift, rows, width)
		dst, norm, inv := b.room(n), b.room(n), b.room(rows)
		b.must(b.d.LayerNorm(dst, norm, inv, put(b, x), put(b, gain), put(b, shift), rows, width))
		b.same("output", dst, want, 1e-6)
		b.same("normalised", norm, normalized, 1e-6)
		kernel.LayerNormGradient(want, grad, normalized, inverse, gain, rows, width)
		b.must(b.d.LayerNormGradient(dst, put(b, grad), norm, inv, put(b, gain), rows, width))
		if width > 1 { // with one column it is 0 up to rounding
			b.same("gradient", dst, want, 2e-6)
		}
	}
}

func TestSgemm(t *testing.T) {
	b := newFixture(t)
	const m, n, k = 7, 5, 9
	x, y, c := b.floats(m*k), b.floats(k*n), b.floats(m*n)
	for _, beta := range []float32{0, 1} {
		want := make([]float32, m*n)
		for i := range m {
			for j := range n {
				sum := float64(beta) * float64(c[i*n+j])
				for l := range k {
					sum += float64(x[i*k+l]) * float64(y[l*n+j])
				}
				want[i*n+j] = float32(sum)
			}
		}
		for _, trans := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			p, lda, q, ldb := x, k, y, n
			if trans[0] {
				p, lda = transposed(x, m, k), m
			}
			if trans[1] {
				q, ldb = transposed(y, k, n), k
			}
			dst := put(b, c)
			b.must(b.d.Sgemm(trans[0], trans[1], m, n, k, put(b, p), lda, put(b, q), ldb, beta, dst))
			b.same("product", dst, want, 1e-6)
		}
	}
}

func transposed(x []float32, rows, cols int) []float32 {
	y := make([]float32, len(x))
	for i := range rows {
		for j := range cols {
			y[j*rows+i] = x[i*cols+j]
		}
	}
	return y
}

// adam is the state of an optimiser on the device.
func (b *fixture) adam(params, m, v, grads []float32, loss float32) AdamArrays {
	n := len(params)
	a := AdamArrays{Params: put(b, params), M: put(b, m), V: put(b, v), Grads: put(b, grads), Loss: put(b, []float32{loss})}
	a.Partial, a.Status = b.room(2*Partials), put(b, []int64{0, 0})
	b.must(b.d.Squares(a.Partial, a.Grads, n))
	return a
}

func TestAdam(t *testing.T) {
	b := newFixture(t)
	for _, n := range []int{1, 255, 5000} {
		params, grads, m, v := b.floats(n), b.floats(n), b.floats(n), ones(n)
		for k, clip := range []float64{0, 0.5, 1e9} {
			a := b.adam(params, m, v, grads, 1)
			const step = 3
			cfg := kernel.Adam{LR: 0.1, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8, WeightDecay: 0.01, DecoupledDecay: k == 1, Clip: clip}
			b.must(b.d.AdamStep(a, n, step, cfg))
			p, g, wantM, wantV := clone(params), clone(grads), clone(m), clone(v)
			var norm float64
			for _, x := range g {
				norm += float64(x) * float64(x)
			}
			if norm = math.Sqrt(norm); clip > 0 && norm > clip {
				for k := range g {
					g[k] *= float32(clip / norm)
				}
			}
			cfg.Clip = 0
			kernel.AdamStep(p, g, wantM, wantV, step, cfg)
			b.same("parameters", a.Params, p, 1e-6)
			b.same("first moment", a.M, wantM, 1e-6)
			b.same("second moment", a.V, wantV, 1e-6)
		}
	}
}

func clone(x []float32) []float32 { return append([]float32(nil), x...) }

// A step that is not finite must change nothing, nor may later steps.
func TestAdamStopsAtTheFirstStepThatIsNotFinite(t *testing.T) {
	b := newFixture(t)
	const n = 1000
	params, grads := b.floats(n), b.floats(n)
	broken := clone(grads)
	broken[700] = float32(math.Inf(-1))
	for _, c := range []struct {
		loss  float32
		grads []float32
		kind  int64
	}{{float32(math.NaN()), grads, 1}, {1, broken, 2}, {float32(math.Inf(1)), broken, 1}} {
		a := b.adam(params, make([]float32, n), make([]float32, n), c.grads, c.loss)
		settings := kernel.Adam{LR: 0.1, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8}
		b.must(b.d.AdamStep(a, n, 5, settings))
		after := a
		after.Grads, after.Loss = put(b, grads), put(b, []float32{1})
		b.must(b.d.Squares(a.Partial, after.Grads, n))
		b.must(b.d.AdamStep(after, n, 6, settings))
		b.same("parameters", a.Params, params, 0)
		status := make([]int64, 2)
		b.must(Read(b.d, status, a.Status))
		if status[0] != 5 || status[1] != c.kind {
			t.Errorf("status is %v, want step 5 and kind %d", status, c.kind)
		}
	}
}

// Send must not overwrite an array that a queued step still reads. Each round queues
// the sum of the array just sent.
func TestUploader(t *testing.T) {
	b := newFixture(t)
	u, err := b.d.NewUploader()
	b.must(err)
	defer func() { b.must(u.Close()) }()
	const rounds = 6*ringSize + 1
	outs := b.room(rounds)
	var want []float32
	for k := range rounds {
		n := 1 + 3000*(k%5) // sizes rise and fall
		if k < ringSize {
			n = 15000 // the largest: growing later would wait
		}
		x := b.floats(n)
		wide := []int64{int64(k), 1 << 30}
		var at, narrowed, none Pointer
		Add(u, &at, x)
		AddNarrow(u, &narrowed, wide)
		Add(u, &none, []float32{})
		b.must(u.Send())
		if none != 0 {
			t.Fatal("an empty array has an address")
		}
		total := 0.0
		for _, v := range x {
			total += float64(v)
		}
		want = append(want, float32(total))
		b.must(b.d.Sum(Floats(outs, k), at, 1, len(x)))
		b.must(u.Done())
		clear(x) // allowed: Send has read it
		if k == rounds-1 {
			got := make([]int32, 2)
			b.must(Read(b.d, got, narrowed))
			if got[0] != int32(k) || got[1] != 1<<30 {
				t.Errorf("narrowed numbers are %v", got)
			}
		}
	}
	b.same("sums", outs, want, 1e-5)
}

// Write has read its source when it returns, also if the device can read host memory.
func TestWriteReadsItsSource(t *testing.T) {
	b := newFixture(t)
	x := b.floats(70000)
	want := slices.Clone(x)
	at := put(b, x)
	clear(x)
	b.same("values written", at, want, 0)
}

func TestResidentFeatures(t *testing.T) {
	b := newFixture(t)
	x := &graph.Features{Rows: 9000, Cols: 3, Data: b.floats(27000)}
	at, err := b.d.Features(x)
	b.must(err)
	b.same("features", at, x.Data, 0)
	before := b.d.Counts()
	if again, err := b.d.Features(x); err != nil || again != at || b.d.Counts().CopiesIn != before.CopiesIn {
		t.Errorf("features were copied again: %v", err)
	}
	h, err := x.ToHalf()
	b.must(err)
	at, err = b.d.Features(h)
	b.must(err)
	b.same("features in half precision", at, h.Float32s(), 0)
}
