//go:build cuda

package train

import (
	"fmt"
	"math"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/ops"
)

// gpu is the engine of an NVIDIA device.
type gpu struct {
	d      *device.Device
	model  Model
	params G.Nodes
	n      int // parameters

	memory                *device.Buffer // all that follows
	values, grads, m, v   device.Pointer
	partial, loss, status device.Pointer // loss: lossesKept numbers
	kept                  int            // losses since the last settlement

	step, logits *ops.Placement

	floor [3]*device.Buffer // matrices for repeat
}

// newEngine compiles m's loss and gradients for its device.
func newEngine(m Model, params []parameter, grads G.Nodes) (engine, error) {
	e := &gpu{d: m.Device, model: m}
	for _, p := range params {
		e.params = append(e.params, p.node)
		e.n += len(p.values)
	}
	for k := range e.floor {
		e.floor[k] = e.d.NewBuffer()
	}
	if err := e.allocate(); err != nil {
		return nil, err
	}
	var err error
	e.step, err = ops.Place(e.d, ops.PlaceOptions{Output: m.Loss, Parameters: e.params, Gradients: grads, Values: e.values, Grads: e.grads, Status: e.status})
	if err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// allocate takes the memory of parameters and optimiser, all zero.
func (e *gpu) allocate() error {
	e.memory = e.d.NewBuffer()
	array := (4*int64(e.n) + 255) &^ 255
	total := 4*array + 8*device.Partials + 4*lossesKept + 16
	at, err := e.memory.Bytes(total)
	if err != nil {
		return err
	}
	for _, p := range []*device.Pointer{&e.values, &e.grads, &e.m, &e.v} {
		*p = at
		at += device.Pointer(array)
	}
	e.partial = at
	e.loss = e.partial + 8*device.Partials
	e.status = e.loss + 4*lossesKept
	return e.d.Clear(e.values, total)
}

func (e *gpu) set(values []float32) error { return device.Write(e.d, e.values, values) }
func (e *gpu) get(values []float32) error { return device.Read(e.d, values, e.values) }

func (e *gpu) setMoments(m, v []float32) error {
	if err := device.Write(e.d, e.m, m); err != nil {
		return err
	}
	return device.Write(e.d, e.v, v)
}

func (e *gpu) getMoments(m, v []float32) error {
	if err := device.Read(e.d, m, e.m); err != nil {
		return err
	}
	return device.Read(e.d, v, e.v)
}

func (e *gpu) getStates() error { return e.step.ReadHistories() }

func (e *gpu) run(keep bool) error {
	if !keep {
		return e.step.Run(0)
	}
	if e.kept == lossesKept {
		return fmt.Errorf("train: %d losses were not read", e.kept)
	}
	e.kept++
	return e.step.Run(device.Floats(e.loss, e.kept-1))
}

func (e *gpu) read(grads []float32) (float32, error) {
	loss, err := e.step.ReadOutput(nil)
	if err != nil {
		return 0, err
	}
	if len(loss) != 1 {
		return 0, fmt.Errorf("train: the loss has %d values, want 1", len(loss))
	}
	return loss[0], device.Read(e.d, grads, e.grads)
}

func (e *gpu) update(a Adam, step int) error {
	if err := e.d.Squares(e.partial, e.grads, e.n); err != nil {
		return err
	}
	t := float64(step)
	return e.d.AdamStep(device.AdamArrays{
		Params: e.values, Grads: e.grads, M: e.m, V: e.v, Partial: e.partial, Loss: device.Floats(e.loss, e.kept-1), Status: e.status,
	}, e.n, device.Adam{
		Step: step, Clip: a.Clip,
		Beta1: float32(a.Beta1), Beta2: float32(a.Beta2), Gain1: float32(1 - a.Beta1), Gain2: float32(1 - a.Beta2),
		Size:           float32(a.Rate / (1 - math.Pow(a.Beta1, t))),
		RootCorrection: float32(1 / math.Sqrt(1-math.Pow(a.Beta2, t))),
		Epsilon:        float32(a.Epsilon), Decay: float32(a.WeightDecay),
	})
}

func (e *gpu) settle() ([]float32, int, error) {
	if e.kept == 0 {
		return nil, 0, nil
	}
	// Losses and status lie side by side: one copy, one wait.
	both := make([]float32, lossesKept+4)
	if err := device.Read(e.d, both, e.loss); err != nil {
		return nil, 0, err
	}
	losses := both[:e.kept]
	e.kept = 0
	failed := int(int64(math.Float32bits(both[lossesKept])) | int64(math.Float32bits(both[lossesKept+1]))<<32)
	if failed == 0 {
		return losses, 0, nil
	}
	return losses, failed, e.d.Clear(e.status, 16)
}

func (e *gpu) forward(dst []float32) ([]float32, error) {
	if e.logits == nil {
		var err error
		e.logits, err = ops.Place(e.d, ops.PlaceOptions{Output: e.model.Logits, Parameters: e.params, Values: e.values, Status: e.status})
		if err != nil {
			return dst, err
		}
	}
	if err := e.logits.Run(0); err != nil {
		return dst, err
	}
	return e.logits.ReadOutput(dst)
}

func (e *gpu) products() []ops.DenseProduct { return e.step.Products() }

func (e *gpu) repeat(products []ops.DenseProduct) error {
	for _, p := range products {
		lda, ldb := p.K, p.N
		if p.TransA {
			lda = p.M
		}
		if p.TransB {
			ldb = p.K
		}
		var at [3]device.Pointer
		for k, size := range [3]int{p.M * p.K, p.K * p.N, p.M * p.N} {
			var err error
			if at[k], err = e.floor[k].Floats(size); err != nil {
				return err
			}
		}
		if err := e.d.Sgemm(p.TransA, p.TransB, p.M, p.N, p.K, at[0], lda, at[1], ldb, 0, at[2]); err != nil {
			return err
		}
	}
	return nil
}

func (e *gpu) sync() error { return e.d.Sync() }

func (e *gpu) close() error {
	var err error
	for _, p := range []*ops.Placement{e.step, e.logits} {
		if p != nil {
			err = also(err, p.Close())
		}
	}
	for _, b := range append(e.floor[:], e.memory) {
		err = also(err, b.Free())
	}
	return err
}

// deviceCounts returns what the model's device was asked to do so far.
func (m Model) deviceCounts() deviceCounts {
	if m.Device == nil {
		return deviceCounts{}
	}
	c := m.Device.Counts()
	return deviceCounts{
		launches: c.Launches, products: c.Products, copies: c.CopiesIn + c.CopiesOut + c.Copies,
		bytesIn: c.BytesIn, syncs: c.Syncs, peak: m.Device.Usage().Peak,
	}
}
