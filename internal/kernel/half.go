package kernel

import (
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/half"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// Widen converts the half-precision numbers of src to single precision in dst, over
// the length of src. Cost: bound by the memory.
func Widen(dst []float32, src []uint16) {
	checkLen("Widen", "dst", len(dst), len(src))
	parallel.For(len(src), rangeWork, func(lo, hi int) { widen(dst[lo:hi], src[lo:hi]) })
}

func widenGo(dst []float32, src []uint16) {
	dst = dst[:len(src)]
	for k, h := range src {
		dst[k] = half.Float32(h)
	}
}

// widenRow is widen of one row: its last part of less than a vector is widened
// as a whole vector, which begins earlier.
func widenRow(dst []float32, src []uint16) {
	const vector = 16
	n := len(src)
	whole := n / vector * vector
	if whole == 0 || whole == n {
		widen(dst, src)
		return
	}
	widen(dst[:whole], src[:whole])
	widen(dst[n-vector:n], src[n-vector:])
}

// GatherHalf is Gather of rows in half precision: dst[i] = x[ids[i]].
func GatherHalf(dst []float32, x []uint16, ids []int32, width int) {
	checkLen("GatherHalf", "dst", len(dst), len(ids)*width)
	parallel.For(len(ids), grain(width), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			r := int(ids[i])
			widenRow(dst[i*width:(i+1)*width], x[r*width:(r+1)*width])
		}
	})
}

// PropagateRowsHalf is PropagateRows of an x in half precision that holds all
// nodes. The result has the bits of PropagateRows of the widened x.
// Scratch: some 64 KB for each core.
func PropagateRowsHalf(dst []float32, p *graph.Laplacian, rows []int32, x []uint16, width int) {
	n := len(rows)
	if rows == nil {
		n = p.Nodes()
	}
	checkLen("PropagateRowsHalf", "dst", len(dst), n*width)
	if n == 0 || width == 0 {
		return
	}
	parallel.For(n, grain(width*int(4+p.Adjacency.NNZ()/int64(p.Nodes()))/2), func(lo, hi int) {
		s := scratches.Get().(*halfScratch)
		defer scratches.Put(s)
		s.reserve(width)
		for i := lo; i < hi; i++ {
			r := int32(i)
			if rows != nil {
				r = rows[i]
			}
			s.row.Ptr, s.row.Idx, s.row.Val = s.row.Ptr[:0], s.row.Idx[:0], s.row.Val[:0]
			s.row.append(p, r)
			s.multiply(dst[i*width:(i+1)*width], x, width)
		}
	})
}

type halfScratch struct {
	row  explicit  // the row of P
	wide []float32 // some rows of x
	part graph.CSR // a row over those
	tell []int32   // 0, 1, 2, …

	touched uint16 // so that touch is not for nothing
}

var scratches = sync.Pool{New: func() any { return new(halfScratch) }}

// reserve makes room for at least two rows of the given width.
func (s *halfScratch) reserve(width int) {
	const elements = 1 << 14
	rows := max(2, elements/width)
	if len(s.wide) < rows*width {
		s.wide = make([]float32, rows*width)
	}
	for k := len(s.tell); k < rows; k++ {
		s.tell = append(s.tell, int32(k))
	}
	s.part.Rows, s.part.Cols = 1, rows
}

// multiply sets y to the row times x, as many entries at a time as there is room
// for. From the second time on, the first is the sum so far, with value 1.
func (s *halfScratch) multiply(y []float32, x []uint16, width int) {
	entries, values := s.row.Idx, s.row.Val
	for done := 0; done < len(entries); {
		s.part.Val = s.part.Val[:0]
		if done > 0 {
			copy(s.wide[:width], y)
			s.part.Val = append(s.part.Val, 1)
		}
		s.touched ^= touch(x, entries[done:min(done+s.part.Cols, len(entries))], width)
		for len(s.part.Val) < s.part.Cols && done < len(entries) {
			at, r := len(s.part.Val)*width, int(entries[done])*width
			widenRow(s.wide[at:at+width], x[r:r+width])
			s.part.Val = append(s.part.Val, values[done])
			done++
		}
		n := len(s.part.Val)
		s.part.Ptr, s.part.Idx = append(s.part.Ptr[:0], 0, int64(n)), s.tell[:n]
		spmmRows(y, &s.part, 0, 1, nil, n, s.wide, width)
	}
}

// touch reads one number of each cache line of some rows of x. Widening them one
// by one waits for the memory at each; this waits for many at a time.
func touch(x []uint16, rows []int32, width int) (mixed uint16) {
	const line = 32 // numbers
	for _, r := range rows {
		row := x[int(r)*width : (int(r)+1)*width]
		for at := 0; at < len(row); at += line {
			mixed ^= row[at]
		}
		mixed ^= row[len(row)-1]
	}
	return mixed
}
