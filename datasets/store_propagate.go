package datasets

import (
	"errors"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
)

// leastBlock is the least memory for a block of P·X.
const leastBlock = 16 << 20

// writePropagated computes P·X from the last saved row on. Graph and features are the source's
// if that is a store; else the growing store's, where features may be rounded. It computes as
// many rows at a time as fit in memory, and reads the features once for each such block: see
// kernel.InOrder. The state is saved after each block.
func (s *streamer) writePropagated(w *storeWriter, directed bool) error {
	row, _, err := s.goOn(w)
	if err != nil {
		return err
	}
	part := s.source.sizes().mapped
	if part == nil {
		if part, err = s.partOf(w, directed); err != nil {
			return err
		}
		defer part.Close() // it was only read
	}
	n, cols := part.Nodes(), w.cols
	block, err := s.blockBytes(part)
	if err != nil {
		return err
	}
	p, x := part.Laplacian(), part.Features
	rowBytes := func(i int) int64 { return kernel.InOrderBytes(p.Adjacency.Degree(i)) + 4*int64(cols) }
	var product kernel.InOrder
	var ids []int32
	var values []float32
	total := memory.Product(4, int64(n), int64(cols))
	for row < n {
		ids = ids[:0]
		var bytes int64
		for i := row; i < n && (i == row || bytes+rowBytes(i) <= block); i++ {
			bytes += rowBytes(i)
			ids = append(ids, int32(i))
		}
		if len(values) < len(ids)*cols { // a later block has about as many rows
			if values = nil; row+len(ids) < n {
				values = memory.Large(min(len(ids)+len(ids)/16, n) * cols)
			} else {
				values = memory.Large(len(ids) * cols)
			}
		}
		result := values[:len(ids)*cols]
		err := product.Propagate(w.ctx, result, p, ids, x, func(share float64) {
			rows := float64(row) + float64(len(ids))*share
			s.progress("propagate", int64(4*float64(cols)*rows), total)
		})
		if err == nil {
			err = w.floats(result, row*cols)
		}
		if err == nil {
			err = w.file.Sync()
		}
		if err != nil {
			return err
		}
		row += len(ids)
		if err := s.saveRows(w, row); err != nil {
			return err
		}
		s.progress("propagate", 4*int64(cols)*int64(row), total)
	}
	return nil
}

// blockBytes returns the memory for a block of P·X: the limit without the scales of P and
// some buffers.
func (s *streamer) blockBytes(d *Data) (int64, error) {
	if s.options.block > 0 {
		return s.options.block, nil
	}
	fixed := 4 * int64(d.Nodes())
	if d.Directed {
		fixed *= 2
	}
	fixed += leastStreamMemory() / 2
	budget := s.options.memoryBudget()
	// An eighth is left to the collector, and to blocks that are larger than the first.
	block := (budget - fixed) / 8 * 7
	if block < leastBlock {
		return 0, fmt.Errorf("P·X takes at least %s of memory, and may take %s: %w",
			memory.Text(uint64(fixed+leastBlock/7*8)), memory.Text(uint64(max(budget, 0))), memory.ErrTooLarge)
	}
	return block, nil
}

// partOf maps the graph and the features in an unfinished store.
func (s *streamer) partOf(w *storeWriter, directed bool) (*Data, error) {
	mapping, unmap, err := mapFile(w.file)
	if err == nil && !littleEndian() {
		err = errors.Join(errors.ErrUnsupported, unmap())
	}
	if err != nil {
		return nil, fmt.Errorf("P·X within a number of bytes needs a mapped file: %w", err)
	}
	file := &storeFile{path: w.file.Name(), bytes: mapping, mapped: true, large: true, sections: w.sections, unmap: unmap}
	n := s.source.sizes().nodes
	d := &Data{Name: s.name, Graph: &graph.CSR{Rows: n, Cols: n}, Directed: directed, unmap: unmap}
	for _, e := range w.sections {
		switch e.kind {
		case sectionPtr:
			d.Graph.Ptr, err = view[int64](file.content(e))
		case sectionIdx:
			d.Graph.Idx, err = view[int32](file.content(e))
		case sectionVal:
			d.Graph.Val, err = view[float32](file.content(e))
		case sectionFeatures:
			d.Features, err = file.features(e)
		}
		if err != nil {
			d.Close() // it was only read
			return nil, err
		}
	}
	file.prefetchEntries(d.Graph)
	return d, nil
}
