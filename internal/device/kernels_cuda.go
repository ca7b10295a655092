//go:build cuda

package device

import (
	_ "embed"
	"fmt"
	"math"

	"gorgonia.org/cu"
)

//go:embed kernels.ptx
var kernelsPTX string

// Kernels of kernels.cu.
var kernelNames = []string{
	"gcn_gather", "gcn_scatter", "gcn_spmm", "gcn_propagate", "gcn_row_sums", "gcn_bias_rows", "gcn_activate", "gcn_multiply",
	"gcn_add", "gcn_fill", "gcn_column_sums", "gcn_softmax_loss", "gcn_softmax_gradient", "gcn_bce_loss",
	"gcn_total", "gcn_sum", "gcn_layer_norm", "gcn_layer_norm_gradient", "gcn_squares", "gcn_adam",
}

// Pointer is an address in the device's memory; 0 stands for an argument that is
// left out, where a kernel allows it.
type Pointer = cu.DevicePtr

// Floats returns the address of element k of a float32 array at p.
func Floats(p Pointer, k int) Pointer { return p + Pointer(4*k) }

const (
	warp    = 32
	tile    = 128 // columns of a row that one warp works on
	threads = 256 // of a block, in most kernels
)

func ceil(a, b int) int { return (a + b - 1) / b }

// rows launches a kernel with a warp for each tile of each row.
func (d *Device) rows(kernel string, rows, width int, args ...cu.Arg) error {
	return d.launch(kernel, ceil(rows*ceil(width, tile)*warp, threads), threads, args...)
}

// warps launches a kernel with a warp for each row.
func (d *Device) warps(kernel string, rows int, args ...cu.Arg) error {
	return d.launch(kernel, ceil(rows*warp, threads), threads, args...)
}

// elements launches a kernel with a thread for each element.
func (d *Device) elements(kernel string, n int, args ...cu.Arg) error {
	return d.launch(kernel, ceil(n, threads), threads, args...)
}

// Gather sets row i of dst to row ids[i] of x.
func (d *Device) Gather(dst, x, ids Pointer, rows, width int) error {
	return d.rows("gcn_gather", rows, width, cu.Arg(dst), cu.Arg(x), cu.Arg(ids), cu.Arg(rows), cu.Arg(width))
}

// Scatter sets row ids[i] of dst to row i of x; ids are distinct. It does nothing
// where status is not 0 and the int64 number there is not 0 by then.
func (d *Device) Scatter(dst, x, ids, status Pointer, rows, width int) error {
	return d.rows("gcn_scatter", rows, width, cu.Arg(dst), cu.Arg(x), cu.Arg(ids), cu.Arg(status), cu.Arg(rows), cu.Arg(width))
}

// Sparse is a matrix in compressed rows: int32 row pointers and columns, float32
// values (0: all are 1).
type Sparse struct {
	Rows, Cols    int
	Ptr, Idx, Val Pointer
}

// SpMM sets dst to A·X[ids], or A·X where ids is 0.
func (d *Device) SpMM(dst Pointer, a Sparse, ids, x Pointer, width int) error {
	return d.spmm(dst, a, ids, x, 0, width)
}

// AddSpMM adds A·X to dst.
func (d *Device) AddSpMM(dst Pointer, a Sparse, x Pointer, width int) error {
	return d.spmm(dst, a, 0, x, 1, width)
}

func (d *Device) spmm(dst Pointer, a Sparse, ids, x Pointer, add, width int) error {
	return d.rows("gcn_spmm", a.Rows, width, cu.Arg(dst), cu.Arg(a.Ptr), cu.Arg(a.Idx), cu.Arg(a.Val), cu.Arg(ids), cu.Arg(x), cu.Arg(add), cu.Arg(a.Rows), cu.Arg(width))
}

// Laplacian is a graph.Laplacian in the device's memory: int64 row pointers,
// int32 columns, float32 scales; Val is 0 where the graph is not weighted.
type Laplacian struct {
	Nodes                             int
	Ptr, Idx, Val, RowScale, ColScale Pointer
}

// Propagate sets the n rows of dst to rows of P·X over full neighbourhoods: those
// in rows (int32), or base, base+1, … where rows is 0. Column j of P belongs to
// row local[j] of x (int32), or to row j where local is 0.
func (d *Device) Propagate(dst Pointer, p *Laplacian, rows Pointer, base, n int, x, local Pointer, width int) error {
	return d.rows("gcn_propagate", n, width, cu.Arg(dst), cu.Arg(rows), cu.Arg(base), cu.Arg(p.Ptr), cu.Arg(p.Idx), cu.Arg(p.Val),
		cu.Arg(p.RowScale), cu.Arg(p.ColScale), cu.Arg(x), cu.Arg(local), cu.Arg(n), cu.Arg(width))
}

// RowSums sets sums to the row sums of P, for the given rows.
func (d *Device) RowSums(sums Pointer, p *Laplacian, rows Pointer, base, n int) error {
	return d.warps("gcn_row_sums", n, cu.Arg(sums), cu.Arg(rows), cu.Arg(base), cu.Arg(p.Ptr), cu.Arg(p.Idx), cu.Arg(p.Val),
		cu.Arg(p.RowScale), cu.Arg(p.ColScale), cu.Arg(n))
}

// BiasRows sets row i of dst to scale[i]·bias, or to bias where scale is 0.
func (d *Device) BiasRows(dst, bias, scale Pointer, rows, width int) error {
	return d.rows("gcn_bias_rows", rows, width, cu.Arg(dst), cu.Arg(bias), cu.Arg(scale), cu.Arg(rows), cu.Arg(width))
}

// Activation is what Activate computes; 0 is the identity.
type Activation struct {
	Act       int     // 0 identity, 1 ELU, 2 ReLU: as in package kernel
	Threshold uint32  // of the 16-bit hash, below which an element is dropped; 0: none is
	Keep      float32 // factor of the kept elements
	Seed      uint64
}

// Activate sets dst to dropout(act(z + scale⊗bias)), slope, where not 0, to its
// derivative, and whole, where not 0, to what dst is before dropout. bias and scale
// may be 0, and dst may be z.
func (d *Device) Activate(dst, slope, whole, z, bias, scale Pointer, a Activation, rows, width int) error {
	return d.rows("gcn_activate", rows, width, cu.Arg(dst), cu.Arg(slope), cu.Arg(whole), cu.Arg(z), cu.Arg(bias), cu.Arg(scale),
		cu.Arg(a.Act), cu.Arg(a.Threshold), cu.F32(a.Keep), cu.U64(a.Seed), cu.Arg(rows), cu.Arg(width))
}

// Multiply sets dst to a·b, element by element.
func (d *Device) Multiply(dst, a, b Pointer, n int) error {
	return d.elements("gcn_multiply", n, cu.Arg(dst), cu.Arg(a), cu.Arg(b), cu.Arg(n))
}

// Add sets dst to a+b, element by element.
func (d *Device) Add(dst, a, b Pointer, n int) error {
	return d.elements("gcn_add", n, cu.Arg(dst), cu.Arg(a), cu.Arg(b), cu.Arg(n))
}

// Fill sets every element of dst to *upstream·share.
func (d *Device) Fill(dst, upstream Pointer, share float32, n int) error {
	return d.elements("gcn_fill", n, cu.Arg(dst), cu.Arg(upstream), cu.F32(share), cu.Arg(n))
}

// ColumnSums sets dst[j] to Σᵢ scale[i]·x[i][j]·y[i][j]; y and scale may be 0.
func (d *Device) ColumnSums(dst, x, y, scale Pointer, rows, width int) error {
	return d.launch("gcn_column_sums", ceil(width, warp), warp*warp, cu.Arg(dst), cu.Arg(x), cu.Arg(y), cu.Arg(scale), cu.Arg(rows), cu.Arg(width))
}

// SoftmaxLoss sets rowLoss (float64) to weight·−log softmax(logits)[target] of
// each row, 0 where the target (int32) is −1; probs and gradient, where not 0, to
// the softmax and to the gradient of Σ rowLoss.
func (d *Device) SoftmaxLoss(probs, gradient, rowLoss, logits, target, weight Pointer, rows, classes int) error {
	return d.warps("gcn_softmax_loss", rows, cu.Arg(probs), cu.Arg(gradient), cu.Arg(rowLoss), cu.Arg(logits), cu.Arg(target), cu.Arg(weight), cu.Arg(rows), cu.Arg(classes))
}

// SoftmaxGradient sets dst to *upstream times the gradient that SoftmaxLoss gives.
func (d *Device) SoftmaxGradient(dst, probs, target, weight, upstream Pointer, rows, classes int) error {
	return d.elements("gcn_softmax_gradient", rows*classes, cu.Arg(dst), cu.Arg(probs), cu.Arg(target), cu.Arg(weight), cu.Arg(upstream), cu.Arg(rows), cu.Arg(classes))
}

// BCELoss sets rowLoss (float64), where not 0, to share·Σ of each row's binary
// cross-entropies, NaN targets left out; gradient, where not 0, to the gradient of
// Σ rowLoss, times *upstream where that is not 0.
func (d *Device) BCELoss(gradient, rowLoss, logits, target, share, upstream Pointer, rows, tasks int) error {
	return d.warps("gcn_bce_loss", rows, cu.Arg(gradient), cu.Arg(rowLoss), cu.Arg(logits), cu.Arg(target), cu.Arg(share), cu.Arg(upstream), cu.Arg(rows), cu.Arg(tasks))
}

// Total sets *out (float32) to the sum of n float64 values.
func (d *Device) Total(out, x Pointer, n int) error {
	return d.launch("gcn_total", 1, threads, cu.Arg(out), cu.Arg(x), cu.Arg(n))
}

// Sum sets *out to share·Σ x.
func (d *Device) Sum(out, x Pointer, share float64, n int) error {
	return d.launch("gcn_sum", 1, threads, cu.Arg(out), cu.Arg(x), cu.F64(share), cu.Arg(n))
}

// LayerNorm normalises each row of z; normalized and inverse, where not 0, are what
// LayerNormGradient needs.
func (d *Device) LayerNorm(dst, normalized, inverse, z, gain, shift Pointer, rows, width int) error {
	return d.warps("gcn_layer_norm", rows, cu.Arg(dst), cu.Arg(normalized), cu.Arg(inverse), cu.Arg(z), cu.Arg(gain), cu.Arg(shift), cu.Arg(rows), cu.Arg(width))
}

// LayerNormGradient sets dst to the gradient with regard to LayerNorm's input.
func (d *Device) LayerNormGradient(dst, grad, normalized, inverse, gain Pointer, rows, width int) error {
	return d.warps("gcn_layer_norm_gradient", rows, cu.Arg(dst), cu.Arg(grad), cu.Arg(normalized), cu.Arg(inverse), cu.Arg(gain), cu.Arg(rows), cu.Arg(width))
}

// Partials is how many partial sums Squares makes.
const Partials = 64

// Squares sets partial (Partials float64 values) to sums of squares of x.
func (d *Device) Squares(partial, x Pointer, n int) error {
	return d.launch("gcn_squares", Partials, threads, cu.Arg(partial), cu.Arg(x), cu.Arg(n))
}

// Adam is the settings of one step of the optimiser, as package kernel's AdamStep
// derives them.
type Adam struct {
	Step           int // from 1
	Clip           float64
	Beta1, Beta2   float32
	Gain1, Gain2   float32
	Size           float32
	RootCorrection float32
	Epsilon, Decay float32
}

// AdamArrays are flat float32 arrays of one length, and what guards them: the
// partial sums of Squares of Grads, the loss (float32), and two int64 numbers,
// which become the first step whose loss or gradient is not finite, and 1 for the
// loss or 2 for the gradient. Once they are set nothing moves.
type AdamArrays struct {
	Params, Grads, M, V   Pointer
	Partial, Loss, Status Pointer
}

// AdamStep moves Params by one step.
func (d *Device) AdamStep(a AdamArrays, n int, s Adam) error {
	return d.elements("gcn_adam", n, cu.Arg(a.Params), cu.Arg(a.Grads), cu.Arg(a.M), cu.Arg(a.V), cu.Arg(n), cu.Arg(a.Partial), Partials,
		cu.Arg(a.Loss), cu.Arg(a.Status), cu.Arg(s.Step), cu.F64(s.Clip), cu.F32(s.Beta1), cu.F32(s.Beta2), cu.F32(s.Gain1),
		cu.F32(s.Gain2), cu.F32(s.Size), cu.F32(s.RootCorrection), cu.F32(s.Epsilon), cu.F32(s.Decay))
}

// launch queues a kernel; an empty grid is none.
func (d *Device) launch(kernel string, blocks, threads int, args ...cu.Arg) error {
	if blocks == 0 {
		return nil
	}
	if blocks > math.MaxInt32 {
		return fmt.Errorf("device: %s: %d blocks are too many", kernel, blocks)
	}
	if err := d.kernels[kernel].Enqueue(cu.NoStream, cu.Dim{X: blocks}, cu.Dim{X: threads}, 0, args...); err != nil {
		return fmt.Errorf("device: %s: %w", kernel, err)
	}
	return nil
}
