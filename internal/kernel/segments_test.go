package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// segmentsCase returns a matrix that segments pay for, and its X. Its rows are: ascending
// columns, some after one of their own; the first and the last may have none.
func segmentsCase(rows, columns, entries int, weighted bool) *graph.CSR {
	rng := rand.New(rand.NewPCG(1, uint64(columns)))
	a := &graph.CSR{Rows: rows, Cols: columns, Ptr: make([]int64, 1, rows+1)}
	for i := range rows {
		from := len(a.Idx)
		if n := entries/2 + rng.IntN(entries+1); i > 0 && i < rows-1 {
			for range n {
				a.Idx = append(a.Idx, rng.Int32N(int32(columns)))
			}
		}
		row := a.Idx[from:]
		if slices.Sort(row); i%3 == 1 && len(row) > 0 {
			row[0] = int32(columns - 1)
		}
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
	}
	if weighted {
		a.Val = random(len(a.Idx), 2)
	}
	return a
}

// Segments do not change a bit, whatever the order of the columns.
func TestSegments(t *testing.T) {
	levels(t, func(t *testing.T) {
		for _, width := range []int{96, 256, 300, 1031} {
			for _, weighted := range []bool{true, false} {
				columns := 3*segmentBytes/4/width + 10
				a := segmentsCase(4*segmentReuse*columns/200, columns, 200, weighted)
				rows := SegmentedRows(1<<30, a.NNZ()/int64(a.Rows), columns, width)
				if rows == 0 || !segmented(a.Rows, a.NNZ(), columns, width) || !ascends(a, 0, a.Rows) {
					t.Fatalf("width %d: no segments", width)
				}
				x := random(columns*width, 3)
				want := make([]float32, a.Rows*width)
				spmmEntries(want, a, a.Ptr[:a.Rows], a.Ptr[1:], false, nil, columns, x, width)
				got, intact := guarded(a.Rows * width)
				spmmRows(got, a, 0, a.Rows, nil, columns, x, width)
				if !slices.Equal(got, want) || !intact() {
					t.Fatalf("width %d, weighted %v: other bits than without segments", width, weighted)
				}
				if width != 96 {
					continue
				}
				rand.New(rand.NewPCG(7, 8)).Shuffle(len(a.Idx), func(i, j int) { a.Idx[i], a.Idx[j] = a.Idx[j], a.Idx[i] })
				spmmEntries(want, a, a.Ptr[:a.Rows], a.Ptr[1:], false, nil, columns, x, width)
				s, to := new(segment), a.Ptr[1:]
				s.begin(a, a.Ptr[:a.Rows], to)
				for more := true; more; more = s.next(a, to, 1+columns/5) {
					spmmEntries(got, a, s.from, s.to, s.add, nil, columns, x, width)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("weighted %v: other bits than without segments, columns in any order", weighted)
				}
			}
		}
	})
}

// A column outside of X panics, with assembly or without.
func TestSegmentsRefuseBrokenMatrices(t *testing.T) {
	const width = 512
	columns := 3*segmentBytes/4/width + 10
	a := segmentsCase(4*segmentReuse*columns/200, columns, 200, false)
	x, y := random(columns*width, 3), make([]float32, a.Rows*width)
	for _, column := range []int32{-1, int32(columns)} {
		at := a.Ptr[a.Rows/2] + 50
		old := a.Idx[at]
		a.Idx[at] = column
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("column %d: no panic", column)
				}
			}()
			spmmRows(y, a, 0, a.Rows, nil, columns, x, width) // on this goroutine, which recovers
		}()
		a.Idx[at] = old
	}
}

// Rows of P that are multiplied by segments have the bits of single rows.
func TestPropagateRowsBySegments(t *testing.T) {
	const n, width, steps = 13_000, 512, 60
	a := &graph.CSR{Rows: n, Cols: n, Ptr: make([]int64, 1, n+1)}
	for i := range n {
		from := len(a.Idx)
		for k := 1; k <= steps; k++ {
			a.Idx = append(a.Idx, int32((i+k*151)%n), int32((i+n-k*151)%n))
		}
		slices.Sort(a.Idx[from:])
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
	}
	p := graph.NewLaplacian(a)
	if SegmentedRows(1<<30, 2*steps, n, width) == 0 {
		t.Fatal("no segments")
	}
	x := random(n*width, 4)
	got := make([]float32, n*width)
	PropagateRows(got, p, nil, x, width, nil)
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	row := make([]float32, width)
	for i := 0; i < n; i += 97 {
		PropagateRows(row, p, all[i:i+1], x, width, nil)
		if !slices.Equal(row, got[i*width:(i+1)*width]) {
			t.Fatalf("row %d: other bits than alone", i)
		}
	}
}

func BenchmarkSegments(b *testing.B) {
	const width, columns = 256, 132_534
	a := segmentsCase(20_000, columns, 597, true)
	x, y := random(columns*width, 1), make([]float32, a.Rows*width)
	for _, way := range []struct {
		name string
		rows int
	}{{"rows", 1}, {"segments", SegmentedRows(1<<30, 597, columns, width)}} {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				parallel.For(a.Rows, way.rows, func(lo, hi int) { spmmRows(y, a, lo, hi, nil, columns, x, width) })
			}
			b.ReportMetric(2*width*float64(a.NNZ())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

// TestSegmentedRows checks that segments pay for the last rows too.
func TestSegmentedRows(t *testing.T) {
	others := parallel.Free() - 1
	parallel.Reserve(others)
	defer parallel.Reserve(-others)
	const entries, xRows, width = 597, 132534, 256 // of ogbn-proteins
	for _, rows := range []int{2000, 4096, 5000, 8000, xRows} {
		g := SegmentedRows(rows, entries, xRows, width)
		if g <= 0 {
			t.Fatalf("%d rows: segments do not pay", rows)
		}
		if last := (rows-1)%g + 1; !segmented(last, int64(last)*entries, xRows, width) {
			t.Errorf("%d rows by %d leave %d, for which segments do not pay", rows, g, last)
		}
	}
}
