package plan

import (
	"errors"
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// lossesKept is the largest number of updates between two calls of Settle.
const lossesKept = 64

// cuda is a GPU's backend.
type cuda struct {
	*Executor // nil until its memory is there
	model     Model
	d         *device.Device
	n         int // parameters

	memory                  *device.Buffer // holds all arrays below
	values, grads, m, v     device.Pointer
	partial, losses, status device.Pointer // losses: lossesKept numbers
	kept                    int            // losses since the last Settle
}

func newCUDA(d *device.Device, m Model, p *Plan) (Backend, error) {
	c := &cuda{model: m, d: d, n: len(m.Values)}
	err := c.allocate()
	if err == nil {
		c.Executor, err = NewExecutor(p, ExecutorOptions{
			Device: d, Parameters: Floats{At: c.values}, Gradients: Floats{At: c.grads}, Status: c.status, Check: m.Check,
		})
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// allocate allocates the parameters' and the optimiser's arrays, all zero.
func (c *cuda) allocate() error {
	c.memory = c.d.NewBuffer()
	array := (4*int64(c.n) + 255) &^ 255
	total := 4*array + 8*device.Partials + 4*lossesKept + 16
	at, err := c.memory.Bytes(total)
	if err != nil {
		return err
	}
	for _, p := range []*device.Pointer{&c.values, &c.grads, &c.m, &c.v} {
		*p = at
		at += device.Pointer(array)
	}
	c.partial = at
	c.losses = c.partial + 8*device.Partials
	c.status = c.losses + 4*lossesKept
	return c.d.Clear(c.values, total)
}

func (c *cuda) Run() error {
	if c.kept == lossesKept {
		return fmt.Errorf("%d updates without Settle", c.kept)
	}
	at := device.Floats(c.losses, c.kept)
	c.Put(0, Floats{At: at})
	if err := c.Compute(); err != nil {
		return err
	}
	a := c.Result(0)
	from, err := a.floats()
	if err == nil && a.Elements() != 1 {
		err = fmt.Errorf("the output has shape %v, want a scalar: %w", a.sizes, ErrShape)
	}
	if err != nil {
		return err
	}
	return c.d.Copy(at, from.At, 1)
}

func (c *cuda) Loss() (float32, error) {
	loss, err := c.loss()
	if err != nil {
		return 0, err
	}
	return loss, device.Read(c.d, c.model.Grads, c.grads)
}

func (c *cuda) Update(a kernel.Adam, step int) error {
	loss := device.Floats(c.losses, c.kept)
	c.kept++
	n := c.n - c.model.Averages
	if err := c.d.Squares(c.partial, c.grads, n); err != nil {
		return err
	}
	err := c.d.AdamStep(device.AdamArrays{
		Params: c.values, Grads: c.grads, M: c.m, V: c.v, Partial: c.partial, Loss: loss, Status: c.status,
	}, n, step, a)
	if err != nil || n == c.n {
		return err
	}
	return c.average(n)
}

// average updates the averages, from value n on, unless a step has failed. It waits.
func (c *cuda) average(n int) error {
	status := make([]int64, 1)
	averages := make([]float32, c.n-n)
	values := make([]float32, c.n-n)
	err := errors.Join(device.Read(c.d, status, c.status),
		device.Read(c.d, averages, device.Floats(c.values, n)), device.Read(c.d, values, device.Floats(c.grads, n)))
	if err != nil || status[0] != 0 {
		return err
	}
	average(averages, values)
	return device.Write(c.d, device.Floats(c.values, n), averages)
}

func (c *cuda) Depth() int { return lossesKept }

func (c *cuda) Settle() ([]float32, int, error) {
	// The status follows the losses: one copy reads both.
	both := make([]float32, lossesKept+4)
	if err := device.Read(c.d, both, c.losses); err != nil {
		return nil, 0, err
	}
	losses := both[:c.kept]
	c.kept = 0
	failed := int(int64(math.Float32bits(both[lossesKept])) | int64(math.Float32bits(both[lossesKept+1]))<<32)
	if failed == 0 {
		return losses, 0, nil
	}
	return losses, failed, c.d.Clear(c.status, 16)
}

func (c *cuda) Push(moments bool) error {
	err := device.Write(c.d, c.values, c.model.Values)
	if err != nil || !moments {
		return err
	}
	return errors.Join(device.Write(c.d, c.m, c.model.M), device.Write(c.d, c.v, c.model.V))
}

func (c *cuda) Pull(moments bool) error {
	err := device.Read(c.d, c.model.Values, c.values)
	if err != nil || !moments {
		return err
	}
	err = errors.Join(device.Read(c.d, c.model.M, c.m), device.Read(c.d, c.model.V, c.v))
	for _, rows := range c.resident {
		err = errors.Join(err, rows.Pull())
	}
	return err
}

func (c *cuda) Close() error {
	var err error
	if c.Executor != nil {
		err = c.Executor.Close()
	}
	return errors.Join(err, c.memory.Free())
}
