package graph

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRowGroups compares with a stable sort, for keys of any number of digits.
func TestRowGroups(t *testing.T) {
	type entry struct {
		row    uint16
		column int32
		value  float32
	}
	rapid.Check(t, func(t *rapid.T) {
		shift := rapid.IntRange(0, 16).Draw(t, "shift")
		columns := 1 << rapid.IntRange(0, 31).Draw(t, "bits")
		weighted := rapid.Bool().Draw(t, "weighted")
		few := rapid.Bool().Draw(t, "few places") // so that many are equal
		g := &rowGroups{shift: shift, sorters: make(chan *rowSorter, 1)}
		g.sorters <- new(rowSorter)
		var want []entry
		for k := range rapid.IntRange(0, 200).Draw(t, "entries") {
			e := entry{uint16(rapid.IntRange(0, 1<<shift-1).Draw(t, "row")), int32(rapid.IntRange(0, columns-1).Draw(t, "column")), float32(k)}
			if few {
				e.row, e.column = e.row%3, e.column%3
			}
			want = append(want, e)
			g.rows, g.columns = append(g.rows, e.row), append(g.columns, e.column)
			if weighted {
				g.values = append(g.values, e.value)
			}
		}
		start := int64(rapid.IntRange(0, len(want)).Draw(t, "start"))
		want = want[start:]
		slices.SortStableFunc(want, func(a, b entry) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.column, b.column)) })
		want = slices.CompactFunc(want, func(a, b entry) bool { return a.row == b.row && a.column == b.column })
		counts := make([]int64, 1<<shift)
		wantCounts := make([]int64, 1<<shift)
		if end := g.sort(start, int64(len(g.rows)), counts, columns); end != start+int64(len(want)) {
			t.Fatalf("%d entries kept, want %d", end-start, len(want))
		}
		for k, e := range want {
			wantCounts[e.row]++
			at := start + int64(k)
			if g.columns[at] != e.column || weighted && g.values[at] != e.value {
				t.Fatalf("entry %d is in column %d, want %+v", k, g.columns[at], e)
			}
		}
		if !slices.Equal(counts, wantCounts) {
			t.Fatal("other rows")
		}
	})
}
