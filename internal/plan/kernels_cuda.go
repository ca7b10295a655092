package plan

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// cudaKernels are a GPU's kernels. Features, Laplacian and scratch memory stay on the
// device until it is closed.
type cudaKernels struct {
	d         *device.Device
	p         *graph.Laplacian
	laplacian *device.Laplacian

	rows []int32        // set by Needed
	ids  device.Pointer // of these rows; 0: all nodes

	neighborhoods neighborhoods
	numbers       []int32 // of sendEdges
}

// Further scratch memories on a GPU.
const (
	ownScratch Scratch = iota + scratches
	logitsScratch
	rowsScratch
	indexScratch
	weightsScratch
	edgesScratch
	edgeWeightsScratch
	ownIDsScratch
)

func newCUDAKernels(d *device.Device, p *graph.Laplacian) (Kernels, error) {
	l, err := d.Laplacian(p)
	return &cudaKernels{d: d, p: p, laplacian: l}, err
}

// ChunkRows gives 64 MiB.
func (k *cudaKernels) ChunkRows(width int) int {
	return max(1024, min(1<<17, (1<<24)/max(width, 1)))
}

func (k *cudaKernels) Grain(width int) int { return k.ChunkRows(width) }

func (k *cudaKernels) Fork() []Kernels { return nil }

// Load sends all parameters in one copy. Each starts at a multiple of 16 bytes, which
// makes products faster.
func (k *cudaKernels) Load(parameters [][]float32) ([]Span, error) {
	var all []float32
	places := make([]int, len(parameters))
	for i, values := range parameters {
		places[i] = len(all)
		all = append(all, values...)
		for len(all)%4 != 0 {
			all = append(all, 0)
		}
	}
	at, err := k.d.Scratch(weightsScratch).Floats(len(all))
	if err != nil {
		return nil, err
	}
	spans := make([]Span, len(parameters))
	for i, values := range parameters {
		if values != nil {
			spans[i].at = device.Floats(at, places[i])
		}
	}
	return spans, device.Write(k.d, at, all)
}

func (k *cudaKernels) Features(x *graph.Features) (Rows, error) {
	at, err := k.d.Features(x)
	return Rows{Span: Span{at: at}, Width: x.Cols, Count: x.Rows}, err
}

// Released does nothing: the device has a copy, and Features read the host's pages
// only once.
func (k *cudaKernels) Released(*graph.Features) {}

func (k *cudaKernels) Needed(rows []int32, all bool) (err error) {
	k.rows = rows
	if k.ids = 0; all {
		return nil
	}
	if k.ids, err = k.d.Scratch(rowsScratch).Bytes(4 * int64(max(len(rows), 1))); err != nil {
		return err
	}
	return device.Write(k.d, k.ids, rows)
}

func (k *cudaKernels) Index(rows []int32) (Index, error) {
	index := indexOf(nil, rows, k.p.Nodes())
	at, err := k.d.Scratch(indexScratch).Bytes(4 * int64(len(index)))
	if err != nil {
		return Index{}, err
	}
	return Index{at: at, copied: index}, device.Write(k.d, at, index)
}

func (k *cudaKernels) Scratch(name Scratch, n int) (Span, error) {
	at, err := k.d.Scratch(name).Floats(n)
	return Span{at: at}, err
}

func (k *cudaKernels) Logits(dst []float32) (Span, error) {
	return k.Scratch(logitsScratch, len(dst))
}

func (k *cudaKernels) Read(dst []float32, x Span) error { return device.Read(k.d, dst, x.at) }

func (k *cudaKernels) Copy(dst []float32, x Span) error { return device.Read(k.d, dst, x.at) }

func (k *cudaKernels) Part(h Rows, lo, _ int) (Span, error) { return h.From(lo * h.Width), nil }

// needed returns the address of the needed rows' ids from lo on. If all nodes are
// needed, it returns no ids and the first row, lo.
func (k *cudaKernels) needed(lo int) (ids device.Pointer, base int) {
	if k.ids == 0 {
		return 0, lo
	}
	return device.Floats(k.ids, lo), 0
}

func (k *cudaKernels) Propagate(dst Span, h Rows, lo, n int) error {
	ids, base := k.needed(lo)
	return k.d.Propagate(dst.at, k.laplacian, ids, base, n, h.at, h.Index.at, h.Width)
}

func (k *cudaKernels) Propagated(h Rows, lo, n int) (Span, error) {
	mixed, err := k.Scratch(Mixed, n*h.Width)
	if err != nil {
		return mixed, err
	}
	return mixed, k.Propagate(mixed, h, lo, n)
}

func (k *cudaKernels) RowSums(dst Span, lo, n int) error {
	ids, base := k.needed(lo)
	return k.d.RowSums(dst.at, k.laplacian, ids, base, n)
}

func (k *cudaKernels) Own(x Rows, lo, n int) (Span, error) {
	ids, base := k.needed(lo)
	if x.Index.copied != nil {
		k.numbers = k.numbers[:0]
		for _, v := range k.rows[lo : lo+n] {
			k.numbers = append(k.numbers, x.Index.copied[v])
		}
		var err error
		if ids, err = k.d.Scratch(ownIDsScratch).Bytes(4 * int64(n)); err != nil {
			return Span{}, err
		}
		if err := device.Write(k.d, ids, k.numbers); err != nil {
			return Span{}, err
		}
	}
	if ids == 0 {
		return x.From(base * x.Width), nil
	}
	own, err := k.Scratch(ownScratch, n*x.Width)
	if err != nil {
		return own, err
	}
	return own, k.d.Gather(own.at, x.at, ids, n, x.Width)
}

func (k *cudaKernels) Affine(dst, x, w, b, scale Span, n, in, out int) error {
	var beta float32
	if !b.None() {
		if err := k.d.BiasRows(dst.at, b.at, scale.at, n, out); err != nil {
			return err
		}
		beta = 1
	}
	return k.d.Sgemm(false, false, n, out, in, x.at, in, w.at, out, beta, dst.at)
}

func (k *cudaKernels) Add(dst, x, w Span, n, in, out int) error {
	return k.d.Sgemm(false, false, n, out, in, x.at, in, w.at, out, 1, dst.at)
}

func (k *cudaKernels) Sum(dst, x Span, n int) error { return k.d.Add(dst.at, dst.at, x.at, n) }

func (k *cudaKernels) Max(dst, x Span, n int) error { return k.d.Max(dst.at, dst.at, x.at, n) }

func (k *cudaKernels) LayerNorm(dst, x, gain, shift Span, n, width int) error {
	return k.d.LayerNorm(dst.at, 0, 0, x.at, gain.at, shift.at, n, width)
}

func (k *cudaKernels) ScaleColumns(dst, x, scale, shift Span, n, width int) error {
	return k.d.ScaleColumns(dst.at, x.at, scale.at, shift.at, n, width)
}

func (k *cudaKernels) Activate(dst, x Span, act kernel.Activation, n, width int) error {
	return k.d.Activate(dst.at, 0, 0, x.at, 0, 0, 0, device.Activation{Act: int(act), Keep: 1}, n, width)
}
