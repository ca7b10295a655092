package plan

import "github.com/gcn-layerwise/gcn/internal/kernel"

// cpu is the host's backend. It runs the ops one after the other on the caller's
// goroutine. Gorgonia's TapeMachine would use a second goroutine, locked to a
// thread: two thread switches a run, and a panic there ends the process.
type cpu struct {
	*Executor
	model  Model
	last   float32   // loss
	losses []float32 // since the last Settle
	failed int       // the first update that was not finite; 0: none
}

func (c *cpu) Run() error {
	err := c.Compute()
	if err == nil {
		c.last, err = c.loss()
	}
	return err
}

func (c *cpu) Loss() (float32, error) { return c.last, nil }

func (c *cpu) Update(a kernel.Adam, step int) error {
	c.losses = append(c.losses, c.last)
	switch m := &c.model; {
	case c.failed != 0:
	case !kernel.Finite([]float32{c.last}) || !kernel.Finite(m.Grads):
		c.failed = step
	default:
		Update(a, m.Values, m.Grads, m.M, m.V, m.Averages, step)
	}
	return nil
}

func (c *cpu) Depth() int { return 1 }

func (c *cpu) Settle() ([]float32, int, error) {
	losses, failed := c.losses, c.failed
	c.losses, c.failed = c.losses[:0], 0
	return losses, failed, nil
}

func (c *cpu) Push(bool) error { return nil }

func (c *cpu) Pull(bool) error { return nil }
