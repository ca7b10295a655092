package partition

// refine moves each node to the part with most edges to it that stays within limit;
// ties go to the lighter part. It stops after the given number of rounds, or after a
// round that moves at most one node in 200. A part does not fall below three quarters
// of the average.
func (g *level) refine(part []int32, to balanced, rounds int, scratch *connections) {
	order := sorted(len(part), func(int32) int64 { return 0 })
	g.move(order, part, to, 1, rounds, len(part)/200, scratch)
}

// balance moves nodes out of parts above limit, each to the part with most edges to
// it that has room, or to any part with room.
func (g *level) balance(part []int32, to balanced, scratch *connections) {
	weight := g.weights(part, to.parts)
	next := 0
	for v := range part {
		own, w := part[v], g.node[v]
		if weight[own] <= to.limit {
			continue
		}
		scratch.collect(g, part, int32(v))
		best, most := int32(-1), int64(0)
		for _, p := range scratch.labels {
			if c := scratch.weight[p]; c > most && weight[p]+w <= to.limit {
				best, most = p, c
			}
		}
		if best < 0 { // some part has room
			for weight[next]+w > to.limit {
				next = (next + 1) % to.parts
			}
			best = int32(next)
		}
		weight[own] -= w
		weight[best] += w
		part[v] = best
	}
}

func (g *level) weights(part []int32, parts int) []int64 {
	weight := make([]int64, parts)
	for v, p := range part {
		weight[p] += g.node[v]
	}
	return weight
}
