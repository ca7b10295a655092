package bench

import (
	"errors"
	"time"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// productsOf returns the dense products of the nodes' last run.
func productsOf(nodes G.Nodes) []plan.Product {
	var products []plan.Product
	for _, n := range nodes {
		op, ok := n.Op().(interface{ Product() plan.Product })
		if ok && op.Product().K > 0 {
			products = append(products, op.Product())
		}
	}
	return products
}

// floor computes a step's dense products on matrices of its own. Their time is a lower
// bound for the step.
type floor interface {
	time(products []plan.Product) (time.Duration, error)
	name() string
	threads() int
	close() error
}

func newFloor(d *device.Device) (floor, error) {
	b, err := blas.Default()
	if d == nil {
		return &hostFloor{blas: b}, err
	}
	f := &deviceFloor{d: d, host: b}
	for k := range f.memory {
		f.memory[k] = d.NewBuffer()
	}
	return f, err
}

// hostFloor is the floor of the CPU.
type hostFloor struct {
	blas    blas.BLAS
	a, b, c []float32
}

func (f *hostFloor) time(products []plan.Product) (time.Duration, error) {
	for _, p := range products {
		f.a = filled(f.a, p.M*p.K)
		f.b = filled(f.b, p.K*p.N)
		f.c = filled(f.c, p.M*p.N)
	}
	start := time.Now()
	for _, p := range products {
		f.blas.Sgemm(p.TransA, p.TransB, p.M, p.N, p.K, 1, f.a, p.Lda(), f.b, p.Ldb(), 0, f.c, p.N)
	}
	return time.Since(start), nil
}

func (f *hostFloor) name() string { return f.blas.Name() }
func (f *hostFloor) threads() int { return f.blas.Threads() }
func (f *hostFloor) close() error { return nil }

// filled returns s with at least n values, all in (0, 1].
func filled(s []float32, n int) []float32 {
	for len(s) < n {
		s = append(s, 1/float32(len(s)%7+1))
	}
	return s
}

// deviceFloor is the floor of a GPU.
type deviceFloor struct {
	d      *device.Device
	host   blas.BLAS // for its number of threads
	memory [3]*device.Buffer
}

func (f *deviceFloor) time(products []plan.Product) (time.Duration, error) {
	start := time.Now()
	for _, p := range products {
		var at [3]device.Pointer
		for k, size := range [3]int{p.M * p.K, p.K * p.N, p.M * p.N} {
			var err error
			if at[k], err = f.memory[k].Floats(size); err != nil {
				return 0, err
			}
		}
		if err := f.d.Sgemm(p.TransA, p.TransB, p.M, p.N, p.K, at[0], p.Lda(), at[1], p.Ldb(), 0, at[2]); err != nil {
			return 0, err
		}
	}
	err := f.d.Sync()
	return time.Since(start), err
}

func (f *deviceFloor) name() string { return "cuBLAS" }
func (f *deviceFloor) threads() int { return f.host.Threads() }

func (f *deviceFloor) close() error {
	var errs []error
	for _, b := range f.memory {
		errs = append(errs, b.Free())
	}
	return errors.Join(errs...)
}
