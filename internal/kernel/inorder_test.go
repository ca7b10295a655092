package kernel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"weak"

	"github.com/gcn-layerwise/gcn/graph"
)

// inOrderCase returns a graph with hubs, isolated nodes and, if weighted, weights.
func inOrderCase(t *testing.T, random *rand.Rand, n int, weighted, directed bool) *graph.Laplacian {
	t.Helper()
	a := &graph.CSR{Rows: n, Cols: n, Ptr: make([]int64, 1, n+1)}
	edge := func(i, j int) bool { // the same for j, i
		if i < j {
			i, j = j, i
		}
		return i%7 != 3 && j%7 != 3 && (j == 0 || (i*31+j*17)%5 == 0)
	}
	for i := range n {
		for j := range n {
			if i != j && (edge(i, j) || directed && i == 5 && j%2 == 0) {
				a.Idx = append(a.Idx, int32(j))
				if weighted {
					a.Val = append(a.Val, float32(1+(i+j)%4)/2)
				}
			}
		}
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
	}
	if directed {
		return graph.NewDirectedLaplacian(a)
	}
	return graph.NewLaplacian(a)
}

// The rows have the bits of PropagateRows for tiles of any size, also where a row is so long
// that it is added in several steps.
func TestInOrder(t *testing.T) {
	levels(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(3, 4))
		for _, c := range []struct {
			n, width           int
			weighted, directed bool
		}{{1, 3, false, false}, {60, 1, true, false}, {97, 33, false, false}, {300, 128, false, false}, {80, 17, true, true}, {900, 20, false, false}} {
			p := inOrderCase(t, random, c.n, c.weighted, c.directed)
			var some []int32
			for i := range c.n {
				if random.IntN(3) > 0 {
					some = append(some, int32(i))
				}
			}
			random.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
			halves, wide := halves(random, c.n*c.width)
			for k := range wide {
				wide[k] += 1.0 / 3 // not representable as a half
			}
			for _, x := range []*graph.Features{{Rows: c.n, Cols: c.width, Half: halves}, {Rows: c.n, Cols: c.width, Data: wide}} {
				want := make([]float32, len(some)*c.width)
				if x.Half != nil {
					PropagateRowsHalf(want, p, some, x.Half, c.width)
				} else {
					PropagateRows(want, p, some, x.Data, c.width, nil)
				}
				for _, tile := range []int{0, 1, 7, c.n} {
					fetched := 0
					x.Prefetch = func(rows []int32) { fetched += len(rows) }
					got, intact := guarded(len(want))
					tiles, before := 0, 0.0
					entries := 0 // rows of P that were read ahead
					p.Adjacency.Prefetch = func(rows []int32) { entries += len(rows) }
					product := InOrder{Tile: tile}
					err := product.Propagate(t.Context(), got, p, some, x, func(share float64) {
						if share > 0.60001 {
							tiles++
						}
						if share <= before || share > 1 {
							t.Fatalf("%v of the work done after %v", share, before)
						}
						before = share
					})
					if err != nil {
						t.Fatal(err)
					}
					sameBits(t, fmt.Sprintf("%+v, tiles of %d rows", c, tile), got, want)
					if !intact() || tile > 0 && tiles != (c.n+tile-1)/tile {
						t.Errorf("%+v: %d tiles of %d rows, or wrote outside", c, tiles, tile)
					}
					if entries != len(some) || len(some) > 0 && before != 1 {
						t.Errorf("%+v: %d rows of P read ahead of %d, and %v of the work done", c, entries, len(some), before)
					}
					if len(some) > 0 && fetched < c.n+len(some) {
						t.Errorf("%+v: %d rows read ahead, want all of X and the self-loops", c, fetched)
					}
				}
			}
		}
	})
}

func TestInOrderStops(t *testing.T) {
	p := inOrderCase(t, nil, 50, false, false)
	x := &graph.Features{Rows: 50, Cols: 2, Data: make([]float32, 100)}
	ctx, cancel := context.WithCancel(t.Context())
	err := (&InOrder{Tile: 5}).Propagate(ctx, make([]float32, 4), p, []int32{1, 2}, x, func(share float64) {
		if share > 0.67 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	row := p.Adjacency.Row(1)
	slices.Reverse(row)
	if err := new(InOrder).Propagate(t.Context(), make([]float32, 2), p, []int32{1}, x, nil); !errors.Is(err, graph.ErrInvalid) {
		t.Errorf("columns that do not ascend: %v", err)
	}
}

// A larger block's copy of the columns is not held beside the last one's.
func TestInOrderFreesSmallerCopy(t *testing.T) {
	s := make([]int32, 1<<24+1)
	before := weak.Make(&s[0])
	resize(&s, len(s)+1)
	if before.Value() != nil {
		t.Error("the smaller memory is still held")
	}
	if len(s) != 1<<24+2 {
		t.Errorf("length %d", len(s))
	}
}
