package datasets

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// degreeLaw is the distribution of the expected degrees: floor plus a Lomax (shifted
// Pareto) variable with exponent tail, cut off at top. The mean degree determines its
// scale.
type degreeLaw struct {
	floor float64 // least expected degree
	tail  float64 // P(θ > x) falls like x^-tail
	top   float64 // greatest expected degree
}

// quantile returns the u-quantile for a Lomax scale.
func (l degreeLaw) quantile(u, scale float64) float64 {
	if l.top <= l.floor || scale <= 0 {
		return l.floor
	}
	cut := 1 - math.Pow(1+(l.top-l.floor)/scale, -l.tail) // the mass below top
	return l.floor + scale*(math.Pow(1-u*cut, -1/l.tail)-1)
}

// mean returns the law's mean for a Lomax scale, by the midpoint rule on the
// survival function over geometric steps.
func (l degreeLaw) mean(scale float64) float64 {
	const steps = 2000
	var sum float64
	for k := range steps {
		// Substituting u = 1−e^{−t} spreads the steps over the tail.
		t := (float64(k) + 0.5) / steps * 20
		sum += l.quantile(1-math.Exp(-t), scale) * math.Exp(-t)
	}
	return sum * 20 / steps
}

// scaleFor returns the Lomax scale with the given mean, or with the nearest possible
// one.
func (l degreeLaw) scaleFor(mean float64) float64 {
	lo, hi := 0.0, 4*l.top
	for range 60 {
		if mid := (lo + hi) / 2; l.mean(mid) < mean {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// blockModel holds the tables for drawing edges: the nodes ordered by id and by
// (community, id), with running sums of θ in both orders. One lookup draws a node
// before i, or a node before i in the same community.
//
// Each undirected edge {i, j} with j < i is drawn from row i alone. So rows are
// independent and can be drawn in parallel, and no edge comes twice.
type blockModel struct {
	theta   []float64
	all     runningSum // over nodes by id
	grouped runningSum // over member
	member  []int32    // nodes ordered by (community, id)
	place   []int32    // place[i] is the index of node i in member
	start   []int32    // start[z] is the first index of community z in member

	within, across float64 // shares of edges drawn within a community, and anywhere
}

// runningSum holds the sums before each of n entries. A guide table makes inverting
// it take constant expected time (Chen & Asau 1974).
type runningSum struct {
	before []float64 // n+1 sums
	guide  []int32   // guide[b] is the last entry that begins at or before bucket b
	scale  float64   // buckets per unit of the sum
}

func newRunningSum(n int, value func(int) float64) runningSum {
	s := runningSum{before: make([]float64, n+1), guide: make([]int32, n+1)}
	for k := range n {
		s.before[k+1] = s.before[k] + value(k)
	}
	s.scale = float64(n) / s.before[n]
	entry := 0
	for b := range s.guide {
		for entry+1 < n && s.before[entry+1]*s.scale <= float64(b) {
			entry++
		}
		s.guide[b] = int32(entry)
	}
	return s
}

// at returns the entry at position x of the sum, below limit.
func (s *runningSum) at(x float64, limit int) int {
	k := int(s.guide[min(int(x*s.scale), len(s.guide)-1)])
	for k+1 < limit && s.before[k+1] <= x {
		k++
	}
	return min(k, limit-1)
}

func (m *synthModel) drawGraph(ctx context.Context, community []int32) (*graph.CSR, error) {
	b, err := m.newBlockModel(ctx, community)
	if err != nil {
		return nil, err
	}
	lowerPtr := m.rowCounts(b, community)
	lower := make([]int32, lowerPtr[m.nodes])
	err = m.eachNode(ctx, streamEdges, func(lo, hi int, random *rand.Rand) {
		for i := lo; i < hi; i++ {
			b.drawRow(lower[lowerPtr[i]:lowerPtr[i+1]], i, int(community[i]), random)
		}
	})
	if err != nil {
		return nil, err
	}
	return symmetric(ctx, lowerPtr, lower)
}

func (m *synthModel) newBlockModel(ctx context.Context, community []int32) (*blockModel, error) {
	n := m.nodes
	mean := 2 * float64(m.edges) / float64(n)
	law := m.degree
	law.top = min(law.top, float64(n)/4+1)
	law.floor = min(law.floor, mean/4+1e-9)
	scale := law.scaleFor(mean)
	b := &blockModel{theta: make([]float64, n)}
	err := m.eachNode(ctx, streamDegree, func(lo, hi int, random *rand.Rand) {
		for i := lo; i < hi; i++ {
			b.theta[i] = law.quantile(random.Float64(), scale)
		}
	})
	if err != nil {
		return nil, err
	}
	b.start = make([]int32, m.groups()+1)
	for _, z := range community {
		b.start[z+1]++
	}
	for z := range m.groups() {
		b.start[z+1] += b.start[z]
	}
	b.member, b.place = make([]int32, n), make([]int32, n)
	next := slices.Clone(b.start)
	for i, z := range community {
		b.place[i] = next[z]
		b.member[next[z]] = int32(i)
		next[z]++
	}
	b.all = newRunningSum(n, func(i int) float64 { return b.theta[i] })
	b.grouped = newRunningSum(n, func(k int) float64 { return b.theta[b.member[k]] })
	// By chance, a share of the edges drawn anywhere lies within a community.
	var chance float64
	for z := range m.groups() {
		share := b.groupSum(z) / b.all.before[n]
		chance += share * share
	}
	if m.homophily > chance {
		b.within = (m.homophily - chance) / (1 - chance)
	}
	b.across = 1 - b.within
	return b, nil
}

// groupSum returns the sum of θ over a community.
func (b *blockModel) groupSum(z int) float64 {
	return b.grouped.before[b.start[z+1]] - b.grouped.before[b.start[z]]
}

// weights returns the expected numbers of edges, up to a common factor, from node i
// to the nodes before it: edges drawn within its community z, and edges drawn
// anywhere.
func (b *blockModel) weights(i, z int) (within, across float64) {
	before := b.grouped.before[b.place[i]] - b.grouped.before[b.start[z]]
	within = b.theta[i] * b.within * before / b.groupSum(z)
	across = b.theta[i] * b.across * b.all.before[i] / b.all.before[len(b.theta)]
	return within, across
}

// rowCounts divides the edges among the rows in proportion to their weights, exact in
// total, and returns the offsets. Row i has room for i edges.
func (m *synthModel) rowCounts(b *blockModel, community []int32) []int64 {
	n := m.nodes
	var total float64
	for i := range n {
		within, across := b.weights(i, int(community[i]))
		total += within + across
	}
	ptr := make([]int64, n+1)
	random := m.random(streamRounding, 0)
	due, given := random.Float64(), int64(0)
	for i := range n {
		if total > 0 {
			within, across := b.weights(i, int(community[i]))
			due += (within + across) / total * float64(m.edges)
		}
		count := min(int64(due)-given, int64(i), m.edges-given)
		given += count
		ptr[i+1] = count
	}
	// Rounding and full rows leave some edges over.
	for i := n - 1; given < m.edges; i-- {
		more := min(m.edges-given, int64(i)-ptr[i+1])
		ptr[i+1] += more
		given += more
	}
	for i := range n {
		ptr[i+1] += ptr[i]
	}
	return ptr
}

// drawRow fills row with distinct nodes before i, in increasing order.
func (b *blockModel) drawRow(row []int32, i, z int, random *rand.Rand) {
	within, across := b.weights(i, z)
	first, last := int(b.start[z]), int(b.place[i])
	base := b.grouped.before[first]
	span := b.grouped.before[last] - base
	share := 0.0
	if within > 0 {
		share = within / (within + across)
	}
	// A hub would exhaust a small community, and its last free nodes take many draws.
	// So at most half of the community is drawn, and the rest from anywhere.
	room := (last - first) / 2
	const rounds = 8
	kept := 0
	for round := 0; kept < len(row); round++ {
		for k := kept; k < len(row); k++ {
			switch {
			case room > 0 && random.Float64() < share:
				room--
				row[k] = b.member[b.grouped.at(base+random.Float64()*span, last)]
			case round < rounds:
				row[k] = int32(b.all.at(random.Float64()*b.all.before[i], i))
			default: // nearly all likely nodes are taken
				row[k] = random.Int32N(int32(i))
			}
		}
		slices.Sort(row)
		kept = len(slices.Compact(row))
		if kept < len(row) && round >= 4*rounds {
			fillFree(row, kept)
			return
		}
	}
}

// fillFree completes row with the least numbers that are not in it. The first kept
// entries are distinct and increasing.
func fillFree(row []int32, kept int) {
	candidate, at := int32(0), 0
	for k := kept; k < len(row); candidate++ {
		for at < kept && row[at] < candidate {
			at++
		}
		if at < kept && row[at] == candidate {
			continue
		}
		row[k] = candidate
		k++
	}
	slices.Sort(row)
}

// symmetric returns the adjacency matrix of a graph from its lower triangle, whose
// columns increase within a row. Beside the result it needs 8 bytes a node.
func symmetric(ctx context.Context, lowerPtr []int64, lower []int32) (*graph.CSR, error) {
	n := len(lowerPtr) - 1
	m := &graph.CSR{Rows: n, Cols: n, Ptr: make([]int64, n+1)}
	next := make([]int64, n)
	err := parallel.Entries(ctx, lowerPtr, lower, func(_ int, i int32) bool {
		next[i]++
		return true
	})
	if err != nil {
		return nil, err
	}
	for i := range n {
		below := lowerPtr[i+1] - lowerPtr[i]
		m.Ptr[i+1] = m.Ptr[i] + below + next[i]
		next[i] = m.Ptr[i] + below
	}
	m.Idx = make([]int32, m.Ptr[n])
	for i := range n {
		copy(m.Idx[m.Ptr[i]:], lower[lowerPtr[i]:lowerPtr[i+1]])
	}
	err = parallel.Entries(ctx, lowerPtr, lower, func(j int, i int32) bool {
		m.Idx[next[i]] = int32(j)
		next[i]++
		return true
	})
	return m, err
}
