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
	device *device.Device // nil: the CPU
	memory [3]*device.Buffer
}

func newFloor(d *device.Device) (*floor, error) {
	b, err := blas.Default()
	f := &floor{blas: b, device: d}
	for k := range f.memory {
		if d != nil {
			f.memory[k] = d.NewBuffer()
		}
	}
	return f, err
}

func (f *floor) time(products []plan.Product) (time.Duration, error) {
	for _, p := range products {
		for k, size := range sizes(p) {
			for f.device == nil && len(f.host[k]) < size {
				f.host[k] = append(f.host[k], 1/float32(len(f.host[k])%7+1))
			}
		}
	}
	start := time.Now()
	for _, p := range products {
		if f.device == nil {
			f.blas.Sgemm(p.TransA, p.TransB, p.M, p.N, p.K, 1, f.host[0], p.Lda(), f.host[1], p.Ldb(), 0, f.host[2], p.N)
			continue
		}
		var at [3]device.Pointer
		for k, size := range sizes(p) {
			var err error
			if at[k], err = f.memory[k].Floats(size); err != nil {
				return 0, err
			}
		}
		if err := f.device.Sgemm(p.TransA, p.TransB, p.M, p.N, p.K, at[0], p.Lda(), at[1], p.Ldb(), 0, at[2]); err != nil {
			return 0, err
		}
	}
	if f.device == nil {
		return time.Since(start), nil
	}
	err := f.device.Sync()
	return time.Since(start), err
}

// sizes returns the numbers of values of a product's matrices.
func sizes(p plan.Product) [3]int { return [3]int{p.M * p.K, p.K * p.N, p.M * p.N} }

func (f *floor) close() {
	for _, b := range f.memory {
		if b != nil {
			_ = b.Free() // the times are known
		}
	}
}
