package datasets

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// edgeBuckets sorts the edges of an undirected graph into rows outside of memory. A bucket
// holds the rows of a range of nodes: first as a file of edges, in any order, then as a
// file of sorted rows without repeats.
//
//	edges ─▶ put ─▶ K.edges, both directions ─▶ build ─▶ K.rows ─▶ counts, columns ─▶ store
//
// The files are in the byte order of this machine. They count only as far as the state
// says, which the caller saves.
type edgeBuckets struct {
	dir   string
	nodes int
	state *bucketState

	mutex   sync.Mutex // of the fields below, and of the state while edges are put
	files   []*os.File
	buffers [][]graph.Edge
}

// bucketState says which contents of the files are whole.
type bucketState struct {
	Shift int     `json:"shift"` // bucket k has the nodes k<<Shift … (k+1)<<Shift − 1
	Step  int64   `json:"step"`  // of the source: edges before it are in the buckets
	Edges []int64 `json:"edges"` // of each bucket
	Loops int64   `json:"loops"`
	Given int64   `json:"given"`
	Rows  []int64 `json:"rows"` // entries of each bucket's rows; −1: not built
}

const (
	leastBuckets = 16 // so that all cores have some to build
	mostBuckets  = 256
	bucketEdges  = 1 << 13 // in memory, of each bucket
	bytesPerEdge = 8       // in a file of edges
)

// newBucketState chooses ranges of nodes so that the rows of most buckets fit in the given
// number of bytes. Others are built in several parts.
func newBucketState(nodes int, edges, bytes int64) *bucketState {
	wanted := min(max(2*edges*4/max(bytes/2, 1), leastBuckets), mostBuckets)
	shift := 0
	for int64((nodes-1)>>shift) >= wanted {
		shift++
	}
	count := (nodes-1)>>shift + 1
	return &bucketState{Shift: shift, Edges: make([]int64, count), Rows: slices.Repeat([]int64{-1}, count)}
}

// check reports a state of other sizes than a graph of that many nodes has.
func (s *bucketState) check(nodes int) bool {
	return s != nil && s.Shift >= 0 && s.Shift < 32 && len(s.Edges) == (nodes-1)>>s.Shift+1 && len(s.Rows) == len(s.Edges)
}

// span returns the nodes of bucket k.
func (b *edgeBuckets) span(k int) (lo, hi int) {
	return k << b.state.Shift, min((k+1)<<b.state.Shift, b.nodes)
}

func (b *edgeBuckets) path(k int, kind string) string {
	return filepath.Join(b.dir, fmt.Sprintf("%d.%s", k, kind))
}

// open opens the files of edges, and cuts off everything that the state does not hold.
func (b *edgeBuckets) open() error {
	b.buffers = make([][]graph.Edge, len(b.state.Edges))
	for k, count := range b.state.Edges {
		f, err := os.OpenFile(b.path(k, "edges"), os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		b.files = append(b.files, f)
		b.buffers[k] = make([]graph.Edge, 0, bucketEdges)
		size, err := f.Seek(0, io.SeekEnd)
		if err == nil && size < count*bytesPerEdge {
			err = fmt.Errorf("%s: %d bytes, want %d: delete the folder to start again", f.Name(), size, count*bytesPerEdge)
		}
		if err == nil {
			err = f.Truncate(count * bytesPerEdge)
		}
		if err == nil {
			_, err = f.Seek(0, io.SeekEnd)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// put adds edges between nodes of the graph. It is safe for concurrent use.
func (b *edgeBuckets) put(edges []graph.Edge) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.state.Given += int64(len(edges))
	for _, e := range edges {
		if e.U == e.V {
			b.state.Loops++
			continue
		}
		err := b.add(e)
		if err == nil {
			err = b.add(graph.Edge{U: e.V, V: e.U})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds column e.V to row e.U.
func (b *edgeBuckets) add(e graph.Edge) error {
	k := int(e.U) >> b.state.Shift
	buffer := append(b.buffers[k], e)
	b.buffers[k] = buffer
	if len(buffer) < bucketEdges {
		return nil
	}
	return b.flush(k)
}

func (b *edgeBuckets) flush(k int) error {
	_, err := b.files[k].Write(byteView(b.buffers[k]))
	b.state.Edges[k] += int64(len(b.buffers[k]))
	b.buffers[k] = b.buffers[k][:0]
	return err
}

// sync makes everything that was put durable. The state is then true.
func (b *edgeBuckets) sync() error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for k, f := range b.files {
		if err := errors.Join(b.flush(k), f.Sync()); err != nil {
			return err
		}
	}
	return nil
}

func (b *edgeBuckets) close() error {
	var err error
	for _, f := range b.files {
		err = errors.Join(err, f.Close())
	}
	b.files, b.buffers = nil, nil
	return err
}

// build makes the rows of all buckets that have none yet, several at a time, in bytes of
// memory in all. built is called after each, one call at a time, to save the state; then
// the bucket's file of edges is removed.
func (b *edgeBuckets) build(ctx context.Context, workers int, bytes int64, built func() error) error {
	scratch := make(chan *rowScratch, workers)
	perWorker := max(bytes/int64(workers)-(16<<b.state.Shift), 1<<16)
	for range workers {
		scratch <- &rowScratch{most: perWorker / 4}
	}
	var left []int
	for k, entries := range b.state.Rows {
		if entries < 0 {
			left = append(left, k)
		} else if err := removeFile(b.path(k, "edges")); err != nil {
			return err
		}
	}
	return parallel.Chunks(ctx, len(left), func(at int) error {
		k, s := left[at], <-scratch
		defer func() { scratch <- s }()
		entries, err := b.buildOne(ctx, k, s)
		if err != nil {
			return err
		}
		b.mutex.Lock()
		defer b.mutex.Unlock()
		b.state.Rows[k] = entries
		if err := built(); err != nil {
			return err
		}
		return removeFile(b.path(k, "edges"))
	})
}

// removeFile removes a file that may be gone already.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// rowScratch is the memory of one worker.
type rowScratch struct {
	most    int64 // columns held at a time
	counts  []int64
	next    []int64
	columns []int32
	kept    []int32
}

// buildOne sorts the rows of one bucket. Where they do not fit in memory, it reads the file
// of edges again for each part of the rows.
func (b *edgeBuckets) buildOne(ctx context.Context, k int, s *rowScratch) (entries int64, err error) {
	lo, hi := b.span(k)
	rows := hi - lo
	s.counts = slices.Grow(s.counts[:0], rows)[:rows]
	s.next = slices.Grow(s.next[:0], rows)[:rows]
	s.kept = slices.Grow(s.kept[:0], rows)[:rows]
	clear(s.counts)
	err = b.eachEdge(ctx, k, func(edges []graph.Edge) error {
		for _, e := range edges {
			row := int(e.U) - lo
			if uint(row) >= uint(rows) {
				return fmt.Errorf("%s: row %d outside [%d, %d): damaged; delete the folder to start again", b.path(k, "edges"), e.U, lo, hi)
			}
			s.counts[row]++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	part := b.path(k, "rows.part")
	f, err := os.Create(part)
	if err != nil {
		return 0, err
	}
	defer f.Close() // closed below unless there is an error
	if _, err := f.Seek(int64(rows)*4, io.SeekStart); err != nil {
		return 0, err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	for first := 0; first < rows; {
		last, sum := first, int64(0)
		for last < rows && (last == first || sum+s.counts[last] <= s.most) {
			s.next[last] = sum
			sum += s.counts[last]
			last++
		}
		if err := memory.Check(fmt.Sprintf("datasets: the row of node %d", lo+first), memory.Product(sum, 4)); err != nil {
			return 0, err
		}
		s.columns = slices.Grow(s.columns[:0], int(sum))[:sum]
		err := b.eachEdge(ctx, k, func(edges []graph.Edge) error {
			for _, e := range edges {
				if row := int(e.U) - lo; row >= first && row < last {
					s.columns[s.next[row]] = e.V
					s.next[row]++
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		for i := first; i < last; i++ {
			row := s.columns[s.next[i]-s.counts[i] : s.next[i]]
			slices.Sort(row)
			row = slices.Compact(row)
			s.kept[i] = int32(len(row))
			entries += int64(len(row))
			if _, err := out.Write(byteView(row)); err != nil {
				return 0, err
			}
		}
		first = last
	}
	if err := out.Flush(); err != nil {
		return 0, err
	}
	if _, err := f.WriteAt(byteView(s.kept), 0); err != nil {
		return 0, err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	return entries, os.Rename(part, b.path(k, "rows"))
}

// eachEdge reads the edges of a bucket, a piece at a time.
func (b *edgeBuckets) eachEdge(ctx context.Context, k int, f func([]graph.Edge) error) error {
	return b.eachPiece(ctx, b.path(k, "edges"), 0, b.state.Edges[k]*bytesPerEdge, func(piece []byte) error {
		edges, err := view[graph.Edge](piece)
		if err != nil {
			return err
		}
		return f(edges)
	})
}

// eachPiece reads bytes from an offset of a file, in pieces of whole edges.
func (b *edgeBuckets) eachPiece(ctx context.Context, path string, offset, bytes int64, f func([]byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	words := make([]int64, min(bytes/8+1, 1<<17))
	for buffer := byteView(words); bytes > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		piece := buffer[:min(int64(len(buffer)), bytes)]
		if _, err := file.ReadAt(piece, offset); err != nil {
			if err == io.EOF {
				err = fmt.Errorf("%s: ends before byte %d: damaged; delete the folder to start again", path, offset+bytes)
			}
			return err
		}
		offset, bytes = offset+int64(len(piece)), bytes-int64(len(piece))
		if err := f(piece); err != nil {
			return err
		}
	}
	return nil
}

// entries returns the number of entries of all rows.
func (b *edgeBuckets) entries() int64 {
	var sum int64
	for _, entries := range b.state.Rows {
		sum += entries
	}
	return sum
}

// writePtr writes the row offsets.
func (b *edgeBuckets) writePtr(w *storeWriter) error {
	sum, offsets := int64(0), []int64{0}
	for k, entries := range b.state.Rows {
		lo, hi := b.span(k)
		last := sum + entries
		err := b.eachPiece(w.ctx, b.path(k, "rows"), 0, int64(hi-lo)*4, func(piece []byte) error {
			counts, err := view[int32](piece)
			if err != nil {
				return err
			}
			for _, count := range counts {
				sum += int64(count)
				offsets = append(offsets, sum)
			}
			err = writeNumbers(w, offsets)
			offsets = offsets[:0]
			return err
		})
		if err != nil {
			return err
		}
		if sum != last {
			return fmt.Errorf("%s: rows of %d entries, want %d: damaged; delete the folder to start again", b.path(k, "rows"), sum-last+entries, entries)
		}
	}
	return nil
}

// writeIdx writes the columns of all rows.
func (b *edgeBuckets) writeIdx(w *storeWriter) error {
	for k, entries := range b.state.Rows {
		lo, hi := b.span(k)
		err := b.eachPiece(w.ctx, b.path(k, "rows"), int64(hi-lo)*4, entries*4, func(piece []byte) error {
			columns, err := view[int32](piece)
			if err != nil {
				return err
			}
			return writeNumbers(w, columns)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeRows removes the files of rows.
func (b *edgeBuckets) removeRows() error {
	var err error
	for k := range b.state.Rows {
		err = errors.Join(err, removeFile(b.path(k, "rows")))
	}
	return err
}

// report counts the edges as graph.Builder does.
func (b *edgeBuckets) report() graph.Report {
	r := graph.Report{Given: b.state.Given, SelfLoops: b.state.Loops, Edges: b.entries() / 2}
	r.Duplicates = r.Given - r.SelfLoops - r.Edges
	return r
}

// bucketBytes returns the disk space that the files of a graph of so many edges take at most.
func bucketBytes(nodes int, edges int64) int64 {
	largest := 2 * edges * 4 / mostBuckets // rows are written beside the edges of their bucket
	return memory.Product(2*bytesPerEdge, edges) + 4*largest + 4*int64(nodes)
}
