package formats

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gcn-layerwise/gcn/graph"
)

func (e *edgeList) readFeatures(ctx context.Context, path string) error {
	if isNPY(path) {
		return e.addOrdered(path, "features")
	}
	if isNPZ(path) {
		return e.addSparse(ctx, path, "features")
	}
	if isJSON(path) {
		return e.readFeatureLists(ctx, path)
	}
	named := e.ids.named()
	l, err := findLayout(path, e.Separator, e.FeaturesHeader, e.FeaturesColumns, named, func(first, _ []string) bool {
		return isIDWord(first[0]) || !named && namesID(first[0]) || !slices.ContainsFunc(first, isNumber) || named && len(first) > 1 && !slices.ContainsFunc(first[1:], isNumber)
	})
	if err != nil {
		return err
	}
	withID, nodes := l.header > 0 && namesID(l.names[0]) || named && !isNumber(l.sample[0]), e.nodesSoFar()
	if named && !withID && e.Nodes == "" {
		return fmt.Errorf("datasets: %s: features without node ids, and the ids are names: begin each row with the id, or say nodes=FILE with the names in the order of the rows", path)
	}
	if e.rows, err = e.readRows(ctx, l, withID, false); err != nil {
		return err
	}
	if e.FeaturesHeader == "" && l.startsWithNumbers() && e.rows.rows() != nodes {
		return fmt.Errorf("datasets: %s: the first line, %s, is a row, or a header without names: say features-header=0 or features-header=1 (%d rows, %d nodes in the edge list)", path, quoteField([]byte(l.first)), e.rows.rows(), nodes)
	}
	columns := fmt.Sprintf("%d numbers a line, in node order", e.rows.width)
	if withID {
		columns = fmt.Sprintf("node id, %d numbers", e.rows.width)
	}
	e.note(l.describe("features", columns))
	return nil
}

// startsWithNumbers tells whether the first line is 0, 1, 2, …, as pandas names columns
// without names.
func (l *layout) startsWithNumbers() bool {
	fields := l.split([]byte(l.first))
	for k, field := range fields {
		if field != strconv.Itoa(k) {
			return false
		}
	}
	return len(fields) > 1
}

// readFeatureLists reads {"id": [k, …]}.
func (e *edgeList) readFeatureLists(ctx context.Context, path string) (err error) {
	if e.multiHot, err = e.readJSONLabels(ctx, path); err != nil {
		return err
	}
	if !e.multiHot.multi {
		return fmt.Errorf("datasets: %s: want lists of feature numbers", path)
	}
	for _, c := range e.multiHot.kinds.sorted() {
		if !c.isNumber || c.number < 0 || c.number > math.MaxInt32 || c.number != math.Trunc(c.number) {
			return fmt.Errorf("datasets: %s: feature %q, want numbers from 0", path, c)
		}
	}
	if err := e.findLists(e.multiHot, "features"); err != nil {
		return err
	}
	for _, id := range e.multiHot.ids {
		e.record(id, path)
	}
	e.lines += int64(len(e.multiHot.ids))
	return nil
}

// matrix makes sparse features of lists of feature numbers.
func (l *nodeLabels) matrix(ctx context.Context, n int) (*graph.Features, error) {
	number := make([]int32, len(l.kinds.index)) // feature number of each provisional number
	width := 0
	for c, k := range l.kinds.index {
		number[k] = int32(c.number)
		width = max(width, int(c.number)+1)
	}
	if err := l.checkOnce(n); err != nil {
		return nil, err
	}
	lists := make([]int32, n) // 1 + the place of each node's list
	for k, id := range l.ids {
		lists[id] = int32(k + 1)
	}
	var columns []int32
	return sparseFeatures(ctx, l.path, n, width, len(l.values), func(i int) ([]int32, []float32) {
		columns = columns[:0]
		if lists[i] > 0 {
			for _, v := range l.list(int(lists[i] - 1)) {
				columns = append(columns, number[v])
			}
		}
		slices.Sort(columns)
		columns = slices.Compact(columns) // a number that is there twice means 1
		return columns, nil
	})
}
