package bench

import (
	"time"

	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// floor computes a step's dense products on matrices of its own. Their time is a lower
// bound for the step.
type floor struct {
	blas   blas.BLAS
	host   [3][]float32
	device *device.Device    // nil: the CPU
	memory [3]*device.Buffer // of device; empty on the CPU
}

func newFloor(d *device.Device) (*floor, error) {
	b, err := blas.Default()
	return &floor{blas: b, device: d, memory: [3]*device.Buffer{d.NewBuffer(), d.NewBuffer(), d.NewBuffer()}}, err
}

func (f *floor) time(products []plan.Product) (d time.Duration, err error) {
	var at [3]device.Pointer
	for _, p := range products {
		for k, size := range []int{p.M * p.K, p.K * p.N, p.M * p.N} {
			for f.device == nil && len(f.host[k]) < size {
				f.host[k] = append(f.host[k], 1/float32(len(f.host[k])%7+1))
			}
			if f.device != nil && err == nil {
				at[k], err = f.memory[k].Floats(size)
			}
		}
	}
	start := time.Now()
	for _, p := range products {
		if f.device == nil {
			f.blas.Sgemm(p.TransA, p.TransB, p.M, p.N, p.K, 1, f.host[0], p.Lda, f.host[1], p.Ldb, 0, f.host[2], p.N)
		} else if err == nil {
			err = f.device.Sgemm(p.TransA, p.TransB, p.M, p.N, p.K, at[0], p.Lda, at[1], p.Ldb, 0, at[2])
		}
	}
	if f.device != nil && err == nil {
		err = f.device.Sync()
	}
	return time.Since(start), err
}

func (f *floor) close() {
	for _, b := range f.memory {
		_ = b.Free() // the times are known
	}
}
