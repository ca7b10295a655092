package synth

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
)

// degreeLaw is the distribution of the expected degrees: floor plus a Lomax (shifted
// Pareto) variable with exponent tail. The mean degree determines its scale.
type degreeLaw struct {
	Floor float64 // least expected degree
	Tail  float64 // P(θ > x) falls like x^-tail; above 1
}

// quantile returns the expected degree at rank r of n, from the smallest, for a Lomax
// scale: the quantile of (r+½)/n. So the degrees follow the law without noise, and the
// largest is about the same for every seed.
func (l degreeLaw) quantile(r, n int, scale float64) float64 {
	above := (float64(n-r) - 0.5) / float64(n)
	return l.Floor + scale*(math.Pow(above, -1/l.Tail)-1)
}

// scaleFor returns the Lomax scale of n degrees with the given mean. It sums the
// largest degrees, and integrates over the others.
func (l degreeLaw) scaleFor(n int, mean float64) float64 {
	summed := min(n, 1024)
	var sum float64
	for r := n - summed; r < n; r++ {
		sum += degreeLaw{Tail: l.Tail}.quantile(r, n, 1)
	}
	power, rest := 1-1/l.Tail, float64(summed)/float64(n)
	unit := sum/float64(n) + (1-math.Pow(rest, power))/power - (1 - rest)
	return (mean - l.Floor) / unit
}

// communities holds small sets of nodes of like expected degree. Nodes are numbered
// within them by place: place p has node member[p], and the places of community k are
// start[k] … start[k+1]−1, with increasing nodes.
type communities struct {
	of     []int32 // community of each node
	member []int32
	start  []int32
	group  []int32 // of each community

	degrees func(place int) float64 // expected
	density float64                 // probability of an edge within a community
}

func (c *communities) count() int { return len(c.group) }

// members returns the nodes of community k.
func (c *communities) members(k int) []int32 { return c.member[c.start[k]:c.start[k+1]] }

// drawCommunities puts the nodes in random order, gives the next ones a larger degree
// each, and cuts the order into communities. The first of a community determines its
// size: it has the share inside of its edges there. At most an eighth of the nodes that
// are left form a community, so that the nodes of the largest degrees are not all in
// one.
func (m *Model) drawCommunities() *communities {
	n := m.Nodes
	mean := 2 * float64(m.Edges) / float64(n)
	law := m.Degree
	law.Floor = min(law.Floor, mean/4)
	scale := law.scaleFor(n, mean)
	c := &communities{of: make([]int32, n), member: make([]int32, n), start: []int32{0}}
	c.degrees = func(place int) float64 { return law.quantile(place, n, scale) }
	for i := range c.member {
		c.member[i] = int32(i)
	}
	shuffle(c.member, m.random(streamOrder, 0))
	cumulative, random := m.zipf(), m.random(streamGroups, 0)
	expected := 0.0 // edges within communities
	for first := 0; first < n; {
		size := max(min(int(1.5+m.Inside*c.degrees(first)/m.Density), (n-first)/8), 1)
		members := c.member[first : first+size]
		slices.Sort(members)
		for _, i := range members {
			c.of[i] = int32(len(c.group))
		}
		c.group = append(c.group, pick(cumulative, random.Float64()))
		expected += m.Density * float64(size) * float64(size-1) / 2
		first += size
		c.start = append(c.start, int32(first))
	}
	c.density = m.Density * m.thinning(expected)
	return c
}

// thinning returns the share of the expected edges within communities that a low homophily
// leaves: 1 if their number alone does not exceed it.
func (m *Model) thinning(expected float64) float64 {
	var chance, before float64
	for _, sum := range m.zipf() {
		chance += (sum - before) * (sum - before)
		before = sum
	}
	wanted := float64(m.Edges) * (m.Homophily - chance) // of expected·(1 − chance)
	if wanted >= expected*(1-chance) {
		return 1
	}
	return max(wanted/(expected*(1-chance)), 0)
}

// neighbours appends to row the neighbours of node i, before i, in its community.
func (c *communities) neighbours(row []int32, i int, random *rand.Rand) []int32 {
	for _, j := range c.members(int(c.of[i])) {
		if j >= int32(i) {
			break
		}
		if random.Float64() < c.density {
			row = append(row, j)
		}
	}
	return row
}

// blockModel holds the tables for drawing the edges beyond the communities: the nodes
// ordered by id and by (group, id), with running sums in both orders of θ, the expected
// number of a node's edges beyond its community. One lookup draws a node before i, or a
// node before i in the same group.
//
// Each undirected edge {i, j} with j < i is drawn from row i alone. So rows are
// independent and can be drawn in parallel, and no edge comes twice.
type blockModel struct {
	count []int64 // edges of each row

	theta   []float64
	all     runningSum // over nodes by id
	grouped runningSum // over member
	group   []int32    // of each node
	member  []int32    // nodes ordered by (group, id)
	place   []int32    // place[i] is the index of node i in member
	start   []int32    // start[z] is the first index of group z in member

	within float64 // share of edges drawn within a group; the others are drawn anywhere
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
	if s.before[n] > 0 {
		s.scale = float64(n) / s.before[n]
	}
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

// Edges draws each undirected edge once, on all cores. It calls yield for some edges at a time,
// in no order, one call at a time; yield must not keep the slice. Cost: O(edges), and 60 bytes a
// node.
func (s *Source) Edges(ctx context.Context, yield func([]graph.Edge) error) error {
	b, err := s.newBlockModel(ctx)
	if err != nil {
		return err
	}
	var mutex sync.Mutex
	const piece = 1 << 10 // edges
	return s.eachChunk(ctx, streamEdges, 0, s.Nodes, func(random *rand.Rand, lo, hi int) error {
		again := s.random(streamInside, lo/chunkNodes)
		edges := make([]graph.Edge, 0, piece)
		var near, row []int32
		for i := lo; i < hi; i++ {
			near = s.c.neighbours(near[:0], i, again)
			size := int(b.count[i])
			row = slices.Grow(row[:0], size)[:size]
			b.drawRow(row, copy(row, near), i, random)
			for _, j := range row {
				edges = append(edges, graph.Edge{U: int32(i), V: j})
			}
			if len(edges) >= piece || i == hi-1 {
				mutex.Lock()
				err := yield(edges)
				mutex.Unlock()
				if err != nil {
					return err
				}
				edges = edges[:0]
			}
		}
		return nil
	})
}

// newBlockModel counts the edges within communities, and makes the tables.
func (s *Source) newBlockModel(ctx context.Context) (*blockModel, error) {
	n, c := s.Nodes, s.c
	b := &blockModel{count: make([]int64, n)}
	err := s.eachChunk(ctx, streamInside, 0, n, func(random *rand.Rand, lo, hi int) error {
		var row []int32
		for i := lo; i < hi; i++ {
			row = c.neighbours(row[:0], i, random)
			b.count[i] = int64(len(row))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	left := s.Model.Edges
	for i := range n { // in a small graph the communities may have more edges than asked for
		b.count[i] = min(b.count[i], left)
		left -= b.count[i]
	}
	b.theta, b.group = make([]float64, n), make([]int32, n)
	for k := range c.count() {
		members := c.members(k)
		expected := c.density * float64(len(members)-1)
		for p, i := range members {
			b.theta[i] = max(c.degrees(int(c.start[k])+p)-expected, 0)
			b.group[i] = c.group[k]
		}
	}
	b.start = make([]int32, s.groupCount()+1)
	for _, z := range b.group {
		b.start[z+1]++
	}
	for z := range s.groupCount() {
		b.start[z+1] += b.start[z]
	}
	b.member, b.place = make([]int32, n), make([]int32, n)
	next := slices.Clone(b.start)
	for i, z := range b.group {
		b.place[i] = next[z]
		b.member[next[z]] = int32(i)
		next[z]++
	}
	b.all = newRunningSum(n, func(i int) float64 { return b.theta[i] })
	b.grouped = newRunningSum(n, func(k int) float64 { return b.theta[b.member[k]] })
	// By chance, a share of the edges drawn anywhere lies within a group.
	var chance float64
	for z := range s.groupCount() {
		if sum := b.groupSum(z); sum > 0 {
			share := sum / b.all.before[n]
			chance += share * share
		}
	}
	if left > 0 && chance < 1 {
		wanted := (s.Homophily*float64(s.Model.Edges) - float64(s.Model.Edges-left)) / float64(left)
		b.within = min(max((wanted-chance)/(1-chance), 0), 1)
	}
	b.countRows(left, s.random(streamRounding, 0))
	return b, nil
}

// groupSum returns the sum of θ over a group.
func (b *blockModel) groupSum(z int) float64 {
	return b.grouped.before[b.start[z+1]] - b.grouped.before[b.start[z]]
}

// weights returns the expected numbers of edges, up to a common factor, from node i
// to the nodes before it: edges drawn within its group, and edges drawn anywhere.
func (b *blockModel) weights(i int) (within, across float64) {
	if b.theta[i] == 0 {
		return 0, 0
	}
	z := b.group[i]
	before := b.grouped.before[b.place[i]] - b.grouped.before[b.start[z]]
	within = b.theta[i] * b.within * before / b.groupSum(int(z))
	across = b.theta[i] * (1 - b.within) * b.all.before[i] / b.all.before[len(b.theta)]
	return within, across
}

// countRows completes the numbers of edges of the rows, which count those within communities.
// It divides the edges that are left among the rows in proportion to their weights, exact in
// total. Row i has room for i edges.
func (b *blockModel) countRows(left int64, random *rand.Rand) {
	n, total := len(b.count), math.SmallestNonzeroFloat64 // to divide by it
	for i := range n {
		within, across := b.weights(i)
		total += within + across
	}
	due, given := random.Float64(), int64(0)
	for i := range n {
		within, across := b.weights(i)
		due += (within + across) / total * float64(left)
		more := min(int64(due)-given, int64(i)-b.count[i], left-given)
		b.count[i] += more
		given += more
	}
	// Rounding and full rows leave some edges over.
	for i := n - 1; given < left; i-- {
		more := min(left-given, int64(i)-b.count[i])
		b.count[i] += more
		given += more
	}
}

// drawRow completes row i with distinct nodes before i, in increasing order. The first
// kept entries are there already.
func (b *blockModel) drawRow(row []int32, kept, i int, random *rand.Rand) {
	within, across := b.weights(i)
	first, last := int(b.start[b.group[i]]), int(b.place[i])
	base := b.grouped.before[first]
	span := b.grouped.before[last] - base
	grouped := 0
	if within > 0 {
		for range len(row) - kept {
			if random.Float64()*(within+across) < within {
				grouped++
			}
		}
		// A hub would exhaust a small group, and its last free nodes take many draws. So
		// at most half of the group is drawn, and the rest from anywhere.
		grouped = min(grouped, (last-first)/2)
	}
	const rounds = 8 // after so many, nearly all likely nodes are taken
	kept = fill(row[:kept+grouped], kept, rounds, func() int32 {
		return b.member[b.grouped.at(base+random.Float64()*span, last)]
	})
	if b.all.before[i] > 0 {
		kept = fill(row, kept, rounds, func() int32 { return int32(b.all.at(random.Float64()*b.all.before[i], i)) })
	}
	kept = fill(row, kept, 3*rounds, func() int32 { return random.Int32N(int32(i)) })
	fillFree(row, kept)
}

// fill completes row with drawn numbers, distinct and increasing as the first kept
// entries are. It draws again in the place of numbers that come twice, rounds times at
// most, and returns the number of entries that are then in place.
func fill(row []int32, kept, rounds int, draw func() int32) int {
	for ; kept < len(row) && rounds > 0; rounds-- {
		for k := kept; k < len(row); k++ {
			row[k] = draw()
		}
		slices.Sort(row)
		kept = len(slices.Compact(row))
	}
	return kept
}

// fillFree completes row with the least numbers that are not in it. The first kept
// entries are distinct and increasing.
func fillFree(row []int32, kept int) {
	free := row[kept:]
	for j := int32(0); len(free) > 0; j++ {
		if _, taken := slices.BinarySearch(row[:kept], j); !taken {
			free[0], free = j, free[1:]
		}
	}
	slices.Sort(row)
}
