package device

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// Pointer is an address in the device's memory. Where a kernel allows it, 0 means no
// argument.
type Pointer uintptr

// Floats returns the address of element k of a float32 array at p.
func Floats(p Pointer, k int) Pointer { return p + Pointer(4*k) }

const (
	warp    = 32
	tile    = 128 // columns of a row for one warp
	threads = 256 // threads a block, in most kernels
)

// word returns an argument of a kernel as the kernel takes it: a float by its bits.
func word(v any) uint64 {
	switch v := v.(type) {
	case Pointer:
		return uint64(v)
	case int:
		return uint64(v)
	case uint32:
		return uint64(v)
	case float32:
		return uint64(math.Float32bits(v))
	case float64:
		return math.Float64bits(v)
	}
	return v.(uint64)
}

func ceil(a, b int) int { return (a + b - 1) / b }

// rows launches a kernel with a warp for each tile of each row.
func (d *Device) rows(kernel string, rows, width int, args ...any) error {
	return d.launch(kernel, ceil(rows*ceil(width, tile)*warp, threads), threads, args...)
}

// warps launches a kernel with a warp for each row.
func (d *Device) warps(kernel string, rows int, args ...any) error {
	return d.launch(kernel, ceil(rows*warp, threads), threads, args...)
}

// elements launches a kernel with a thread for each element.
func (d *Device) elements(kernel string, n int, args ...any) error {
	return d.launch(kernel, ceil(n, threads), threads, args...)
}

// Gather sets row i of dst to row ids[i] of x.
func (d *Device) Gather(dst, x, ids Pointer, rows, width int) error {
	return d.rows("gcn_gather", rows, width, dst, x, ids, rows, width)
}

// Scatter sets row ids[i] of dst to row i of x; ids must be distinct. If status is not
// 0 and the int64 there is not 0 when the kernel runs, it does nothing.
func (d *Device) Scatter(dst, x, ids, status Pointer, rows, width int) error {
	return d.rows("gcn_scatter", rows, width, dst, x, ids, status, rows, width)
}

// Sparse is a CSR matrix: int32 row pointers and columns, float32 values. Val 0 means
// that all values are 1.
type Sparse struct {
	Rows, Cols    int
	Ptr, Idx, Val Pointer
}

// SpMM sets dst to A·X[ids], or A·X where ids is 0.
func (d *Device) SpMM(dst Pointer, a Sparse, ids, x Pointer, width int) error {
	return d.rows("gcn_spmm", a.Rows, width, dst, a.Ptr, a.Idx, a.Val, ids, x, 0, a.Rows, width)
}

// AddSpMM adds A·X to dst.
func (d *Device) AddSpMM(dst Pointer, a Sparse, x Pointer, width int) error {
	return d.rows("gcn_spmm", a.Rows, width, dst, a.Ptr, a.Idx, a.Val, 0, x, 1, a.Rows, width)
}

// Laplacian is a graph.Laplacian in the device's memory: int64 row pointers,
// int32 columns, float32 scales. Val is 0 if the graph has no weights.
type Laplacian struct {
	Ptr, Idx, Val, RowScale, ColScale Pointer
}

// Propagate sets row i of dst, for i below n, to a row of P·X over full neighbourhoods:
// row rows[i] (int32) of it, or row base+i if rows is 0. Column j of P belongs to row
// local[j] (int32) of x, or to row j if local is 0.
func (d *Device) Propagate(dst Pointer, p *Laplacian, rows Pointer, base, n int, x, local Pointer, width int) error {
	return d.rows("gcn_propagate", n, width, dst, rows, base, p.Ptr, p.Idx, p.Val,
		p.RowScale, p.ColScale, x, local, n, width)
}

// RowSums sets sums[i] to the sum of a row of P, with rows, base and n as in Propagate.
func (d *Device) RowSums(sums Pointer, p *Laplacian, rows Pointer, base, n int) error {
	return d.warps("gcn_row_sums", n, sums, rows, base, p.Ptr, p.Idx, p.Val,
		p.RowScale, p.ColScale, n)
}

// BiasRows sets row i of dst to scale[i]·bias, or to bias if scale is 0.
func (d *Device) BiasRows(dst, bias, scale Pointer, rows, width int) error {
	return d.rows("gcn_bias_rows", rows, width, dst, bias, scale, rows, width)
}

// Activate sets dst to dropout(act(z + scale⊗bias)), slope to its derivative, and whole
// to act(z + scale⊗bias). noise is the factor of each row's noise of the dropout, in place of
// drop.Noise. slope, whole, bias, scale and noise may be 0. dst and slope may be z.
func (d *Device) Activate(dst, slope, whole, z, bias, scale, noise Pointer, act kernel.Activation, drop kernel.Dropout, rows, width int) error {
	threshold, keep := drop.Threshold()
	return d.rows("gcn_activate", rows, width, dst, slope, whole, z, bias, scale, noise,
		int(act), threshold, keep, drop.Seed, rows, width)
}

// Multiply sets dst to a·b, element by element.
func (d *Device) Multiply(dst, a, b Pointer, n int) error {
	return d.elements("gcn_multiply", n, dst, a, b, n)
}

// Add sets dst to a+b, element by element.
func (d *Device) Add(dst, a, b Pointer, n int) error {
	return d.elements("gcn_add", n, dst, a, b, n)
}

// ScaledDifference sets element (i, j) of dst to (a[ids[i]][j] − b[i][j])·scale[j]. If ids is 0,
// row i of a is read; b 0 means zeros, scale 0 ones. dst may be b, or a without ids.
func (d *Device) ScaledDifference(dst, a, ids, b, scale Pointer, rows, width int) error {
	return d.rows("gcn_scaled_difference", rows, width, dst, a, ids, b, scale, rows, width)
}

// Fill sets every element of dst to *upstream·share.
func (d *Device) Fill(dst, upstream Pointer, share float32, n int) error {
	return d.elements("gcn_fill", n, dst, upstream, share, n)
}

// ColumnSums sets dst[j] to Σᵢ scale[i]·x[i][j]·y[i][j]; y and scale may be 0.
func (d *Device) ColumnSums(dst, x, y, scale Pointer, rows, width int) error {
	return d.launch("gcn_column_sums", ceil(width, warp), warp*warp,
		dst, x, y, scale, rows, width)
}

// SoftmaxLoss sets rowLoss[i] (float64) to weight[i]·−log softmax(logits[i])[target[i]],
// or 0 if the target (int32) is −1. It sets probs, which may be 0, to the softmax. smoothing is
// the label smoothing.
func (d *Device) SoftmaxLoss(probs, rowLoss, logits, target, weight Pointer, smoothing float64, rows, classes int) error {
	return d.warps("gcn_softmax_loss", rows, probs, rowLoss, logits,
		target, weight, smoothing, rows, classes)
}

// SoftmaxGradient sets dst to *upstream times the gradient of SoftmaxLoss.
func (d *Device) SoftmaxGradient(dst, probs, target, weight, upstream Pointer, smoothing float64, rows, classes int) error {
	return d.elements("gcn_softmax_gradient", rows*classes, dst, probs,
		target, weight, upstream, smoothing, rows, classes)
}

// BCELoss sets rowLoss[i] (float64) to share[i]·Σ of the row's binary cross-entropies,
// without NaN targets. It sets gradient to *upstream times the gradient of Σ rowLoss.
// rowLoss, gradient and upstream may be 0; an upstream of 0 means the factor 1.
func (d *Device) BCELoss(gradient, rowLoss, logits, target, share, upstream Pointer, rows, tasks int) error {
	return d.warps("gcn_bce_loss", rows, gradient, rowLoss,
		logits, target, share, upstream, rows, tasks)
}

// Total sets *out (float32) to the sum of n float64 values.
func (d *Device) Total(out, x Pointer, n int) error {
	return d.launch("gcn_total", 1, threads, out, x, n)
}

// Sum sets *out to share·Σ x.
func (d *Device) Sum(out, x Pointer, share float64, n int) error {
	return d.launch("gcn_sum", 1, threads, out, x, share, n)
}

// LayerNorm normalises each row of z and sets dst to gain·row + shift. It sets
// normalized to the rows before gain and shift, and inverse to 1/deviation of each row,
// for LayerNormGradient; both may be 0. dst may be z.
func (d *Device) LayerNorm(dst, normalized, inverse, z, gain, shift Pointer, rows, width int) error {
	return d.warps("gcn_layer_norm", rows, dst, normalized, inverse, z, gain, shift, rows, width)
}

// LayerNormGradient sets dst to the gradient with respect to LayerNorm's input.
func (d *Device) LayerNormGradient(dst, grad, normalized, inverse, gain Pointer, rows, width int) error {
	return d.warps("gcn_layer_norm_gradient", rows, dst, grad,
		normalized, inverse, gain, rows, width)
}

// Edges are the arrays of kernel.Edges on the device; row pointers are int32.
type Edges struct{ Ptr, Idx, Weight, Own, ColPtr, Entry, Row Pointer }

// factor returns the factor of a kept coefficient in the output, and whether the heads
// are averaged.
func factor(a *kernel.Attention) (keep float32, average int) {
	_, keep = a.Dropout.Threshold()
	if a.Average {
		return keep / float32(a.Heads), 1
	}
	return keep, 0
}

// AttentionScores sets dst to the scores of rows of z, as kernel.AttentionScores.
func (d *Device) AttentionScores(dst, z, vector Pointer, rows, heads, width int) error {
	return d.elements("gcn_attention_scores", rows*heads, dst, z, vector, rows, heads, width)
}

// Attend sets dst to the output, and alpha to the coefficients, as kernel.Attention over the edges
// e in place of its own. s and t are the scores of all columns. bias may be 0.
func (d *Device) Attend(a *kernel.Attention, e Edges, dst, alpha, s, t, z, bias Pointer) error {
	keep, average := factor(a)
	threshold, _ := a.Dropout.Threshold()
	return cmp.Or(
		d.warps("gcn_attention_coefficients", a.Rows()*a.Heads, alpha, e.Ptr, e.Idx, e.Weight, e.Own,
			s, t, float32(kernel.LeakySlope), threshold, a.Dropout.Seed, a.Rows(), a.Heads),
		d.rows("gcn_attend", a.Rows(), a.Out(), dst, e.Ptr, e.Idx, alpha, z, bias, keep, average,
			a.Rows(), a.Heads, a.Width),
	)
}

// AttentionGradient sets dz, ds, dt and dq to the gradients with respect to z, to the scores
// s and t, and to the sums of two scores, as kernel.Attention does. The other arguments are
// as in Attend.
func (d *Device) AttentionGradient(a *kernel.Attention, e Edges, dz, dq, ds, dt, grad, alpha, s, t, z, source, target Pointer) error {
	keep, average := factor(a)
	return cmp.Or(
		d.Clear(dt, 4*int64(a.Cols*a.Heads)),
		d.warps("gcn_attention_slopes", a.Rows()*a.Heads, dq, dt, e.Ptr, e.Idx, e.Own, grad, alpha,
			s, t, z, float32(kernel.LeakySlope), keep, average, a.Rows(), a.Heads, a.Width),
		d.elements("gcn_attention_sums", a.Cols*a.Heads, ds,
			e.ColPtr, e.Entry, dq, a.Cols, a.Heads),
		d.rows("gcn_attention_gradient", a.Cols, a.Heads*a.Width, dz, e.ColPtr, e.Entry, e.Row, grad, alpha,
			ds, dt, source, target, keep, average, a.Cols, a.Heads, a.Width),
	)
}

// HeadSums sets dst to the gradient of a vector of scores, as kernel.HeadSums.
func (d *Device) HeadSums(dst, scores, z Pointer, rows, heads, width int) error {
	return d.launch("gcn_head_sums", ceil(heads*width, warp),
		warp*warp, dst, scores, z, rows, heads, width)
}

// Partials is the number of partial sums of Squares.
const Partials = 64

// Squares sets partial (Partials float64 values) to partial sums of Σ x².
func (d *Device) Squares(partial, x Pointer, n int) error {
	return d.launch("gcn_squares", Partials, threads, partial, x, n)
}

// AdamArrays are the arrays of AdamStep. The first four are flat float32 arrays of equal
// length. Partial is the result of Squares of Grads, Loss the loss (float32). Status
// points to two int64, 0 at first. At the first loss or gradient that is not finite,
// AdamStep sets them to the step's number and to 1 for the loss or 2 for the gradient;
// then this and all later steps change nothing else.
type AdamArrays struct {
	Params, Grads, M, V   Pointer
	Partial, Loss, Status Pointer
}

// AdamStep applies step number step of s, from 1, to Params, M and V. It leaves Grads as they are.
func (d *Device) AdamStep(a AdamArrays, n, step int, s kernel.Adam) error {
	t := float64(step)
	decay, shrink := s.Split()
	return d.elements("gcn_adam", n, a.Params, a.Grads, a.M, a.V, n, a.Partial, Partials,
		a.Loss, a.Status, step, s.Clip, float32(s.Beta1), float32(s.Beta2), float32(1-s.Beta1),
		float32(1-s.Beta2), float32(s.LR/(1-math.Pow(s.Beta1, t))), float32(1/math.Sqrt(1-math.Pow(s.Beta2, t))),
		float32(s.Epsilon), decay, shrink)
}

// launch queues a kernel. Without blocks it does nothing.
func (d *Device) launch(kernel string, blocks, threads int, args ...any) error {
	if blocks == 0 {
		return nil
	}
	for k, v := range args {
		d.args[k] = word(v)
	}
	return failed(d.driver.launch(kernel, blocks, threads, d.args[:len(args)]), kernel)
}

// Sgemm sets C to op(A)·op(B) + beta·C, with op(A) m×k and op(B) k×n. op(X) is X, or Xᵀ
// if its flag is set. The rows of A, B and C have lda, ldb and n elements. It computes
// in float32, not in TF32.
func (d *Device) Sgemm(transA, transB bool, m, n, k int, a Pointer, lda int, b Pointer, ldb int, beta float32, c Pointer) error {
	// cuBLAS takes column-major matrices, so it computes Cᵀ = op(B)ᵀ·op(A)ᵀ.
	if err := d.driver.sgemm(transB, transA, n, m, k, b, ldb, a, lda, beta, c, n); err != nil {
		return fmt.Errorf("device: product of %d×%d and %d×%d: %w", m, k, k, n, err)
	}
	return nil
}

// BatchMoments sets moments, float64, to three rows of width values: mean and variance of the
// columns of x, without Bessel's correction, and 1/√(variance + 1e-5). If x is 0,
// mean and variance are the given ones.
func (d *Device) BatchMoments(moments, x, mean, variance Pointer, rows, width int) error {
	return d.launch("gcn_batch_moments", ceil(width, warp), warp*warp,
		moments, x, mean, variance, rows, width)
}

// BatchNorm normalises the columns of x by BatchMoments and sets dst to gain·column + shift. It
// sets normalized to the columns before gain and shift; it may be 0. dst may be x.
func (d *Device) BatchNorm(dst, normalized, moments, x, gain, shift Pointer, rows, width int) error {
	return d.elements("gcn_batch_norm", rows*width, dst, normalized,
		moments, x, gain, shift, rows, width)
}

// BatchNormGradient sets dst to the gradient with respect to BatchNorm's input. sums is memory
// of 2·width float64 values if the moments are of this input, else 0. dst may be grad.
func (d *Device) BatchNormGradient(dst, grad, normalized, moments, sums, gain Pointer, rows, width int) error {
	if sums != 0 {
		if err := d.launch("gcn_batch_norm_sums", ceil(width, warp), warp*warp,
			sums, grad, normalized, rows, width); err != nil {
			return err
		}
	}
	return d.elements("gcn_batch_norm_gradient", rows*width, dst, grad,
		normalized, moments, sums, gain, rows, width)
}

// BatchMoment sets dst to factor times a row of BatchMoments.
func (d *Device) BatchMoment(dst, moments Pointer, factor float64, row, width int) error {
	return d.elements("gcn_batch_moment", width, dst, moments, factor, row, width)
}
