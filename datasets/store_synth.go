package datasets

import (
	"context"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// synthBuffer is the number of features in memory at a time: 64 MB.
const synthBuffer = 1 << 24

// synthToStore generates a data set straight into a store. It draws the features on
// all cores, about buffer of them at a time. The store equals, byte for byte, a store
// of the data set generated in memory.
func synthToStore(ctx context.Context, spec *Spec, path string, buffer int, p Precision) error {
	m, err := synthFromSpec(spec)
	if err != nil {
		return err
	}
	if err := m.checkMemory(max(int64(buffer/m.features), synthChunk)); err != nil {
		return err
	}
	d, c, err := m.generateBare(ctx)
	if err != nil {
		return err
	}
	d.Name = spec.String()
	d.Features = &graph.Features{Rows: m.nodes, Cols: m.features}
	if err := d.validateStructure(ctx); err != nil {
		return err
	}
	if err := d.validateSplit(); err != nil {
		return err
	}
	half := p == Float16
	return writeStore(ctx, path, d, p, half, func(w *storeWriter) error { return m.streamFeatures(w, c, buffer) }, nil)
}

// streamFeatures writes the features of all nodes, a group of chunks at a time.
func (m *synthModel) streamFeatures(w *storeWriter, c *communities, size int) error {
	chunkSize := synthChunk * m.features
	group := max(size/chunkSize, 1)
	buffer := make([]float32, group*chunkSize)
	draw := m.featureRows(c)
	chunks := (m.nodes + synthChunk - 1) / synthChunk
	for first := 0; first < chunks; first += group {
		count := min(group, chunks-first)
		rows := min(count*synthChunk, m.nodes-first*synthChunk)
		part := buffer[:rows*m.features]
		err := parallel.Chunks(w.ctx, count, func(k int) error {
			chunk := first + k
			own, lo := part[k*chunkSize:min((k+1)*chunkSize, len(part))], (first+k)*synthChunk
			for i := 0; i*m.features < len(own); i++ { // drawn for each node again: no memory for them all
				m.drawOffset(own[i*m.features:(i+1)*m.features], int(c.of[lo+i]))
			}
			draw(own, lo, m.random(streamFeatures, chunk))
			return nil
		})
		if err != nil {
			return err
		}
		if err := w.floats(part, first*chunkSize); err != nil {
			return err
		}
	}
	return nil
}
