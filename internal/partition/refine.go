package partition

// refine moves each node to the part with most edges to it that stays within limit;
// ties go to the lighter part. It stops after the given number of rounds, or after a
// round that moves at most one node in 200. A part does not fall below three quarters
// of the average.
func (g *level) refine(part []int32, to balanced, rounds int, scratch *connections) {
	order := sorted(len(part), func(int32) int64 { return 0 })
	g.move(order, part, to, rounds, len(part)/200, scratch)
}

func (g *level) weights(part []int32, parts int) []int64 {
	weight := make([]int64, parts)
	for v, p := range part {
		weight[p] += g.node[v]
	}
	return weight
}
