package formats

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/table"
)

// parseID reads a node id, a decimal number below 2³¹−1.
func parseID(field []byte) (int32, bool) {
	id, err := strconv.ParseUint(string(field), 10, 31) // the compiler allocates no string here
	return int32(id), err == nil && id < 1<<31-1
}

// plain opens a file of lines of numbers, which commas separate. All lines are rows; there may be
// none.
func (r *reader) plain(path string) *table.File {
	f := r.open(path, false)
	try(f.Scan("comma", "0"))
	f.Unread()
	return f
}

// eachRow calls visit with the values of each line of a file, in order, and counts the lines, at
// most most. parse reads a cell of a line of so many; want names one in an error.
func eachRow[T any](r *reader, path string, most int, want string, parse func(cell []byte, width int) (T, bool), visit func(line int, row []T)) (read int) {
	f := r.plain(path)
	try(table.EachRows(r.ctx, f, func(t *table.Rows) (part []T) {
		for t.NextRow() {
			if t.Line > int64(most) {
				t.Fault("more lines than the %d expected", most)
				break
			}
			for k, cell := range t.Cells {
				v, good := parse(cell, f.Width)
				if !good {
					t.Fault("column %d, %.40q, is not %s", k+1, cell, want)
				}
				part = append(part, v)
			}
		}
		return part
	}, func(part []T) error {
		for row := range slices.Chunk(part, f.Width) {
			visit(read, row)
			read++
		}
		return nil
	}))
	return read
}

// ids reads one number below n a line, a node's if what says so.
func (r *reader) ids(path, what string, n int) (ids []int32) {
	eachRow(r, path, n, fmt.Sprintf("%s in [0, %d)", what, n), func(cell []byte, width int) (int32, bool) {
		id, ok := parseID(cell)
		return id, ok && int(id) < n && width == 1
	}, func(_ int, row []int32) { ids = append(ids, row...) })
	return ids
}

// numberOrNaN reads a number, NaN for an empty cell.
func numberOrNaN(cell []byte) (float32, bool) {
	if len(cell) == 0 {
		return float32(math.NaN()), true
	}
	v, err := strconv.ParseFloat(string(cell), 32) // the compiler allocates no string here
	return float32(v), err == nil
}

// featureCell reads a feature.
func featureCell(cell []byte, _ int) (float32, bool) {
	v, ok := numberOrNaN(cell)
	return v, ok && v-v == 0
}

// matrixLines reads n lines of equally many numbers.
func (r *reader) matrixLines(path string, n int, want string, parse func(cell []byte, width int) (float32, bool)) *graph.Features {
	x := &graph.Features{Rows: n}
	read := eachRow(r, path, n, want, parse, func(line int, row []float32) {
		if line == 0 {
			x.Cols = len(row)
			x.Data = zeros(path, n, x.Cols)
		}
		copy(x.Row(line), row)
	})
	check(read == n, path, "%d lines for %d nodes", read, n)
	return x
}

// arcLines parses lines of two ids below n.
func arcLines(t *table.Rows, n int) []graph.Edge {
	arcs := make([]graph.Edge, 0, len(t.Data)/8)
	for {
		if arcs = plainArcs(t, n, arcs); !t.NextRow() {
			return arcs
		}
		u, isID := parseID(t.Cells[0])
		v, isOther := parseID(t.Cells[len(t.Cells)-1])
		switch {
		case len(t.Cells) != 2 || !isID || !isOther:
			t.Fault("%.40q is not two node ids, whole numbers from 0", t.Raw)
		case int(max(u, v)) >= n:
			t.Fault("edge (%d, %d) outside [0, %d)", u, v, n)
		default:
			arcs = append(arcs, graph.Edge{U: u, V: v})
		}
	}
}

// plainArcs appends the edges of the next lines that hold just two ids below n, of up to nine
// digits.
func plainArcs(t *table.Rows, n int, arcs []graph.Edge) []graph.Edge {
	sep, rest, list := t.File.Sep, t.Data, arcs // not in memory: the loop takes half of the time
	for {
		from, size := idBefore(rest, sep)
		to, more := idBefore(rest[size:], '\n')
		if size == 0 || more == 0 || int(from) >= n || int(to) >= n {
			break
		}
		rest, list = rest[size+more:], append(list, graph.Edge{U: from, V: to})
	}
	t.Block.Number += int64(len(list) - len(arcs))
	t.Data = rest
	return list
}

// idBefore reads a number of up to nine digits, without leading zeros, and the end after it. size
// is the length of both, or 0 for any other text.
func idBefore(text []byte, end byte) (id int32, size int) {
	for k, c := range text[:min(len(text), 10)] {
		if digit := c - '0'; digit <= 9 {
			id = 10*id + int32(digit)
			continue
		}
		if c != end || k == 0 || k > 1 && text[0] == '0' {
			break
		}
		return id, k + 1
	}
	return 0, 0
}
