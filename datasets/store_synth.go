package datasets

import (
	"context"
	"fmt"
	"slices"

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
	parts := d.graphParts()
	parts.features = func(w *storeWriter) error {
		at := 0
		return m.eachFeatures(ctx, c, 0, buffer, func(rows []float32) error {
			at += len(rows)
			return w.floats(rows, at-len(rows))
		})
	}
	return writeStore(ctx, path, d, p, half, parts)
}

// eachFeatures draws the features of the nodes from chunk first on, a group of chunks of
// about size features at a time. put must not keep the rows.
func (m *synthModel) eachFeatures(ctx context.Context, c *communities, first, size int, put func(rows []float32) error) error {
	chunkSize := synthChunk * m.features
	group := max(size/chunkSize, 1)
	buffer := make([]float32, group*chunkSize)
	draw := m.featureRows(c)
	chunks := m.chunks()
	for ; first < chunks; first += group {
		count := min(group, chunks-first)
		rows := min(count*synthChunk, m.nodes-first*synthChunk)
		part := buffer[:rows*m.features]
		err := parallel.Chunks(ctx, count, func(k int) error {
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
		if err := put(part); err != nil {
			return err
		}
	}
	return nil
}

// synthStream draws a data set in pieces. It holds the tables of the nodes, but no edges.
type synthStream struct {
	spec string
	m    *synthModel
	c    *communities // nil until it is drawn
}

// chunksPerStep is the number of chunks drawn between two checkpoints at least.
const chunksPerStep = 256

func (s *synthStream) identity() (string, error) { return fmt.Sprintf("%s\n%+v", s.spec, *s.m), nil }

func (s *synthStream) sizes() streamSizes {
	m := s.m
	return streamSizes{nodes: m.nodes, width: m.features, edges: m.edges, steps: int64(m.chunks()), memory: m.tableBytes()}
}

func (s *synthStream) communities() *communities {
	if s.c == nil {
		s.c = s.m.drawCommunities()
	}
	return s.c
}

func (s *synthStream) edges(ctx context.Context, first int64, put func([]graph.Edge) error, done func(int64) error) error {
	m := s.m
	r, err := m.newRowDrawer(ctx, s.communities())
	if err != nil {
		return err
	}
	for lo := int(first); lo < m.chunks(); lo += chunksPerStep {
		hi := min(lo+chunksPerStep, m.chunks())
		err := parallel.Chunks(ctx, hi-lo, func(k int) error {
			var edges []graph.Edge
			var row []int32
			at := 0 // the node of row
			flush := func() {
				for _, j := range row {
					edges = append(edges, graph.Edge{U: int32(at), V: j})
				}
			}
			r.draw(lo+k, func(i int) []int32 {
				flush()
				count := int(r.ptr[i+1] - r.ptr[i])
				row, at = slices.Grow(row[:0], count)[:count], i
				return row
			})
			flush()
			return put(edges)
		})
		if err == nil {
			err = done(int64(hi))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *synthStream) bare(ctx context.Context, _ graph.Report) (*Data, error) {
	d, err := s.m.bare(ctx, s.communities())
	if err == nil {
		d.Name = s.spec
	}
	return d, err
}

func (s *synthStream) features(ctx context.Context, first int, put func([]float32) error) error {
	chunk := (first + synthChunk - 1) / synthChunk // only the last chunk has fewer rows
	err := s.m.eachFeatures(ctx, s.communities(), chunk, synthBuffer, put)
	s.c = nil // P·X, the last part of a conversion, needs the memory
	return err
}
