package formats

import (
	"context"
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/graph"
)

// rowTable holds rows of numbers by node.
type rowTable struct {
	path   string
	source *nodeIDs
	width  int
	ids    []int32 // nil: rows are in node order
	values []float32
	names  []string // of the columns, from the header; nil without one
}

func (t *rowTable) rows() int { return len(t.values) / t.width }

// readRows reads rows of finite numbers, after an id if withID. If missing, a field may
// be NaN, or empty, which stands for NaN.
func (e *edgeList) readRows(ctx context.Context, l *layout, withID, missing bool) (*rowTable, error) {
	path, sep := l.path, l.sep
	t := &rowTable{path: path, source: &e.ids, width: l.fields}
	column := 1 // of the first number
	if withID {
		if t.width--; t.width == 0 {
			return nil, fmt.Errorf("datasets: %s: nothing after the id", path)
		}
		t.ids, column = []int32{}, 2
	}
	tally := newTally(path)
	var whole extent
	type part struct {
		extent extent
		ids    []int32
		values []float32
		nodes  []string // the names of ids, unless they are numbers
	}
	err := readLines(ctx, path, func(b lines) (part, error) {
		var p part
		l.skipHeader(&b)
		row := make([]float32, t.width)
		var nodes localNames
		for {
			line, found := b.nextData()
			if !found {
				p.nodes = nodes.names
				return p, nil
			}
			if len(line) == 0 {
				if p.extent.empty == 0 {
					p.extent.empty = b.number - 1
				}
				continue
			}
			p.extent.data = b.number - 1
			if withID {
				field, rest, _ := cutField(line, sep)
				id, err := e.parseID(&nodes, field)
				if err != nil {
					return p, b.fail("%w", err)
				}
				p.ids, line = append(p.ids, id), rest
			}
			count, err := parseFloats(&b, line, numbers{sep: sep, column: column, missing: missing}, row)
			if err != nil {
				return p, err
			}
			if count != t.width {
				return p, b.fail("%d numbers, want %d as in the first row", count, t.width)
			}
			p.values = append(p.values, row...)
		}
	}, func(p part) error {
		if line := whole.grow(p.extent); !withID && line > 0 {
			return fmt.Errorf("datasets: %s:%d: no numbers", path, line)
		}
		if err := tally.Add(appendGrowth * 4 * int64(len(p.ids)+len(p.values))); err != nil {
			return err
		}
		if e.ids.named() && withID {
			ids, err := e.ids.global(p.nodes)
			if err != nil {
				return fmt.Errorf("datasets: %s: %w", path, err)
			}
			for k, id := range p.ids {
				p.ids[k] = ids[id]
			}
		}
		t.ids, t.values = append(t.ids, p.ids...), append(t.values, p.values...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, id := range t.ids {
		e.record(id, path)
	}
	if !withID {
		e.record(int32(min(t.rows(), math.MaxInt32)-1), path)
		e.ordered = append(e.ordered, orderedFile{path, t.rows()})
	}
	if len(l.names) >= t.width {
		t.names = l.names[len(l.names)-t.width:]
	}
	e.lines += int64(t.rows())
	return t, nil
}

// extent holds the numbers of a file's first empty line and of its last line of data so
// far. It is 0 for none.
type extent struct{ empty, data int64 }

// grow adds the next block. It returns the empty line before a line of data, or 0. Empty
// lines may only end a file in node order: elsewhere they could stand for a node.
func (x *extent) grow(block extent) int64 {
	if x.empty == 0 {
		x.empty = block.empty
	}
	if x.data = max(x.data, block.data); x.empty > x.data {
		return 0
	}
	return x.empty
}

// labels makes binary tasks of the rows. Tasks of nodes without a row are unknown.
func (t *rowTable) labels(n int) (*graph.Labels, error) {
	if n > (SmallMatrix+CellsAnEntry*len(t.values))/t.width {
		return nil, fmt.Errorf("datasets: %s: %d rows of labels for %d nodes", t.path, t.rows(), n)
	}
	values, err := zeros(t.path+": labels", n, t.width)
	if err != nil {
		return nil, err
	}
	unknown := float32(math.NaN())
	for k := range values {
		values[k] = unknown
	}
	if err := t.place(values, n); err != nil {
		return nil, err
	}
	return taskLabels(t.path, values, t.width)
}

// matrix makes features of the rows. Every node must have one.
func (t *rowTable) matrix(n int) (*graph.Features, error) {
	if t.rows() != n {
		return nil, fmt.Errorf("datasets: %s: %d rows for %d nodes", t.path, t.rows(), n)
	}
	x := &graph.Features{Rows: n, Cols: t.width, Data: t.values}
	if t.ids != nil {
		var err error
		if x.Data, err = zeros(t.path+": features", n, t.width); err != nil {
			return nil, err
		}
		if err := t.place(x.Data, n); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// place copies each row to its node's row of the matrix to.
func (t *rowTable) place(to []float32, n int) error {
	seen := make([]bool, n)
	for k := range t.rows() {
		id := k
		if t.ids != nil {
			id = int(t.ids[k])
		}
		if seen[id] {
			return fmt.Errorf("datasets: %s: node %s is there twice", t.path, t.source.text(int32(id)))
		}
		seen[id] = true
		copy(to[id*t.width:(id+1)*t.width], t.values[k*t.width:])
	}
	return nil
}
