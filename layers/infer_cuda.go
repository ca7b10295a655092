//go:build cuda

package layers

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/ops"
)

// InferOn is Infer on a device, from the parameters' present values on the host.
// Features and Laplacian are copied there at the first call and stay until d is
// closed; so does the memory of a layer's output. Results agree with Infer's up to
// rounding, and are the same bits at each call.
//
// On the device it takes, beside features and graph, the outputs of one or two
// convolutions at the rows that are needed, and some hundred megabytes for a
// chunk.
func (m *GCN) InferOn(ctx context.Context, d *ops.Device, p *graph.Laplacian, x *graph.Features, nodes []int32) ([]float32, error) {
	return m.inferOn(ctx, d, p, x, nodes, deviceChunk)
}

// inferOn is InferOn with chunks of as many rows of a width as chunk says.
func (m *GCN) inferOn(ctx context.Context, d *ops.Device, p *graph.Laplacian, x *graph.Features, nodes []int32, chunk func(width int) int) ([]float32, error) {
	plan, err := m.plan(p, x, nodes)
	if err != nil {
		return nil, err
	}
	r := &deviceInference{inference: &inference{ctx: ctx, p: p, x: x, classifier: plan.classifier}, d: d, chunkRows: chunk}
	if r.laplacian, err = d.Laplacian(p); err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	if r.features, err = d.Features(x); err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	if err := r.load(plan); err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	rows := neededRows(p, nodes, len(plan.layers))
	top := len(plan.layers) - 1
	h := deviceInput{at: r.features, width: x.Cols, rows: p.Nodes()}
	for l, layer := range plan.layers[:top] {
		out, err := d.Scratch(hiddenScratch + inferenceScratch(l%2)).Floats(len(rows[l]) * layer.out)
		if err == nil {
			err = r.layer(r.weights[l], layer, h, rows[l], len(rows[l]) == p.Nodes(), out, nil)
		}
		if err != nil {
			return nil, fmt.Errorf("layers: inference, convolution %d: %w", l, err)
		}
		h = deviceInput{at: out, width: layer.out, rows: len(rows[l])}
		if len(rows[l]) < p.Nodes() {
			if h.local, err = r.index(rows[l]); err != nil {
				return nil, fmt.Errorf("layers: inference: %w", err)
			}
		}
	}
	logits := make([]float32, len(rows[top])*plan.classifier.out)
	if err := r.layer(r.weights[top], plan.layers[top], h, rows[top], nodes == nil, 0, logits); err != nil {
		return nil, fmt.Errorf("layers: inference, convolution %d: %w", top, err)
	}
	return logits, nil
}

// inferenceScratch names memory that inference keeps on a device.
type inferenceScratch int

const (
	hiddenScratch inferenceScratch = iota // outputs of layers, alternating with the next
	_
	transformedScratch // H·W of a layer's whole input
	mixedScratch       // of one chunk: P·H
	ownScratch         // of one chunk: the nodes' own features
	zScratch           // of one chunk of the last layer
	logitsScratch      // of one chunk
	sumsScratch
	rowsScratch
	localScratch
	weightsScratch
)

// deviceWeights are a layer's parameters on the device; 0 where there are none.
type deviceWeights struct{ w, b, gain, shift, skip device.Pointer }

// deviceInput is H: one row a node, or the rows of some nodes and their places.
type deviceInput struct {
	at    device.Pointer
	width int
	rows  int
	local device.Pointer
}

// deviceInference is one call of InferOn.
type deviceInference struct {
	*inference
	d         *ops.Device
	laplacian *device.Laplacian
	features  device.Pointer
	weights   []deviceWeights // of the layers, then of the classifier
	chunkRows func(width int) int
}

// load copies the parameters to the device.
func (r *deviceInference) load(plan *inferencePlan) error {
	var all []float32
	place := func(values []float32) int {
		if values == nil {
			return -1
		}
		at := len(all)
		all = append(all, values...)
		for len(all)%4 != 0 { // 16 bytes, as products like it
			all = append(all, 0)
		}
		return at
	}
	var places [][5]int
	for _, l := range append(plan.layers[:len(plan.layers):len(plan.layers)], plan.classifier) {
		places = append(places, [5]int{place(l.w), place(l.b), place(l.gain), place(l.shift), place(l.skip)})
	}
	at, err := r.d.Scratch(weightsScratch).Floats(len(all))
	if err != nil {
		return err
	}
	pointer := func(k int) device.Pointer {
		if k < 0 {
			return 0
		}
		return device.Floats(at, k)
	}
	for _, p := range places {
		r.weights = append(r.weights, deviceWeights{pointer(p[0]), pointer(p[1]), pointer(p[2]), pointer(p[3]), pointer(p[4])})
	}
	return device.Write(r.d, at, all)
}

// index copies the map from node to its place in rows to the device.
func (r *deviceInference) index(rows []int32) (device.Pointer, error) {
	local := new(inferenceMemory).index(rows, r.p.Nodes())
	at, err := r.d.Scratch(localScratch).Bytes(4 * int64(len(local)))
	if err != nil {
		return 0, err
	}
	return at, device.Write(r.d, at, local)
}

// deviceChunk is how many rows of the given width are worked on at a time: 64 MiB.
func deviceChunk(width int) int { return max(1024, min(1<<17, (1<<24)/max(width, 1))) }

// layer writes the output of one layer to out, or, where logits is not nil, the
// logits over it to the host. all says that rows are all nodes in order.
func (r *deviceInference) layer(w deviceWeights, layer inferenceLayer, h deviceInput, rows []int32, all bool, out device.Pointer, logits []float32) error {
	transformed := r.transformFirst(layer, layerInput{rows: h.rows}, rows)
	if transformed {
		var err error
		if h, err = r.transform(w, layer, h); err != nil {
			return err
		}
	}
	var ids device.Pointer
	if !all {
		var err error
		if ids, err = r.d.Scratch(rowsScratch).Bytes(4 * int64(max(len(rows), 1))); err != nil {
			return err
		}
		if err := device.Write(r.d, ids, rows); err != nil {
			return err
		}
	}
	chunk := r.chunkRows(max(layer.in, layer.out, r.x.Cols))
	for lo := 0; lo < len(rows); lo += chunk {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		n := min(chunk, len(rows)-lo)
		c := deviceRows{ids: ids, base: lo, n: n}
		if !all {
			c.ids, c.base = device.Floats(ids, lo), 0
		}
		z := device.Floats(out, lo*layer.out)
		if logits != nil {
			var err error
			if z, err = r.d.Scratch(zScratch).Floats(n * layer.out); err != nil {
				return err
			}
		}
		if err := r.chunk(w, layer, h, c, z, transformed); err != nil {
			return err
		}
		if logits != nil {
			if err := r.classify(z, n, logits[lo*r.classifier.out:(lo+n)*r.classifier.out]); err != nil {
				return err
			}
		}
	}
	return nil
}

// deviceRows are n rows of P: those in ids, or base, base+1, … where ids is 0.
type deviceRows struct {
	ids     device.Pointer
	base, n int
}

// chunk writes the layer's output at some rows to z.
func (r *deviceInference) chunk(w deviceWeights, layer inferenceLayer, h deviceInput, c deviceRows, z device.Pointer, transformed bool) error {
	d := r.d
	if transformed {
		if err := d.Propagate(z, r.laplacian, c.ids, c.base, c.n, h.at, h.local, h.width); err != nil {
			return err
		}
	} else {
		mixed, err := d.Scratch(mixedScratch).Floats(c.n * h.width)
		if err != nil {
			return err
		}
		sums, err := d.Scratch(sumsScratch).Floats(c.n)
		if err != nil {
			return err
		}
		if err := d.Propagate(mixed, r.laplacian, c.ids, c.base, c.n, h.at, h.local, h.width); err != nil {
			return err
		}
		if err := d.RowSums(sums, r.laplacian, c.ids, c.base, c.n); err != nil {
			return err
		}
		if err := r.product(z, mixed, w, layer, c.n, sums); err != nil {
			return err
		}
	}
	if w.skip != 0 {
		if err := r.skip(w, layer, c, z); err != nil {
			return err
		}
	}
	if w.gain != 0 {
		if err := d.LayerNorm(z, 0, 0, z, w.gain, w.shift, c.n, layer.out); err != nil {
			return err
		}
	}
	return d.Activate(z, 0, 0, z, 0, 0, device.Activation{Act: int(layer.activation), Keep: 1}, c.n, layer.out)
}

// skip adds the nodes' own features, mapped, to z.
func (r *deviceInference) skip(w deviceWeights, layer inferenceLayer, c deviceRows, z device.Pointer) error {
	own := device.Floats(r.features, c.base*r.x.Cols)
	if c.ids != 0 {
		var err error
		if own, err = r.d.Scratch(ownScratch).Floats(c.n * r.x.Cols); err != nil {
			return err
		}
		if err := r.d.Gather(own, r.features, c.ids, c.n, r.x.Cols); err != nil {
			return err
		}
	}
	return r.d.Sgemm(false, false, c.n, layer.out, r.x.Cols, own, r.x.Cols, w.skip, layer.out, 1, z)
}

// transform returns H·W + 1⊗b of all rows of H.
func (r *deviceInference) transform(w deviceWeights, layer inferenceLayer, h deviceInput) (deviceInput, error) {
	at, err := r.d.Scratch(transformedScratch).Floats(h.rows * layer.out)
	if err != nil {
		return h, err
	}
	t := deviceInput{at: at, width: layer.out, rows: h.rows, local: h.local}
	return t, r.product(at, h.at, w, layer, h.rows, 0)
}

// product sets dst to X·W + scale⊗b for n rows; scale 0 means 1.
func (r *deviceInference) product(dst, x device.Pointer, w deviceWeights, layer inferenceLayer, n int, scale device.Pointer) error {
	var beta float32
	if w.b != 0 {
		if err := r.d.BiasRows(dst, w.b, scale, n, layer.out); err != nil {
			return err
		}
		beta = 1
	}
	return r.d.Sgemm(false, false, n, layer.out, layer.in, x, layer.in, w.w, layer.out, beta, dst)
}

// classify reads the logits over n rows of the last layer, waiting for them.
func (r *deviceInference) classify(z device.Pointer, n int, logits []float32) error {
	at, err := r.d.Scratch(logitsScratch).Floats(len(logits))
	if err != nil {
		return err
	}
	if err := r.product(at, z, r.weights[len(r.weights)-1], r.classifier, n, 0); err != nil {
		return err
	}
	return device.Read(r.d, logits, at)
}
